"""roaring64 for asyncpg.

pool = await asyncpg.create_pool(init=roaring64.asyncpg.register)
"""

from __future__ import annotations

from typing import Any

from roaring64._catalog import FIND_TYPE, found_type
from roaring64._values import bitmap, from_bytes


async def register(connection: Any) -> None:
    """Let the connection read roaring64 as Bitmap, and write sets of ids.

    Raises LookupError if the database has no extension roaring64, or an old one.  For a value
    that is no set of ids asyncpg raises its DataError, with ours as the cause.  It
    takes a set in a list for a row of a matrix: for a parameter that is an array
    of sets, make a list of their ``serialize()``.
    """
    _, _, schema, _ = found_type(await connection.fetchrow(FIND_TYPE))
    await connection.set_type_codec(
        "roaring64",
        schema=schema,
        format="binary",
        encoder=lambda ids: bitmap(ids).serialize(),
        decoder=from_bytes,
    )
