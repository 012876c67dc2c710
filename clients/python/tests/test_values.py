"""The conversions, which need no server."""

import array
import copy
import enum
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64, FrozenBitMap64

import roaring64
from roaring64 import _values

ENDS = [-(2**63), -1, 0, 1, 2**63 - 1]
IDS = st.integers(-(2**63), 2**63 - 1)


def test_ends_of_bigint():
    made = roaring64.bitmap(ENDS)
    assert roaring64.ids(made) == list(made) == [made[i] for i in range(5)] == ENDS
    assert [made[i] for i in range(-5, 0)] == list(made[:]) == ENDS
    assert (made.min(), made.max()) == (min(made), max(made)) == (ENDS[0], ENDS[-1])
    assert list(made.to_array()) == [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    assert roaring64.to_numpy(made).tolist() == ENDS


@given(st.sets(IDS))
def test_there_and_back(values):
    made = roaring64.bitmap(values)
    assert roaring64.ids(made) == sorted(values)
    assert roaring64.to_numpy(made).tolist() == sorted(values)
    assert roaring64.bitmap(roaring64.to_numpy(made)) == made
    assert _values.from_text(_values.to_text(made)) == made
    assert roaring64.bitmap(made.serialize()) == made
    assert made == roaring64.bitmap(BitMap64(value % 2**64 for value in values))
    assert list(made) == [made[i] for i in range(len(made))] == sorted(values)
    assert list(made[1:-1]) == sorted(values)[1:-1]


@given(st.sets(IDS), st.sets(IDS), IDS)
def test_like_a_set_of_ints(left, right, id):
    """Membership and operators, of ids of both signs."""
    made = roaring64.bitmap(left)
    for other in (right, roaring64.bitmap(right), BitMap64(value % 2**64 for value in right)):
        for operation in (operator.or_, operator.and_, operator.sub, operator.xor):
            assert type(operation(made, other)) is roaring64.Bitmap
            assert operation(made, other) == operation(left, right)
            assert set(operation(other, made)) == operation(right, left) or type(other) is BitMap64
        for comparison in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
            assert comparison(made, other) == comparison(left, right)
            assert comparison(other, made) == comparison(right, left)
    for value in {*left, *right, id, -id}:
        assert (value in made) == (value in left)


def test_operators_with_arrays_of_numpy():
    """An array is a set of ids on either side, and no operand for each of them."""
    made = roaring64.bitmap([-3, 1, 2])
    for values in ([1, 5], [1, 5, 7], [5]):
        array = np.array(values)
        for operation in (operator.or_, operator.and_, operator.sub, operator.xor):
            assert type(operation(array, made)) is roaring64.Bitmap
            assert operation(array, made) == operation({*values}, {*made})
            assert operation(made, array) == operation({*made}, {*values})
        assert (made == array) is (array == made) is False
    for operation in (operator.or_, operator.sub):
        for operands in ((np.int64(5), made), (made, np.int64(5))):
            with pytest.raises(TypeError):
                operation(*operands)


def test_what_is_in_no_set():
    made = roaring64.bitmap(ENDS)
    for value in (2**63, -(2**63) - 1, 2**64 - 1, 2**64, 2**70, 1.0, "1", None, -2, 2):
        assert value not in made
    for index in (5, -6):
        with pytest.raises(IndexError):
            made[index]
    for method in (roaring64.bitmap([]).min, roaring64.bitmap([]).max):
        with pytest.raises(IndexError):
            method()


@pytest.mark.parametrize("method", ["add", "update", "remove", "discard", "pop", "clear", "__ior__"])
def test_what_changes_a_bitmap_names_the_way(method):
    made = kept = roaring64.bitmap([-1, 1])
    with pytest.raises(AttributeError, match=rf"{method}.*read \| \{{7\}}.*SET read = read \| 7.*Add\("):
        getattr(made, method)
    made |= {7}
    assert (list(kept), list(made)) == ([-1, 1], [-1, 1, 7])
    with pytest.raises(AttributeError, match=r"has no 'sum'$"):
        made.sum


@pytest.mark.parametrize(
    "text", ["", "{", "}", "1", "{1", "1}", "{1,}", "{,1}", "{a}", "{1.5}", "{true}", '{"{1}"}', "{{1}}",
             f"{{{2**63}}}", r"\x", r"\xzz", r"\x00", r"\x01" + "00" * 8, "[1]"]
)  # fmt: skip
def test_text_that_is_no_set(text):
    for read in (_values.from_text, _values.load):
        with pytest.raises(ValueError, match="is no set.*array of sets, register"):
            read(text)


def test_text_of_sets():
    for text, expected in (("{}", []), ("{-1}", [-1]), ("{1,-9223372036854775808}", [-(2**63), 1])):
        assert list(_values.from_text(text)) == list(_values.load(text)) == expected


EDGES = [-(2**63), -(2**63) + 1, -65537, -2, -1, 0, 1, 2, 65536, 2**63 - 2, 2**63 - 1, 2**63]


@given(
    st.one_of(st.sampled_from(EDGES), st.integers(-50, 50)),
    st.integers(-300, 300),
    st.integers(-70, 70).filter(bool),
)
def test_ranges(start, length, step):
    values = range(start, start + length, step)
    if any(not -(2**63) <= value < 2**63 for value in values):
        with pytest.raises(ValueError, match="is no id"):
            roaring64.bitmap(values)
    else:
        assert roaring64.ids(roaring64.bitmap(values)) == sorted(values)


def test_whole_range():
    made = roaring64.bitmap(range(-(2**63), 2**63, 2**61))
    assert roaring64.ids(made) == list(range(-(2**63), 2**63, 2**61))
    assert len(roaring64.bitmap(range(-(2**24), 2**24))) == 2**25


class Number(enum.IntEnum):
    SEVEN = 7


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 7],
        (7, 2, 1, 1),
        {1, 2, 7},
        frozenset({1, 2, 7}),
        iter([1, 2, 7]),
        (value for value in (1, 2, 7)),
        {1: 0, 2: 0, 7: 0}.keys(),
        [1, 2, Number.SEVEN],
        array.array("q", [1, 2, 7]),
        array.array("H", [1, 2, 7]),
        np.array([7, 2, 1], dtype=np.int64),
        np.array([7, 2, 1], dtype=np.uint64),
        np.array([7, 2, 1], dtype=">i4"),
        np.arange(8)[[1, 2, 7]][::-1],
        np.array([1, 0, 2, 0, 7, 0])[::2],
        [np.int64(1), np.uint8(2), 7],
        BitMap([1, 2, 7]),
        BitMap64([1, 2, 7]),
        FrozenBitMap64([1, 2, 7]),
        FrozenBitMap64([1, 2, 7]).serialize(),
        memoryview(bytearray(FrozenBitMap64([1, 2, 7]).serialize())),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_a_set(values):
    made = roaring64.bitmap(values)
    assert type(made) is roaring64.Bitmap
    assert roaring64.ids(made) == [1, 2, 7]


