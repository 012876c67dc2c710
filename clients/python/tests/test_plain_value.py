"""A set is a plain value: it comes back as it was, by every way, and differs from each other set."""

import copy
import json
import os
import pathlib
import pickle
import random

import psycopg
import psycopg2.extras
import pytest
import sqlalchemy as sa
from psycopg.types.composite import CompositeInfo, register_composite
from sqlalchemy import orm

import roaring64
import roaring64.psycopg
from drivers import DRIVERS
from roaring64.sqlalchemy import Roaring64
from test_django import Inbox, tables  # noqa: F401

SEED = os.environ.get("ROARING64_TEST_SEED", "1")
TREE = pathlib.Path(__file__).resolve().parents[3]
VECTORS = pathlib.Path(os.environ.get("ROARING64_VECTORS", TREE / "clients" / "vectors.json"))
SHARED = pathlib.Path(os.environ.get("ROARING64_TEST_SHARED", VECTORS.parents[2] / "shared")) / "testdata"


def random_sets(number=1000):
    """Sets of all kinds of containers and both signs; each size comes often."""
    chosen = random.Random(SEED)
    for _ in range(number):
        start = chosen.choice([0, -5, 65530, 2**40, -(2**40), 2**63 - 9000, -(2**63), chosen.getrandbits(62)])
        size = chosen.choice([0, 1, 1, 2, 3, 5, 5, 100, 2000])
        spread = chosen.choice([1, 2, 4])
        yield [start + i for i in sorted(chosen.sample(range(size * spread), size))]


def unpack(words):
    """Bytes of hexadecimal digits, of which ff*8192 is one byte repeated."""
    pairs = (word.partition("*") for word in words.split())
    return b"".join(bytes.fromhex(digits) * int(times or 1) for digits, _, times in pairs)


def is_set(data):
    try:
        roaring64.bitmap(data)
    except ValueError:
        return False
    return True


def test_vectors(connection):
    """Bytes are taken and refused as the table says, which is as the server does."""
    verdicts = {True: 0, False: 0}
    for vector in json.loads(VECTORS.read_text()):
        data = unpack(vector["bytes"])
        (valid,) = connection.execute("SELECT roaring64_invalid_reason(%b) IS NULL", [data]).fetchone()
        assert is_set(data) == valid == vector["accepted"], vector["name"]
        verdicts[valid] += 1
        if valid:
            (ids,) = connection.execute("SELECT (%b::bytea::roaring64)::bigint[]", [data]).fetchone()
            made = roaring64.bitmap(data)
            assert len(made) == vector["count"] == len(ids)
            assert [vector["min"], vector["max"]] == ([str(ids[0]), str(ids[-1])] if ids else [None, None])
            assert made == roaring64.bitmap(ids) == roaring64.bitmap(made.serialize())
            assert hash(made) == hash(roaring64.bitmap(ids))
            assert list(made) == ids
    assert min(verdicts.values()) > 20


@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no shared/testdata")
def test_files_of_others(connection):
    verdicts = {True: 0, False: 0}
    for file in (path for path in SHARED.rglob("*") if path.is_file()):
        data = file.read_bytes()
        (valid,) = connection.execute("SELECT roaring64_invalid_reason(%b) IS NULL", [data]).fetchone()
        assert is_set(data) == valid, file
        verdicts[valid] += 1
    assert min(verdicts.values()) > 20


@pytest.fixture
def composite(connection):
    connection.execute("CREATE TYPE pair AS (n int, read roaring64)")
    yield
    connection.execute("DROP TYPE pair")


def pairs(driver, sets):
    """What a driver makes of an array of composites with sets."""
    kind, connection = type(driver).__name__, driver.connection
    if kind == "Psycopg":
        register_composite(CompositeInfo.fetch(connection, "pair"), connection)
    elif kind == "PsycopgAsync":
        register_composite(driver.loop(CompositeInfo.fetch(connection, "pair")), connection)
    elif kind == "Psycopg2":
        psycopg2.extras.register_composite("pair", connection)
    sent = [made.serialize() for made in sets] if kind == "Asyncpg" else sets
    ((read,),) = driver.run(
        "SELECT array_agg((n, s)::pair ORDER BY n) FROM unnest({}::roaring64[]) WITH ORDINALITY AS t (s, n)", sent
    )
    return [pair[1] for pair in read]


