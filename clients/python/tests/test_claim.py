"""claim() of each driver and ORM: one winner, and what the block does goes with it."""

import threading
import uuid

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import roaring64.asyncpg
import roaring64.psycopg
import roaring64.psycopg2
import roaring64.sqlalchemy


class Broken(Exception):
    pass


@pytest.fixture
def remembered(connection, processed):
    """Which ids are remembered, as all sessions see it."""

    def look():
        (ids,) = connection.execute(
            "SELECT roaring64_dedup_export(%s, 'k')::bigint[]", [processed]
        ).fetchone()
        return ids or []

    return look


def check(claim, connection, processed, remembered, autocommits):
    with claim(connection, processed, "k", 1) as new:
        assert new is True
    if autocommits:
        assert remembered() == [1]
    with claim(connection, processed, "k", 1) as new:
        assert new is False
    with pytest.raises(Broken), claim(connection, processed, "k", 2) as new:
        assert new is True
        raise Broken
    with claim(connection, processed, "k", 2) as new:
        assert new is True
    connection.commit()
    assert remembered() == [1, 2]


@pytest.mark.parametrize("autocommit", [False, True])
def test_psycopg(database, processed, remembered, autocommit):
    with psycopg.connect(autocommit=autocommit) as connection:
        check(roaring64.psycopg.claim, connection, processed, remembered, True)


@pytest.mark.parametrize("name", ["ClientCursor", "RawCursor"])
def test_other_cursors_of_psycopg(database, processed, remembered, run, name):
    """How the cursors of the connection write parameters does not matter."""
    if not hasattr(psycopg, name):
        pytest.skip(f"this psycopg has no {name}")

    async def claim_async():
        kind = getattr(psycopg, "Async" + name)
        async with await psycopg.AsyncConnection.connect(cursor_factory=kind) as connection:
            async with roaring64.psycopg.claim_async(connection, processed, "k", 1) as new:
                return new

    with psycopg.connect(cursor_factory=getattr(psycopg, name)) as connection:
        check(roaring64.psycopg.claim, connection, processed, remembered, True)
    assert run(claim_async()) is False


@pytest.mark.parametrize("autocommit", [False, True])
def test_psycopg2(database, processed, remembered, autocommit):
    connection = psycopg2.connect("")
    connection.autocommit = autocommit
    check(roaring64.psycopg2.claim, connection, processed, remembered, True)
    connection.close()


def test_within_a_transaction_of_psycopg(database, processed, remembered):
    """The block is a savepoint: what was done before stays, and the caller decides."""
    with psycopg.connect() as connection:
        connection.execute("CREATE TEMP TABLE before ()")
        with pytest.raises(Broken), roaring64.psycopg.claim(connection, processed, "k", 1):
            raise Broken
        with roaring64.psycopg.claim(connection, processed, "k", 2) as new:
            assert new
        assert remembered() == []
        connection.commit()
        assert remembered() == [2]
        connection.execute("SELECT FROM before")


def test_within_a_transaction_of_psycopg2(database, processed, remembered):
    """The block ends the transaction, as psycopg2's own does."""
    connection = psycopg2.connect("")
    cursor = connection.cursor()
    cursor.execute("CREATE TEMP TABLE before ()")
    with roaring64.psycopg2.claim(connection, processed, "k", 1) as new:
        assert new
    assert remembered() == [1]
    cursor.execute("DROP TABLE before")
    with pytest.raises(Broken), roaring64.psycopg2.claim(connection, processed, "k", 2):
        raise Broken
    assert remembered() == [1]
    cursor.execute("SELECT FROM before")
    with roaring64.psycopg2.claim(connection, processed, "k", 3):
        with pytest.raises(psycopg2.ProgrammingError, match="re-entered"):
            with roaring64.psycopg2.claim(connection, processed, "k", 4):
                pass
    assert remembered() == [1, 3]
    connection.close()


@pytest.fixture(params=["psycopg", "psycopg2", "sqlalchemy", "psycopg-async", "asyncpg", "sqlalchemy-async"])
def claim_one(request, database, run):
    """Claims an id by each way, in a transaction of its own."""

    def with_psycopg(*args):
        with psycopg.connect() as connection, roaring64.psycopg.claim(connection, *args) as new:
            return new

    def with_psycopg2(*args):
        connection = psycopg2.connect("")
        try:
            with roaring64.psycopg2.claim(connection, *args) as new:
                return new
        finally:
            connection.close()

    def with_sqlalchemy(*args):
        engine = sqlalchemy.create_engine("postgresql+psycopg://")
        try:
            with engine.begin() as connection, roaring64.sqlalchemy.claim(connection, *args) as new:
                return new
        finally:
            engine.dispose()

    async def with_psycopg_async(*args):
        async with await psycopg.AsyncConnection.connect() as connection:
            async with roaring64.psycopg.claim_async(connection, *args) as new:
                return new

    async def with_asyncpg(*args):
        connection = await asyncpg.connect()
        try:
            async with roaring64.asyncpg.claim(connection, *args) as new:
                return new
        finally:
            await connection.close()

    async def with_sqlalchemy_async(*args):
        engine = create_async_engine("postgresql+asyncpg://")
        try:
            async with AsyncSession(engine) as session, session.begin():
                async with roaring64.sqlalchemy.claim_async(session, *args) as new:
                    return new
        finally:
            await engine.dispose()

    claim = locals()["with_" + request.param.replace("-", "_")]
    return lambda *args: run(claim(*args)) if "async" in request.param else claim(*args)


