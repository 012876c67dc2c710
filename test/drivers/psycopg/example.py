"""
example.py
	roaring64 with Python: psycopg 3 and pyroaring.

Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
CREATE EXTENSION roaring64 to have been done.

A BitMap64 is unsigned where SQL is signed: -1 there is 2**64 - 1 here.
"""
import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo
from pyroaring import BitMap64


class BitMap64Dumper(Dumper):
    """Sends a BitMap64 as its bytes, which are those of a roaring64."""

    format = Format.BINARY

    def dump(self, bitmap):
        return bitmap.serialize()


class BitMap64Loader(Loader):
    """Makes the bytes of a roaring64 a BitMap64, all at once."""

    format = Format.BINARY

    def load(self, data):
        return BitMap64.deserialize(bytes(data))


def register_roaring64(connection):
    """Lets the connection take and give BitMap64 for roaring64."""
    info = TypeInfo.fetch(connection, "roaring64")
    dumper = type("Roaring64Dumper", (BitMap64Dumper,), {"oid": info.oid})
    connection.adapters.register_dumper(BitMap64, dumper)
    connection.adapters.register_loader(info.oid, BitMap64Loader)


with psycopg.connect() as connection:
    connection.execute("CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)")

    # As text: what psql shows.
    connection.execute("INSERT INTO readers VALUES (1, %s)", ["{1,2,3}"])
    text, = connection.execute("SELECT read::text FROM readers WHERE id = 1").fetchone()
    assert text == "{1,2,3}"
    print("ok - text")

    # An array parameter, and an element.
    connection.execute("INSERT INTO readers VALUES (2, %s::bigint[])", [[10, 2, 10, -1]])
    array, has_10 = connection.execute(
        "SELECT read::bigint[], read @> %s::bigint FROM readers WHERE id = 2", [10]
    ).fetchone()
    assert array == [-1, 2, 10] and has_10
    print("ok - array")

    # As bytes: the portable format, which other programs read and write too.
    data, = connection.execute(
        "SELECT read::bytea FROM readers WHERE id = 2", binary=True).fetchone()
    connection.execute("INSERT INTO readers VALUES (3, %b::bytea::roaring64)", [data])
    same, = connection.execute(
        "SELECT a.read = b.read FROM readers a, readers b WHERE a.id = 2 AND b.id = 3"
    ).fetchone()
    assert same and BitMap64.deserialize(data) == BitMap64([2, 10, 2**64 - 1])
    print("ok - bytes")

    # As BitMap64.  Results have to be binary for that: binary=True.
    register_roaring64(connection)
    million = BitMap64(range(0, 2_000_000, 2))
    connection.execute("INSERT INTO readers VALUES (4, %s)", [million])
    bitmap, count = connection.execute(
        "SELECT read, roaring64_cardinality(read) FROM readers WHERE id = 4", binary=True
    ).fetchone()
    assert bitmap == million and count == 1_000_000
    union, = connection.execute(
        "SELECT read | %s FROM readers WHERE id = 1", [BitMap64([7])], binary=True
    ).fetchone()
    assert union == BitMap64([1, 2, 3, 7])
    print("ok - own type")
