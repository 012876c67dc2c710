"""roaring64 for psycopg2, whose parameters and results are text.

connection = psycopg2.connect("")
roaring64.psycopg2.register(connection)
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from psycopg2.extensions import (
    TRANSACTION_STATUS_IDLE,
    ISQLQuote,
    new_array_type,
    new_type,
    register_adapter,
    register_type,
)
from psycopg2.extensions import (
    connection as Connection,  # noqa: N812
)
from psycopg2.extensions import (
    cursor as Cursor,  # noqa: N812
)
from pyroaring import BitMap64, FrozenBitMap64

from roaring64._catalog import FIND_TYPE, found_type
from roaring64._values import Bitmap, from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the type is called on each registered connection.  Adapters of parameters
# are the same for all connections, but the type's schema need not be.
_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def register(connection: Connection) -> None:
    """Let the connection read roaring64 as FrozenBitMap64, and write bitmaps.

    Make a bitmap() of other sets of ids.  Raises LookupError if the database has
    no extension roaring64.
    """
    idle = connection.info.transaction_status == TRANSACTION_STATUS_IDLE
    with connection.cursor(cursor_factory=Cursor) as cursor:
        cursor.execute(FIND_TYPE)
        row = cursor.fetchone()
    if idle and not connection.autocommit:
        connection.rollback()
    found = found_type(row)
    scalar = new_type((found.oid,), "ROARING64", _cast)
    register_type(scalar, connection)
    register_type(new_array_type((found.array_oid,), "ROARING64[]", scalar), connection)
    _names[connection] = found.qualified
    for kind in (BitMap64, FrozenBitMap64):
        register_adapter(kind, _Literal)


@contextmanager
def claim(connection: Connection, set: str, key: str, id: int) -> Iterator[bool | None]:
    """Claim an id of a dedup set; what the block does commits or rolls back with it.

    Within a transaction that has begun, the block is a savepoint; otherwise it is
    a transaction.  Gives True if the id is new, False if it is a duplicate, and
    None if it is too old to tell.
    """
    with _block(connection), connection.cursor(cursor_factory=Cursor) as cursor:
        cursor.execute(
            "SELECT roaring64_dedup_claim(%s::regclass, %s::text, %s::bigint)", [set, key, id]
        )
        yield cursor.fetchone()[0]


@contextmanager
def _block(connection: Connection) -> Iterator[None]:
    if connection.info.transaction_status == TRANSACTION_STATUS_IDLE:
        with connection:
            yield
        return
    with connection.cursor(cursor_factory=Cursor) as cursor:
        cursor.execute("SAVEPOINT roaring64")
        try:
            yield
        except BaseException:
            cursor.execute("ROLLBACK TO SAVEPOINT roaring64; RELEASE SAVEPOINT roaring64")
            raise
        cursor.execute("RELEASE SAVEPOINT roaring64")


def _cast(text: str | None, _cursor: Cursor) -> FrozenBitMap64 | None:
    return None if text is None else from_text(text)


class _Literal:
    """A bitmap as a part of a statement."""

    def __init__(self, value: Bitmap) -> None:
        self._value = value
        self._name = "roaring64"

    def __conform__(self, protocol: object) -> _Literal | None:
        return self if protocol is ISQLQuote else None

    def prepare(self, connection: Connection) -> None:
        self._name = _names.get(connection, self._name)

    def getquoted(self) -> bytes:
        return f"'{to_text(self._value)}'::{self._name}".encode()
