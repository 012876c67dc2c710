"""roaring64 for psycopg 3.

    with psycopg.connect() as connection:
        roaring64.psycopg.register(connection)

With a pool: ``ConnectionPool(configure=register)``; an ``AsyncConnectionPool``: ``register_async``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo
from pyroaring import BitMap64, FrozenBitMap64

from roaring64._catalog import FIND_TYPE, found_type
from roaring64._values import bitmap, from_bytes, from_text, to_text

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection


def register(connection: Connection[Any]) -> None:
    """Let the connection read roaring64 as Bitmap, and write sets of ids.

    Parameters may be of the types BitMap64, FrozenBitMap64, set, frozenset and
    range; make a bitmap() of others.  Raises LookupError if the database has no
    extension roaring64, or an old one.
    """
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(FIND_TYPE).fetchone()
    _adapt(connection, *found_type(row))


async def register_async(connection: AsyncConnection[Any]) -> None:
    """Do the same as register() for an asynchronous connection."""
    async with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        row = await (await cursor.execute(FIND_TYPE)).fetchone()
    _adapt(connection, *found_type(row))


def _adapt(
    connection: Connection[Any] | AsyncConnection[Any], oid: int, array: int, _: str, schema: str
) -> None:
    TypeInfo("roaring64", oid, array, regtype=f"{schema}.roaring64").register(connection)
    # The last is the one that %s takes, and that COPY finds by the type's OID.
    for format, load, dump in (
        (Format.TEXT, lambda d: from_text(bytes(d).decode()), lambda v: to_text(v).encode()),
        (Format.BINARY, from_bytes, lambda v: bitmap(v).serialize()),
    ):
        methods = {"format": format, "oid": oid}
        loader = type("Roaring64Loader", (Loader,), {**methods, "load": staticmethod(load)})
        dumper = type("Roaring64Dumper", (Dumper,), {**methods, "dump": staticmethod(dump)})
        connection.adapters.register_loader(oid, loader)
        for kind in (range, frozenset, set, FrozenBitMap64, BitMap64):
            connection.adapters.register_dumper(kind, dumper)
