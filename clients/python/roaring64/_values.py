r"""From ids to bitmaps and back, and the forms in which a roaring64 is sent.

A roaring64 is sent and received in binary format as the portable 64-bit format
of Roaring bitmaps, which is what pyroaring serializes.  As text it is
``{1,2,3}`` or, like a bytea, those bytes in hexadecimal after ``\x``.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Union

from pyroaring import BitMap64, FrozenBitMap64

if TYPE_CHECKING:
    import numpy as np

AnyBitmap = Union[BitMap64, FrozenBitMap64]
Ids = Union[AnyBitmap, Iterable[int]]
Bytes = Union[bytes, bytearray, memoryview]

MIN_ID = -(2**63)
MAX_ID = 2**63 - 1
_MODULUS = 2**64


class Bitmap(FrozenBitMap64):
    """A FrozenBitMap64 whose text has the ids, signed, or how many there are.

    Operators give a Bitmap where the one on the left is one.
    """

    __slots__ = ()

    def __str__(self) -> str:  # repr() is the same
        size = len(self)
        if size <= 20:  # noqa: PLR2004
            return f"bitmap({ids(self)})"
        first = self.rank(MAX_ID)
        lowest, highest = array("q", array("Q", [self[first % size], self[first - 1]]).tobytes())
        return f"<bitmap of {size} ids from {lowest} to {highest}>"


def bitmap(values: Ids | Bytes) -> Bitmap:
    """Return the set of some ids, each from -2**63 to 2**63 - 1.

    ``values`` is an iterable of ints, a numpy array of an integer type, the bytes
    of a roaring64, or a bitmap, whose elements from 2**63 stand for negative ids.

    Raises TypeError for what is no int (a bool is none) and ValueError for an
    int out of range and for bytes that are no set.
    """
    if isinstance(values, Bitmap):
        return values
    if isinstance(values, (BitMap64, FrozenBitMap64)):
        return Bitmap(values)
    if isinstance(values, range):
        return _from_range(values)
    if isinstance(values, (bytes, bytearray, memoryview)):
        return _from_foreign_bytes(bytes(values))
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        return _from_numpy(values)
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{_shown(values)} is no set of ids")
    return _from_iterable(values)


def ids(values: AnyBitmap) -> list[int]:
    """Return the ids of a bitmap, signed and in ascending order."""
    return _to_signed(values).tolist()


def to_numpy(values: AnyBitmap) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the ids of a bitmap, signed and in ascending order, as an array of int64."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(_to_signed(values), dtype=np.int64)


def _to_signed(values: AnyBitmap) -> array[int]:
    elements = array("q")
    elements.frombytes(memoryview(values.to_array()).cast("B"))
    # The elements ascend unsigned, so that negative ids come last.
    first = values.rank(MAX_ID)
    return elements[first:] + elements[:first] if first < len(elements) else elements


def from_bytes(data: Bytes) -> Bitmap:
    """Return the set whose bytes the server has sent."""
    return Bitmap.deserialize(bytes(data))


def from_text(text: str) -> Bitmap:
    """Return the set whose text the server has sent."""
    if text.startswith("\\x"):
        return from_bytes(bytes.fromhex(text[2:]))
    return bitmap([int(id) for id in text[1:-1].split(",") if id])


def to_text(values: Ids | Bytes) -> str:
    """Return the text of a set: its bytes in hexadecimal."""
    return "\\x" + bitmap(values).serialize().hex()


def load(value: Any) -> Bitmap | None:
    """Return the set that any driver has read, registered with or not."""
    if value is None or isinstance(value, Bitmap):
        return value
    return from_text(value) if isinstance(value, str) else from_bytes(value)


def _from_range(values: range) -> Bitmap:
    if not values:
        return Bitmap()
    if values.step < 0:
        values = values[::-1]
    for end in (values[0], values[-1]):
        _check_range(end)
    negative = len(range(values.start, min(values.stop, 0), values.step))
    result = BitMap64(values[negative:])
    if negative:
        # The end of a range must be an element itself, which 2**64 is not.
        first, last = (id + _MODULUS for id in (values[0], values[negative - 1]))
        result |= BitMap64(range(first, last, values.step))
        result.add(last)
    return Bitmap(result)


def _from_iterable(values: Iterable[int]) -> Bitmap:
    values = list(values)
    for kind in set(map(type, values)):
        if issubclass(kind, bool) or not issubclass(kind, Integral):
            wrong = next(value for value in values if type(value) is kind)
            raise TypeError(f"{_shown(wrong)} is no id: an id is an int")
    try:
        return _from_signed(array("q", values))
    except OverflowError:
        for value in values:
            _check_range(value)
        raise


def _from_numpy(values: Any) -> Bitmap:
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise TypeError(
            f"{_shown(values)} is no set of ids: it has to have one dimension and an integer type"
        )
    if values.dtype.kind == "u" and values.size:
        _check_range(int(values.max()))
    return _from_signed(memoryview(values.astype("int64", order="C", copy=False)))


def _from_signed(values: array[int] | memoryview) -> Bitmap:
    elements = array("Q")
    if len(values):
        elements.frombytes(memoryview(values).cast("B"))
    return Bitmap(elements)


def _from_foreign_bytes(data: bytes) -> Bitmap:
    """Return the set of bytes that may be anything."""
    try:
        result = Bitmap.deserialize(data)
    except (IndexError, ValueError):
        result = None
    # Bytes after the set, for example, are not noticed otherwise.
    if result is None or result.serialize() != data:
        raise ValueError(f"{_shown(data)} are not the bytes of a roaring64")
    return result


def _check_range(id: int) -> None:
    if not MIN_ID <= id <= MAX_ID:
        raise ValueError(f"{id} is no id: it is not from -2**63 to 2**63 - 1")


def _shown(value: object) -> str:
    """Return the value and its type, for a message."""
    shown = repr(value)
    if len(shown) > 60:  # noqa: PLR2004
        shown = shown[:57] + "..."
    return f"{shown} ({type(value).__name__})"
