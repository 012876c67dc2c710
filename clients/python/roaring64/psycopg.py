"""roaring64 for psycopg 3.

    with psycopg.connect() as connection:
        roaring64.psycopg.register(connection)

With a pool: ``ConnectionPool(configure=register)``, or
``AsyncConnectionPool(configure=register_async)``.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo
from pyroaring import BitMap64, FrozenBitMap64

from roaring64._catalog import CLAIM, FIND_TYPE, found_type
from roaring64._values import Bitmap, Ids, bitmap, from_bytes, from_text, to_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from psycopg import AsyncConnection, Connection
    from psycopg.abc import Buffer


_CLAIM = CLAIM.format("%s", "%s", "%s")


def register(connection: Connection[Any]) -> None:
    """Let the connection read roaring64 as Bitmap, and write sets of ids.

    Parameters may be of the types BitMap64, FrozenBitMap64, set, frozenset and
    range; make a bitmap() of others.  Raises LookupError if the database has no
    extension roaring64.
    """
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(FIND_TYPE).fetchone()
    _adapt(connection, *found_type(row))


async def register_async(connection: AsyncConnection[Any]) -> None:
    """Do the same as register() for an asynchronous connection."""
    async with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        row = await (await cursor.execute(FIND_TYPE)).fetchone()
    _adapt(connection, *found_type(row))


@contextmanager
def claim(connection: Connection[Any], set: str, key: str, id: int) -> Iterator[bool | None]:
    """Claim an id of a dedup set; what the block does commits or rolls back with it.

    Gives True if the id is new, False if it is a duplicate, and None if it is too
    old to tell.
    """
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        (new,) = cursor.execute(_CLAIM, [set, key, id]).fetchone() or (None,)
        yield new


@asynccontextmanager
async def claim_async(
    connection: AsyncConnection[Any], set: str, key: str, id: int
) -> AsyncIterator[bool | None]:
    """Do the same as claim() for an asynchronous connection."""
    async with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        (new,) = await (await cursor.execute(_CLAIM, [set, key, id])).fetchone() or (None,)
        yield new


class _TextDumper(Dumper):
    def dump(self, obj: Ids) -> Buffer:
        return to_text(obj).encode()


class _BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Ids) -> Buffer:
        return bitmap(obj).serialize()


class _TextLoader(Loader):
    def load(self, data: Buffer) -> Bitmap:
        return from_text(bytes(data).decode())


class _BinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Bitmap:
        return from_bytes(data)


def _adapt(
    connection: Connection[Any] | AsyncConnection[Any], oid: int, array: int, _: str, qualified: str
) -> None:
    TypeInfo("roaring64", oid, array, regtype=qualified).register(connection)
    for loader in (_TextLoader, _BinaryLoader):
        connection.adapters.register_loader(oid, loader)
    # The last is the one that %s takes, and that COPY finds by the type's OID.
    for base in (_TextDumper, _BinaryDumper):
        dumper = type(base.__name__, (base,), {"oid": oid})
        for kind in (range, frozenset, set, FrozenBitMap64, BitMap64):
            connection.adapters.register_dumper(kind, dumper)
