"""Sets of bigint in PostgreSQL, the type roaring64, as pyroaring's 64-bit bitmaps.

A value that is read is a ``Bitmap``, which is a ``FrozenBitMap64``.  What is written
may be a ``BitMap64``, a ``FrozenBitMap64``, or any iterable of ints.

The ids of a roaring64 are signed, and the elements of a bitmap are not: a
bitmap has 2**64 - 1 for the id -1.  ``bitmap()`` and ``ids()`` convert, and in an
iterable of ints -1 is -1.

The modules of this package are named for what they adapt: ``roaring64.psycopg``,
``roaring64.psycopg2``, ``roaring64.asyncpg``, ``roaring64.sqlalchemy`` and
``roaring64.django``.
"""

from roaring64._values import Bitmap, bitmap, ids, to_numpy

__all__ = ["Bitmap", "bitmap", "ids", "to_numpy"]
__version__ = "1.0.0"
