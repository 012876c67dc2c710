"""All drivers, with the same tests; then what only one of them has."""

import asyncpg
import psycopg
import psycopg2
import psycopg2.extras
import psycopg_pool
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64, FrozenBitMap64

import roaring64
import roaring64.asyncpg
import roaring64.psycopg
import roaring64.psycopg2
from roaring64 import _values
from drivers import DRIVERS

ENDS = [-(2**63), -1, 0, 1, 2**63 - 1]


@pytest.fixture(params=DRIVERS)
def unregistered(request, database, run):
    kind, binary = DRIVERS[request.param]
    driver = kind(run, binary)
    yield driver
    driver.close()


@pytest.fixture
def driver(unregistered):
    unregistered.register()
    return unregistered


def test_ends_of_bigint(driver, table):
    driver.run(f"INSERT INTO {table} VALUES (1, {{}})", roaring64.bitmap(ENDS))
    ((read, array, text),) = driver.run(f"SELECT read, read::bigint[], read::text FROM {table}")
    assert type(read) is roaring64.Bitmap
    assert str(read) == f"bitmap({ENDS})"
    assert roaring64.ids(read) == array == ENDS
    assert text == "{" + ",".join(map(str, ENDS)) + "}"


NEAR = st.builds(int.__add__, st.sampled_from([*ENDS[1:-1], 2**40, -(2**40)]), st.integers(-99, 99))
SETS = st.one_of(
    st.sets(st.one_of(NEAR, st.integers(-(2**63), 2**63 - 1)), max_size=50),
    st.builds(
        lambda start, length, step: set(range(start, start + length * step, step)),
        NEAR,
        st.integers(0, 5000),
        st.integers(1, 3),
    ),
)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(SETS)
def test_equal_to_bigint_array(driver, values):
    """Random sets of both signs, as the driver reads and writes bigint[]."""
    made = roaring64.bitmap(values)
    ((read, array, same),) = driver.run(
        "SELECT s, s::bigint[], s = a::roaring64 FROM (SELECT {}::roaring64, {}::bigint[]) AS t (s, a)",
        made,
        sorted(values),
    )
    assert read == made
    assert roaring64.ids(read) == array == sorted(values)
    assert same


def test_more_than_braces_show(driver):
    """Sets of more than 1,024 ids are hexadecimal as text."""
    for size in (1024, 1025, 100000):
        ((read,),) = driver.run("SELECT {}::roaring64", roaring64.bitmap(range(-7, size - 7)))
        assert read == roaring64.bitmap(range(-7, size - 7))


def test_output_format(driver):
    values = roaring64.bitmap([*range(-2000, 2000, 2)])
    for format in ("array", "hex"):
        driver.run(f"SET roaring64.output_format = '{format}'")
        assert driver.run("SELECT {}::roaring64, '{{}}'::roaring64", values) == [
            (values, FrozenBitMap64())
        ]


def test_null_and_empty(driver, table):
    driver.run(f"INSERT INTO {table} VALUES (1, {{}}), (2, {{}})", None, BitMap64())
    assert driver.run(f"SELECT read FROM {table} ORDER BY id") == [(None,), (FrozenBitMap64(),)]


def test_operators(driver, table):
    driver.run(f"INSERT INTO {table} VALUES (1, '{{{{1,2}}}}')")
    ((union, found, has),) = driver.run(
        f"SELECT read | {{}}, read && {{}}, read @> {{}}::bigint FROM {table}",
        roaring64.bitmap([-3]),
        roaring64.bitmap([2]),
        2,
    )
    assert roaring64.ids(union) == [-3, 1, 2]
    assert found
    assert has


def test_arrays_of_sets(driver):
    sets = [roaring64.bitmap(ids) for ids in ([1, 2], [-1], range(3000), [])]
    # asyncpg takes what can be iterated for another dimension of the array
    sent = [values.serialize() for values in sets] if type(driver).__name__ == "Asyncpg" else sets
    ((read, number),) = driver.run("SELECT a, cardinality(a) FROM (SELECT {}::roaring64[]) t (a)", sent)
    assert read == sets
    assert number == 4
    ((read,),) = driver.run("SELECT ARRAY['{{1,2}}', NULL, '{{-1}}']::roaring64[]")
    assert read == [roaring64.bitmap([1, 2]), None, roaring64.bitmap([-1])]


def test_arrays_of_sets_unregistered(unregistered):
    """What the driver makes of a type that it does not know is no set, nor is a part of it."""
    ((array, empty),) = unregistered.run("SELECT ARRAY['{{1,2}}', '{{-1}}']::roaring64[], '{{}}'::roaring64[]")
    if type(unregistered).__name__ == "Asyncpg":
        assert [_values.load(text) for text in array] == [roaring64.bitmap([1, 2]), roaring64.bitmap([-1])]
    elif isinstance(array, bytes):
        for value in (array, empty):
            with pytest.raises(ValueError, match="not the bytes of a roaring64"):
                _values.load(value)
    else:
        with pytest.raises(ValueError, match="for an array of sets, register the connection"):
            [_values.load(character) for character in array]


