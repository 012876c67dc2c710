"""claim() of each driver and ORM: one winner, and what the block does goes with it."""

import threading

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine

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


@pytest.mark.parametrize("wrong", [1.5, "x", 2**63, None], ids=repr)
def test_bad_input(database, processed, remembered, wrong):
    """No id is rounded or cut, and NULL is none."""
    connections = [psycopg.connect(), psycopg2.connect("")]
    for module, connection in zip((roaring64.psycopg, roaring64.psycopg2), connections):
        with pytest.raises((psycopg.Error, psycopg2.Error)):
            with module.claim(connection, processed, "k", wrong):
                pass
        connection.close()
    engine = sqlalchemy.create_engine("postgresql+psycopg://")
    with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError):
        with roaring64.sqlalchemy.claim(connection, processed, "k", wrong):
            pass
    engine.dispose()
    assert remembered() == []


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