@pytest.mark.parametrize(
    "values", [[], (), set(), range(0), range(5, 1), range(1, 5, -1), np.array([], dtype=int)]
)
def test_empty(values):
    assert roaring64.bitmap(values) == FrozenBitMap64()
    assert roaring64.ids(roaring64.bitmap(values)) == []
    assert roaring64.to_numpy(roaring64.bitmap(values)).tolist() == []


WHOLE = FrozenBitMap64(range(100)).serialize()


@pytest.mark.parametrize(
    ("values", "error", "named"),
    [
        ([1, 1.0], TypeError, r"1\.0 \(float\)"),
        ([1, True], TypeError, r"True \(bool\)"),
        ([1, "2"], TypeError, r"'2' \(str\)"),
        ([None], TypeError, r"None \(NoneType\)"),
        ([np.float64(1)], TypeError, r"float64"),
        ([np.bool_(True)], TypeError, r"bool"),
        ("{1,2}", TypeError, r"'\{1,2\}' \(str\)"),
        ({1: 2}, TypeError, r"\{1: 2\} \(dict\)"),
        (5, TypeError, r"5 \(int\)"),
        (1.5, TypeError, r"1\.5 \(float\)"),
        (True, TypeError, r"True \(bool\)"),
        (None, TypeError, r"None"),
        ([1, 2**63], ValueError, str(2**63)),
        ([-(2**63) - 1, 1], ValueError, str(-(2**63) - 1)),
        (range(2**63 - 1, 2**63 + 1), ValueError, str(2**63)),
        (range(-(2**63) - 1, 0), ValueError, str(-(2**63) - 1)),
        (range(0, -(2**63) - 2, -1), ValueError, str(-(2**63) - 1)),
        (np.array([1, 2**63], dtype=np.uint64), ValueError, str(2**63)),
        (np.array([1.5]), TypeError, r"1\.5"),
        (np.array([True]), TypeError, "True"),
        (np.array([[1]]), TypeError, "ndarray"),
        (np.array(["1"]), TypeError, "ndarray"),
        (b"", ValueError, r"b'' \(bytes\)"),
        (b"abc", ValueError, r"b'abc' \(bytes\)"),
        (WHOLE + b"\0", ValueError, "bytes of a roaring64"),
        (WHOLE[:-1], ValueError, "bytes of a roaring64"),
        (bytearray(b"\xff" * 40), ValueError, "bytes of a roaring64"),
    ],
    ids=repr,
)
def test_what_is_no_set(values, error, named):
    with pytest.raises(error, match=named):
        roaring64.bitmap(values)


