"""roaring64 for psycopg2, whose parameters and results are text.

connection = psycopg2.connect("")
roaring64.psycopg2.register(connection)
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from psycopg2 import extensions
from pyroaring import BitMap64, FrozenBitMap64

from roaring64._catalog import CLAIM, FIND_TYPE, found_type
from roaring64._values import Bitmap, load, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the type is called on each registered connection.  Adapters of parameters
# are the same for all connections, but the type's schema need not be.
_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def register(connection: extensions.connection) -> None:
    """Let the connection read roaring64 as FrozenBitMap64, and write bitmaps.

    Make a bitmap() of other sets of ids.  Raises LookupError if the database has
    no extension roaring64.
    """
    idle = _is_idle(connection)
    with connection.cursor(cursor_factory=extensions.cursor) as cursor:
        cursor.execute(FIND_TYPE)
        row = cursor.fetchone()
    if idle and not connection.autocommit:
        connection.rollback()
    found = found_type(row)
    scalar = extensions.new_type((found.oid,), "ROARING64", lambda text, _cursor: load(text))
    array = extensions.new_array_type((found.array_oid,), "ROARING64[]", scalar)
    extensions.register_type(scalar, connection)
    extensions.register_type(array, connection)
    _names[connection] = found.qualified
    for kind in (BitMap64, FrozenBitMap64):
        extensions.register_adapter(kind, _Literal)


@contextmanager
def claim(connection: extensions.connection, set: str, key: str, id: int) -> Iterator[bool | None]:
    """Claim an id of a dedup set, as roaring64.psycopg.claim() does.

    Within a transaction that has begun, the block is a savepoint; otherwise it is
    a transaction.
    """
    with _block(connection), connection.cursor(cursor_factory=extensions.cursor) as cursor:
        cursor.execute(CLAIM, [set, key, id])
        yield cursor.fetchone()[0]


@contextmanager
def _block(connection: extensions.connection) -> Iterator[None]:
    if _is_idle(connection):
        with connection:
            yield
        return
    with connection.cursor(cursor_factory=extensions.cursor) as cursor:
        cursor.execute("SAVEPOINT roaring64")
        try:
            yield
        except BaseException:
            cursor.execute("ROLLBACK TO SAVEPOINT roaring64; RELEASE SAVEPOINT roaring64")
            raise
        cursor.execute("RELEASE SAVEPOINT roaring64")


def _is_idle(connection: extensions.connection) -> bool:
    status = connection.info.transaction_status
    return status == extensions.TRANSACTION_STATUS_IDLE  # type: ignore[no-any-return]


class _Literal:
    """A bitmap as a part of a statement."""

    def __init__(self, value: Bitmap) -> None:
        self._value = value
        self._name = "roaring64"

    def __conform__(self, protocol: object) -> _Literal | None:
        return self if protocol is extensions.ISQLQuote else None

    def prepare(self, connection: extensions.connection) -> None:
        self._name = _names.get(connection, self._name)

    def getquoted(self) -> bytes:
        return f"'{to_text(self._value)}'::{self._name}".encode()
