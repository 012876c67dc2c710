"""numpy arrays of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roaring64._values import to_signed_array

if TYPE_CHECKING:
    import numpy as np

    from roaring64._values import Bitmap


def to_numpy(values: Bitmap) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the ids of a bitmap, signed and in ascending order, as an array of int64.

    ``bitmap()`` makes a bitmap of such an array.
    """
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(to_signed_array(values), dtype=np.int64)