def test_long_values_are_shortened():
    for values in ("x" * 10**6, dict.fromkeys(range(10**6)), [[*range(10**6)]]):
        with pytest.raises(TypeError) as raised:
            roaring64.bitmap(values)
        assert len(str(raised.value)) < 120


@given(st.data())
def test_damaged_bytes(data):
    """Bytes that are taken for a set are those of that set, but for flags that no container has."""
    flags = 16  # of the first bucket, behind the number of buckets, the high half and the cookie
    damaged = bytearray(FrozenBitMap64([*range(5000), 2**40, 2**63, 2**63 + 9]).serialize())
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        made = roaring64.bitmap(damaged)
    except ValueError:
        return
    damaged[flags] &= 1
    assert made.serialize() == bytes(damaged)
    assert roaring64.bitmap(roaring64.ids(made)) == made


def test_copies_are_independent():
    values = BitMap64([1])
    made = roaring64.bitmap(values)
    values.add(2)
    assert list(made) == [1]
    assert hash(made) == hash(roaring64.bitmap([1]))
    assert pickle.loads(pickle.dumps(made)) == made


def test_set_operators_and_comparisons():
    """The results are of the same type, and equal to those of pyroaring."""
    one, two = roaring64.bitmap([-3, 1, 2]), roaring64.bitmap([-3, 2, 5])
    plain = [FrozenBitMap64(values) for values in (one, two)]
    for operator in ("__or__", "__and__", "__sub__", "__xor__", "union", "intersection", "difference"):
        result = getattr(one, operator)(two)
        assert type(result) is type(getattr(one, operator)(plain[1])) is roaring64.Bitmap
        assert result == getattr(plain[0], operator)(plain[1])
    for same in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), one | one):
        assert type(same) is roaring64.Bitmap
        assert same == one == plain[0] == same
        assert hash(same) == hash(one) == hash(plain[0])
    assert one != two
    assert one < one | two >= two
    assert {one: 1}[plain[0]] == 1


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "bitmap([])"),
        ([5, -1], "bitmap([-1, 5])"),
        (ENDS, f"bitmap({ENDS})"),
        (range(-10, 10), f"bitmap({[*range(-10, 10)]})"),
        (range(-10, 11), "<bitmap of 21 ids from -10 to 10>"),
        (range(21), "<bitmap of 21 ids from 0 to 20>"),
        (range(-30, -5), "<bitmap of 25 ids from -30 to -6>"),
        (
            [*range(2**63 - 20, 2**63), *range(-(2**63), 20 - 2**63)],
            f"<bitmap of 40 ids from {-(2**63)} to {2**63 - 1}>",
        ),
        (range(-1_000_000, 1_000_000, 2), "<bitmap of 1000000 ids from -1000000 to 999998>"),
    ],
)
def test_text(values, text):
    """With the signs of the ids, which pyroaring's str() has not, and short."""
    made = roaring64.bitmap(values)
    assert str(made) == repr(made) == f"{made}" == text
    assert str(made | made) == text


def test_numpy_is_not_copied():
    """The array is the one that pyroaring has filled, turned by the negative ids only."""
    array = roaring64.to_numpy(roaring64.bitmap(range(10)))
    assert array.dtype == np.int64
    assert not array.flags.owndata