@pytest.mark.parametrize("name", DRIVERS)
def test_thousand_sets(name, database, run, composite):
    kind, binary = DRIVERS[name]
    driver = kind(run, binary)
    driver.register()
    expected = list(random_sets())
    sets = [roaring64.bitmap(ids) for ids in expected]
    sent = [made.serialize() for made in sets] if name == "asyncpg" else sets
    one_by_one = [driver.run("SELECT {}::roaring64", made)[0][0] for made in sets]
    ((array,),) = driver.run("SELECT {}::roaring64[]", sent)
    for read in (one_by_one, array, pairs(driver, sets)):
        assert all(type(made) is roaring64.Bitmap for made in read)
        assert read == sets
        assert list(map(list, read)) == expected
    driver.close()


def through_sqlalchemy(database, sets):
    class Base(orm.DeclarativeBase):
        pass

    class Row(Base):
        __tablename__ = "thousand"
        id = orm.mapped_column(sa.BigInteger, primary_key=True)
        read = orm.mapped_column(Roaring64)

    engine = sa.create_engine("postgresql+psycopg://")
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all(Row(id=i, read=made) for i, made in enumerate(sets))
        session.commit()
        yield from session.scalars(sa.select(Row.read).order_by(Row.id))
    Base.metadata.drop_all(engine)
    engine.dispose()


def through_django(sets):
    Inbox.objects.all().delete()
    Inbox.objects.bulk_create(Inbox(id=i + 1, read=made) for i, made in enumerate(sets))
    for row in Inbox.objects.order_by("id").iterator():
        row.save()  # what it has is what is written
    return Inbox.objects.order_by("id").values_list("read", flat=True)


def test_thousand_sets_without_a_driver(database, tables):  # noqa: F811
    expected = list(random_sets())
    sets = [roaring64.bitmap(ids) for ids in expected]
    cache = json.dumps(sets, default=list)
    ways = {
        "SQLAlchemy": through_sqlalchemy(database, sets),
        "Django": through_django(sets),
        "JSON": map(roaring64.bitmap, json.loads(cache)),
        "copy": map(copy.copy, sets),
        "deepcopy": copy.deepcopy(sets),
        "pickle": pickle.loads(pickle.dumps(sets)),
        "bytes": (roaring64.bitmap(made.serialize()) for made in sets),
        "repr": (eval(repr(made), {"bitmap": roaring64.bitmap}) if len(made) <= 20 else made for made in sets),
    }
    for way, read in ways.items():
        read = list(read)
        assert {type(made) for made in read} == {roaring64.Bitmap}, way
        assert read == sets, way
        assert list(map(list, read)) == expected, way
        assert list(map(hash, read)) == list(map(hash, sets)), way


def test_sets_of_one_size_differ():
    sets = [roaring64.bitmap(ids) for ids in random_sets()]
    same = differ = 0
    for one in sets:
        for other in sets[:100]:
            if list(one) == list(other):
                same += 1
                assert one == other
                assert not one != other
                assert hash(one) == hash(other)
                assert [{"read": one}] == [{"read": other}]
            else:
                differ += len(one) == len(other)
                assert one != other
                assert not one == other
                assert [{"read": one}] != [{"read": other}]
                assert list(one) != list(other)
                assert repr(one) != repr(other) or len(one) > 20
    assert same > 100
    assert differ > 1000


def test_json_refuses_rather_than_guesses():
    with pytest.raises(TypeError, match="Bitmap is not JSON serializable"):
        json.dumps({"read": roaring64.bitmap([1])})


@pytest.mark.parametrize("name", DRIVERS)
def test_older_extension(name, database, run, connection):
    """It is refused in a line when a connection is registered."""
    kind, binary = DRIVERS[name]
    driver = kind(run, binary)
    version = "UPDATE pg_extension SET extversion = %s WHERE extname = 'roaring64'"
    (now,) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'roaring64'").fetchone()
    try:
        for old in ("0.9", "0.10.1"):
            connection.execute(version, [old])
            with pytest.raises(LookupError, match=rf"needs roaring64 1\.0 or newer.*has {old}: ALTER EXTENSION"):
                driver.register()
        for new in ("1.0", "1.0.1", "1.10", "2.0-dev"):
            connection.execute(version, [new])
            driver.register()
    finally:
        connection.execute(version, [now])
        driver.close()


def test_claims(database, connection, processed):
    """The statement of the README, whose claim commits or rolls back with the block."""

    def claim(connection, id, kind="bigint"):
        return connection.execute(
            f"SELECT roaring64_dedup_claim(%s, %s, %s::{kind})", [processed, "payments", id]
        ).fetchone()[0]

    with psycopg.connect() as own:
        with own.transaction():
            assert claim(own, 1) is True
        with pytest.raises(ZeroDivisionError), own.transaction():
            claim(own, 2)
            1 / 0
    assert [claim(connection, id) for id in (1, 2, 2**63 - 1)] == [False, True, True]