@pytest.mark.parametrize("wrong", [1.5, True, 2**63, None, [1]], ids=repr)
def test_bad_input(claim_one, processed, remembered, wrong):
    """No id is rounded or cut, and NULL is none."""
    with pytest.raises(Exception, match=r"is no id to claim|out of (int64 )?range"):
        claim_one(processed, "k", wrong)
    assert remembered() == []


def test_text_that_is_no_number(claim_one, processed, remembered):
    """A str is sent as text, of which the server makes what the set's ids are."""
    with pytest.raises(Exception, match="bigint|text"):
        claim_one(processed, "k", "x7")
    assert remembered() == []


@pytest.mark.parametrize(
    ("id_type", "ids"),
    [("uuid", [uuid.UUID(int=1), uuid.UUID(int=2**127 + 5)]), ("text", ["a", "7", "'\\%s:x"])],
    ids=["uuid", "text"],
)
def test_other_ids(claim_one, connection, id_type, ids):
    try:
        connection.execute(f"SELECT roaring64_dedup_claim(NULL, NULL, NULL::{id_type})")
    except psycopg.errors.UndefinedFunction:
        pytest.skip(f"this server's roaring64_dedup_claim() takes no {id_type}")
    except psycopg.Error:
        pass  # it has the function, to which NULL is no set
    name = f"d_{uuid.uuid4().hex[:8]}"
    connection.execute("SELECT roaring64_dedup_create(%s, id_type => %s)", [name, id_type])
    for expected in (True, False):
        assert [claim_one(name, "k", id) for id in ids] == [expected] * len(ids)
    connection.execute("SELECT roaring64_dedup_drop(%s::regclass)", [name])


def test_calls_are_qualified(claim_one, connection, processed, remembered, database):
    """A function of the same name before it on the path is not called, nor need there be a path."""
    connection.execute("CREATE SCHEMA trap")
    connection.execute(
        "CREATE FUNCTION trap.roaring64_dedup_claim(regclass, text, bigint) RETURNS bool "
        "LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$"
    )
    try:
        for path in ('trap, public, "my types"', "public"):
            connection.execute(f"ALTER DATABASE {database} SET search_path = {path}")
            assert claim_one(processed, "k", len(path)) is True
    finally:
        connection.execute(f'ALTER DATABASE {database} SET search_path = public, "my types"')
        connection.execute("DROP SCHEMA trap CASCADE")
    assert len(remembered()) == 2


def test_sqlalchemy(database, processed, remembered):
    for driver in ("psycopg", "psycopg2"):
        engine = sqlalchemy.create_engine(f"postgresql+{driver}://")
        with engine.connect() as connection:
            check(roaring64.sqlalchemy.claim, connection, processed, remembered, False)
            connection.execute(
                sqlalchemy.text("SELECT roaring64_dedup_forget_many(:s, 'k', '{1,2}')"),
                {"s": processed},
            )
            connection.commit()
        engine.dispose()


async def check_async(claim, connection, processed):
    async with claim(connection, processed, "k", 1) as new:
        assert new is True
    async with claim(connection, processed, "k", 1) as new:
        assert new is False
    with pytest.raises(Broken):
        async with claim(connection, processed, "k", 2) as new:
            raise Broken
    async with claim(connection, processed, "k", 2) as new:
        assert new is True


def test_async(database, processed, remembered, run):
    async def with_psycopg():
        async with await psycopg.AsyncConnection.connect() as connection:
            await check_async(roaring64.psycopg.claim_async, connection, processed)

    async def with_asyncpg():
        connection = await asyncpg.connect()
        try:
            await check_async(roaring64.asyncpg.claim, connection, processed)
        finally:
            await connection.close()

    async def with_sqlalchemy():
        engine = create_async_engine("postgresql+asyncpg://")
        async with engine.begin() as connection:
            await check_async(roaring64.sqlalchemy.claim_async, connection, processed)
        await engine.dispose()

    for way in (with_psycopg, with_asyncpg, with_sqlalchemy):
        run(way())
        assert remembered() == [1, 2]
        with psycopg.connect() as connection:
            connection.execute("SELECT roaring64_dedup_forget_many(%s, 'k', '{1,2}')", [processed])


def test_one_winner(database, processed):
    """Eight sessions claim the same ids; work that fails is done by another."""
    won, failures, lock = [], [0], threading.Lock()

    def consume(worker):
        with psycopg.connect(autocommit=True) as connection:
            for id in range(50):
                try:
                    with roaring64.psycopg.claim(connection, processed, "k", id) as new:
                        if new and (id + worker) % 3 == 0:
                            raise Broken
                        if new:
                            with lock:
                                won.append(id)
                except Broken:
                    failures[0] += 1

    threads = [threading.Thread(target=consume, args=[i]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(50))
    assert failures[0] > 0
