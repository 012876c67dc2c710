r"""From ids to bitmaps and back, and the forms in which a roaring64 is sent.

A roaring64 is sent and received in binary format as the portable 64-bit format
of Roaring bitmaps, which is what pyroaring serializes.  As text it is
``{1,2,3}`` or, like a bytea, those bytes in hexadecimal after ``\x``.
"""

from __future__ import annotations

import json
import reprlib
import struct
import sys
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any, Union

from pyroaring import BitMap64, FrozenBitMap64

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

AnyBitmap = Union[BitMap64, FrozenBitMap64]
Ids = Union[AnyBitmap, Iterable[int]]
Bytes = Union[bytes, bytearray, memoryview]

MIN_ID = -(2**63)
MAX_ID = 2**63 - 1
_MODULUS = 2**64
_WAY = """: assign another one, "read | {7}", or say it in the statement, "SET read = read | 7" \
(Django: Add("read", 7), SQLAlchemy: read.add(7))"""


class Bitmap(FrozenBitMap64):
    """A FrozenBitMap64 of signed ids: to Python it is an immutable set of them, in ascending order.

    That goes for ``in``, iteration, indexes, ``min()``, ``max()``, the text, and operators, which
    take any set of ids.  The other methods are those of pyroaring, with unsigned elements.
    """

    __slots__ = ()
    __array_ufunc__ = None  # an operator of numpy would take the ids one by one

    def __contains__(self, id: object) -> bool:
        is_id = isinstance(id, Integral) and MIN_ID <= int(id) <= MAX_ID
        return is_id and super().__contains__(int(id) % _MODULUS)  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[int]:
        return iter(ids(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return bitmap(ids(self)[index])
        position = range(len(self))[index] + self.rank(MAX_ID)  # negative ids come last
        element = super().__getitem__(position % len(self))
        return element - _MODULUS if element > MAX_ID else element

    def min(self) -> Any:
        """Return the lowest id."""
        return self[0]

    def max(self) -> Any:
        """Return the highest id."""
        return self[-1]

    def __getattr__(self, name: str) -> Any:
        way = _WAY if hasattr(BitMap64, name) else ""
        raise AttributeError(f"a Bitmap has no {name!r}{way}")

    def __str__(self) -> str:  # repr() is the same
        if len(self) <= 20:  # noqa: PLR2004
            return f"bitmap({ids(self)})"
        return f"<bitmap of {len(self)} ids from {self[0]} to {self[-1]}>"


def _operator(name: str, kinds: Any) -> None:
    method = getattr(FrozenBitMap64, name)

    def operator(self: Bitmap, other: Any) -> Any:
        return method(self, bitmap(other) if isinstance(other, kinds) else other)

    setattr(Bitmap, name, operator)


for _name in ("or", "ror", "and", "rand", "sub", "rsub", "xor", "rxor"):
    _operator(f"__{_name}__", Iterable)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _operator(f"__{_name}__", set)  # a frozenset would have to have the same hash


def bitmap(values: Ids | Bytes) -> Bitmap:
    """Return the set of some ids, each from -2**63 to 2**63 - 1.

    ``values`` is an iterable of ints, a numpy array of an integer type, the bytes of a
    roaring64, or a bitmap, whose elements from 2**63 stand for negative ids.  Raises TypeError
    for what is no int (a bool is none), ValueError for an int out of range or damaged bytes.
    """
    if isinstance(values, (BitMap64, FrozenBitMap64)):
        return values if isinstance(values, Bitmap) else Bitmap(values)
    if isinstance(values, range):
        return _from_range(values)
    if isinstance(values, (bytes, bytearray, memoryview)):
        return from_bytes(values)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        return _from_numpy(values)
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{shown(values)} is no set of ids")
    return _from_iterable(values)


def ids(values: AnyBitmap) -> list[int]:
    """Return the ids of a bitmap, signed and in ascending order."""
    return _to_signed(values).tolist()


def to_numpy(values: AnyBitmap) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the ids of a bitmap, signed and in ascending order, as an array of int64."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(_to_signed(values), dtype=np.int64)


def _to_signed(values: AnyBitmap) -> array[int]:
    elements = array("q", values.to_array().tobytes())
    # The elements ascend unsigned, so that negative ids come last.
    first = values.rank(MAX_ID)
    return elements[first:] + elements[:first] if first < len(elements) else elements


def from_bytes(data: Bytes) -> Bitmap:
    """Return the set of bytes, which may be anything; raises ValueError if they are no set."""
    data = bytes(data)
    with suppress(IndexError, ValueError, struct.error):
        result = Bitmap.deserialize(data)
        if result.serialize() == data or _frame_is_true(data):
            return result
    raise ValueError(f"{shown(data)} are not the bytes of a roaring64")


def _frame_is_true(data: bytes) -> bool:
    """Return whether what deserialize() passes over is true: offsets, sums of runs, the end.

    Such bytes are legal although serialize() would write others, as those of empty buckets are.
    """
    (buckets,) = struct.unpack_from("<Q", data)
    end = 8
    for _ in range(buckets):
        start = end + 4
        cookie, count = struct.unpack_from("<II", data, start)
        flags, end = 0, start + 8
        if may_run := cookie & 0xFFFF == 12347:  # noqa: PLR2004
            count = (cookie >> 16) + 1
            end = start + 4 + (count + 7) // 8
            flags = int.from_bytes(data[start + 4 : end], "little")
        sizes = struct.unpack_from(f"<{2 * count}H", data, end)[1::2]
        end += 4 * count
        offsets = None
        if not may_run or count >= 4:  # noqa: PLR2004
            offsets = struct.unpack_from(f"<{count}I", data, end)
            end += 4 * count
        for i, size in enumerate(sizes):  # each less by one, as the lengths of runs are
            if offsets and offsets[i] != end - start:
                return False
            if flags >> i & 1:
                (runs,) = struct.unpack_from("<H", data, end)
                if sum(struct.unpack_from(f"<{2 * runs}H", data, end + 2)[1::2]) + runs != size + 1:
                    return False
                end += 2 + 4 * runs
            else:
                end += min(2 * size + 2, 8192)
    return end == len(data)


def from_text(text: str) -> Bitmap:
    r"""Return the set of a text, ``{1,2,3}`` or ``\x...``; raises ValueError if it is none."""
    with suppress(TypeError, ValueError):
        if text.startswith("\\x"):
            return from_bytes(bytes.fromhex(text[2:]))
        if text[:1] + text[-1:] == "{}":
            return bitmap(json.loads(f"[{text[1:-1]}]"))
    raise ValueError(f"{shown(text)} is no set; for an array of sets, register the connection")


def to_text(values: Ids | Bytes) -> str:
    """Return the text of a set: its bytes in hexadecimal."""
    return "\\x" + bitmap(values).serialize().hex()


def load(value: Any) -> Bitmap | None:
    """Return the set that any driver has read, registered with or not."""
    if value is None or isinstance(value, Bitmap):
        return value
    return from_text(value) if isinstance(value, str) else from_bytes(value)


def _from_range(values: range) -> Bitmap:
    values = values[:: -1 if values.step < 0 else 1]
    for end in (*values[:1], *values[-1:]):
        _check_range(end)
    negative = len(range(values.start, min(values.stop, 0), values.step))
    result = BitMap64()
    for part in filter(None, (values[:negative], values[negative:])):
        first, last = part[0] % _MODULUS, part[-1] % _MODULUS
        # The end of a range must be an element itself, which 2**64 is not.
        result |= BitMap64(range(first, last, part.step))
        result.add(last)
    return Bitmap(result)


def _from_iterable(values: Iterable[int]) -> Bitmap:
    values = list(values)
    for kind in set(map(type, values)):
        if issubclass(kind, bool) or not issubclass(kind, Integral):
            wrong = next(value for value in values if type(value) is kind)
            raise TypeError(f"{shown(wrong)} is no id: an id is an int")
    try:
        return Bitmap(array("Q", array("q", values).tobytes()))
    except OverflowError:
        for value in values:
            _check_range(value)
        raise


def _from_numpy(values: Any) -> Bitmap:
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise TypeError(f"{shown(values)} is no set: one dimension and an integer type are one")
    if values.dtype.kind == "u" and values.size:
        _check_range(int(values.max()))
    return Bitmap(array("Q", values.astype("int64").tobytes()))


def _check_range(id: int) -> None:
    if not MIN_ID <= id <= MAX_ID:
        raise ValueError(f"{id} is no id: it is not from -2**63 to 2**63 - 1")


def shown(value: object) -> str:
    """Return the value, shortened, and its type, for a message."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"