def test_mutable_bitmap_is_sent_as_it_is(driver):
    values = BitMap64([1, 2**64 - 1])
    ((read,),) = driver.run("SELECT {}::roaring64", values)
    values.add(5)
    assert roaring64.ids(read) == [-1, 1]


def test_without_the_extension(database, run, connection):
    connection.execute(f"CREATE DATABASE {database}_empty")
    try:
        with psycopg.connect(dbname=f"{database}_empty") as empty:
            with pytest.raises(LookupError, match="CREATE EXTENSION roaring64"):
                roaring64.psycopg.register(empty)
        empty = psycopg2.connect(dbname=f"{database}_empty")
        with pytest.raises(LookupError, match="CREATE EXTENSION roaring64"):
            roaring64.psycopg2.register(empty)
        empty.close()

        async def with_asyncpg():
            empty = await asyncpg.connect(database=f"{database}_empty")
            try:
                await roaring64.asyncpg.register(empty)
            finally:
                await empty.close()

        with pytest.raises(LookupError, match="CREATE EXTENSION roaring64"):
            run(with_asyncpg())
    finally:
        connection.execute(f"DROP DATABASE {database}_empty WITH (FORCE)")


def test_schema_that_is_not_on_the_path(unregistered):
    """The type is found and named, but operators need the path."""
    unregistered.run("SET search_path = pg_catalog")
    unregistered.register()
    values = roaring64.bitmap([1, -1])
    ((read, type),) = unregistered.run(
        'SELECT s, pg_typeof(s)::text FROM (SELECT {}::"my types".roaring64) AS t (s)', values
    )
    assert (read, type) == (values, '"my types".roaring64')


def test_literals_of_psycopg2(database):
    """A set in a statement, whatever the server makes of backslashes."""
    connection = psycopg2.connect("")
    roaring64.psycopg2.register(connection)
    for conforming in ("on", "off"):
        with connection, connection.cursor() as cursor:
            cursor.execute("SET standard_conforming_strings = %s", [conforming])
            sets = [roaring64.bitmap([-1, 92]), BitMap64(range(3000))]
            cursor.execute("SELECT %s::roaring64, %s::roaring64[]", [sets[0], sets])
            assert cursor.fetchone() == (sets[0], sets)
    connection.close()


@pytest.mark.parametrize("wrong", [{1.5}, {"a"}, {True}, {2**63}, range(2**63, 2**63 + 1)], ids=repr)
def test_psycopg_refuses_before_it_sends(database, wrong):
    with psycopg.connect() as connection:
        roaring64.psycopg.register(connection)
        with pytest.raises((TypeError, ValueError), match="is no id"):
            connection.execute("SELECT %s", [wrong])
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert connection.execute("SELECT %s", [{-1, 1}]).fetchone() == (roaring64.bitmap([-1, 1]),)


@pytest.mark.parametrize(
    "wrong", [[1.5], ["a"], [True], [2**63], range(2**63, 2**63 + 1), "{1}", b"abc", 5], ids=repr
)
def test_asyncpg_refuses_before_it_sends(database, run, wrong):
    async def send():
        connection = await asyncpg.connect()
        try:
            await roaring64.asyncpg.register(connection)
            async with connection.transaction():
                with pytest.raises(asyncpg.DataError, match="query argument") as raised:
                    await connection.fetchval("SELECT $1::roaring64", wrong)
                assert type(raised.value.__cause__) in (TypeError, ValueError)
                for right in ([-1, 1], {1, -1}, range(-1, 3, 2)):
                    read = await connection.fetchval("SELECT $1::roaring64", right)
                    assert roaring64.ids(read) == [-1, 1]
        finally:
            await connection.close()

    run(send())


@pytest.mark.parametrize("kind", [range(1, 4), {1, 2, 3}, frozenset({1, 2, 3})])
def test_other_sets_with_psycopg(database, kind):
    with psycopg.connect() as connection:
        roaring64.psycopg.register(connection)
        (read,) = connection.execute("SELECT %s", [kind]).fetchone()
        assert roaring64.ids(read) == [1, 2, 3]
        # a list is still an array
        assert connection.execute("SELECT %s::bigint[]", [[1, 2]]).fetchone() == ([1, 2],)


