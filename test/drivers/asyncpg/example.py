"""
example.py
	roaring64 with Python: asyncpg and pyroaring.

Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
CREATE EXTENSION roaring64 to have been done, in the schema public.

A BitMap64 is unsigned where SQL is signed: -1 there is 2**64 - 1 here.
"""
import asyncio

import asyncpg
from pyroaring import BitMap64


async def register_roaring64(connection):
    """Lets the connection take and give BitMap64 for roaring64."""
    await connection.set_type_codec(
        "roaring64", schema="public", format="binary",
        encoder=BitMap64.serialize,
        decoder=lambda data: BitMap64.deserialize(bytes(data)))


async def main():
    connection = await asyncpg.connect()
    await connection.execute("CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)")

    # As text: what psql shows.
    await connection.execute("INSERT INTO readers VALUES (1, $1::text::roaring64)", "{1,2,3}")
    assert await connection.fetchval("SELECT read::text FROM readers WHERE id = 1") == "{1,2,3}"
    print("ok - text")

    # An array parameter, and an element.
    await connection.execute("INSERT INTO readers VALUES (2, $1::bigint[])", [10, 2, 10, -1])
    array, has_10 = await connection.fetchrow(
        "SELECT read::bigint[], read @> $1::bigint FROM readers WHERE id = 2", 10)
    assert array == [-1, 2, 10] and has_10
    print("ok - array")

    # As bytes: the portable format, which other programs read and write too.
    data = await connection.fetchval("SELECT read::bytea FROM readers WHERE id = 2")
    await connection.execute("INSERT INTO readers VALUES (3, $1::bytea::roaring64)", data)
    assert await connection.fetchval(
        "SELECT a.read = b.read FROM readers a, readers b WHERE a.id = 2 AND b.id = 3")
    assert BitMap64.deserialize(data) == BitMap64([2, 10, 2**64 - 1])
    print("ok - bytes")

    # As BitMap64.
    await register_roaring64(connection)
    million = BitMap64(range(0, 2_000_000, 2))
    await connection.execute("INSERT INTO readers VALUES (4, $1)", million)
    assert await connection.fetchval("SELECT read FROM readers WHERE id = 4") == million
    union = await connection.fetchval("SELECT read | $1 FROM readers WHERE id = 1", BitMap64([7]))
    assert union == BitMap64([1, 2, 3, 7])
    print("ok - own type")
    await connection.close()


asyncio.run(main())