def test_registering_leaves_no_transaction(database, run):
    with psycopg.connect() as connection:
        roaring64.psycopg.register(connection)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        connection.execute("CREATE TEMP TABLE kept ()")
        roaring64.psycopg.register(connection)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        connection.commit()
        connection.execute("SELECT FROM kept")
    other = psycopg2.connect("")
    roaring64.psycopg2.register(other)
    assert other.info.transaction_status == psycopg2.extensions.TRANSACTION_STATUS_IDLE
    with other.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE kept ()")
        roaring64.psycopg2.register(other)
        other.commit()
        cursor.execute("SELECT FROM kept")
    other.close()


def test_row_factories(database):
    with psycopg.connect(row_factory=psycopg.rows.dict_row) as connection:
        roaring64.psycopg.register(connection)
        assert connection.execute("SELECT %s AS s", [{1}]).fetchone() == {"s": roaring64.bitmap([1])}
    connection = psycopg2.connect("", cursor_factory=psycopg2.extras.RealDictCursor)
    roaring64.psycopg2.register(connection)
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::roaring64 AS s", [roaring64.bitmap([1])])
        assert cursor.fetchone() == {"s": roaring64.bitmap([1])}
    connection.close()


def test_server_side_cursors(database, run):
    statement = "SELECT ARRAY[i, -i]::bigint[]::roaring64 FROM generate_series(1, 50) i"
    expected = [[-i, i] for i in range(1, 51)]
    for binary in (False, True):
        with psycopg.connect() as connection:
            roaring64.psycopg.register(connection)
            with connection.cursor("c", binary=binary) as cursor:
                cursor.itersize = 7
                cursor.execute(statement)
                assert [roaring64.ids(read) for (read,) in cursor] == expected
    connection = psycopg2.connect("")
    roaring64.psycopg2.register(connection)
    with connection.cursor("c") as cursor:
        cursor.itersize = 7
        cursor.execute(statement)
        assert [roaring64.ids(read) for (read,) in cursor] == expected
    connection.close()

    async def with_asyncpg():
        connection = await asyncpg.connect()
        await roaring64.asyncpg.register(connection)
        async with connection.transaction():
            cursor = connection.cursor(statement, prefetch=7)
            rows = [roaring64.ids(row[0]) async for row in cursor]
        await connection.close()
        return rows

    assert run(with_asyncpg()) == expected


ROWS = [(i, roaring64.bitmap(range(-i, i * 100))) for i in range(20)] + [(20, None)]


@pytest.mark.parametrize("format", ["text", "binary"])
def test_copy_with_psycopg(connection, table, format):
    roaring64.psycopg.register(connection)
    cursor = connection.cursor()
    with cursor.copy(f"COPY {table} FROM STDIN (FORMAT {format})") as copy:
        if format == "binary":
            copy.set_types(["int8", "roaring64"])
        for row in ROWS:
            copy.write_row(row)
    with cursor.copy(f"COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT (FORMAT {format})") as copy:
        copy.set_types(["int8", "roaring64"])
        assert list(copy.rows()) == ROWS
    assert connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == ROWS


def test_copy_with_asyncpg(connection, table, run):
    async def copy():
        connection = await asyncpg.connect()
        await roaring64.asyncpg.register(connection)
        await connection.copy_records_to_table(table, records=ROWS)
        rows = await connection.fetch(f"SELECT * FROM {table} ORDER BY id")
        await connection.close()
        return [tuple(row) for row in rows]

    assert run(copy()) == ROWS


def test_executemany_and_pipeline(connection, table):
    roaring64.psycopg.register(connection)
    with connection.pipeline(), connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", ROWS)
    assert connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == ROWS


def test_pools(database, run):
    with psycopg_pool.ConnectionPool(
        "", configure=roaring64.psycopg.register, min_size=1, open=True
    ) as pool:
        with pool.connection(timeout=20) as connection:
            assert connection.execute("SELECT %s", [{1}]).fetchone() == (roaring64.bitmap([1]),)

    async def with_psycopg():
        async with psycopg_pool.AsyncConnectionPool(
            "", configure=roaring64.psycopg.register_async, min_size=1, open=False
        ) as pool:
            async with pool.connection(timeout=20) as connection:
                cursor = await connection.execute("SELECT %s", [{1}])
                return await cursor.fetchone()

    async def with_asyncpg():
        async with asyncpg.create_pool(init=roaring64.asyncpg.register, min_size=1) as pool:
            await pool.fetchval("SELECT 1")  # a connection that was in use before
            return await pool.fetchval("SELECT $1::roaring64", {1})

    assert run(with_psycopg()) == (roaring64.bitmap([1]),)
    assert run(with_asyncpg()) == roaring64.bitmap([1])


def test_large_sets(driver):
    """A million ids that do not compress into runs."""
    values = roaring64.bitmap(range(0, 7_000_000, 7))
    ((read, number),) = driver.run(
        "SELECT s, roaring64_cardinality(s) FROM (SELECT {}::roaring64) AS t (s)", values
    )
    assert read == values
    assert number == 1_000_000
