"""The type of SQLAlchemy beside JSON that is told the same: what is in the rows, and in the object.

As in test_django_matrix.py, but that SQLAlchemy itself leaves out what was not assigned, so that
JSON says all that should be.
"""

import itertools
import os
import pickle
import random

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from roaring64.sqlalchemy import Roaring64

# One script of so many is run.
EVERY = 32 / float(os.environ.get("ROARING64_TEST_EFFORT", "1"))
SEED = os.environ.get("ROARING64_TEST_SEED", "1")


class Base(orm.DeclarativeBase):
    pass


def make_models(prefix, kind):
    """A model, and one that inherits its table."""

    def make(suffix, base, **fields):
        fields["id"] = orm.mapped_column(*fields.pop("id"), primary_key=True)
        made = type(prefix + suffix, (base,), {"__module__": __name__, **fields})
        globals()[made.__name__] = made  # for pickle
        return made

    row = make(
        "Row",
        Base,
        __tablename__=f"{prefix.lower()}_row",
        id=[sa.Integer],
        name=orm.mapped_column(sa.Text),
        read=orm.mapped_column(kind),
    )
    child = make(
        "Child",
        row,
        __tablename__=f"{prefix.lower()}_child",
        id=[sa.ForeignKey(f"{prefix.lower()}_row.id")],
        more=orm.mapped_column(sa.Text),
    )
    return {"row": row, "child": child}


SETS, PLAIN = make_models("Set", Roaring64), make_models("Plain", sa.JSON(none_as_null=True))


class World:
    """A session with an object of one of the models, and a second session."""

    def __init__(self, session, models, kind):
        self.model, self.row = models[kind], models["row"]
        self.is_plain = models is PLAIN
        self.session, self.engine = session, session.bind
        self.session.add_all(
            [
                self.model(id=1, name="first", read=self.value(1, 2)),
                self.model(id=2, name="second", read=self.value(20)),
            ]
        )
        self.session.commit()
        self.session.expunge_all()

    def value(self, *ids):
        return list(ids) if self.is_plain else set(ids)

    def others(self, **values):
        with self.engine.begin() as connection:
            connection.execute(sa.text("SET LOCAL lock_timeout = '5ms'"))
            connection.execute(sa.update(self.row).where(self.row.id == 1).values(**values))


def append(world):
    before = world.o.read
    if world.is_plain:
        world.o.read = [*(before or []), 9] if 9 not in (before or []) else before
    else:
        world.o.read = {9} if before is None else before | {9}


def rename(world):
    world.o.name = (world.o.name or "") + "!"


def update(world, value, **options):
    statement = sa.update(world.model if world.model is world.row else world.row)
    statement = statement.where(world.row.id == 1).values(read=value)
    world.session.execute(statement, execution_options=options)


def bulk_update(world):
    world.session.execute(sa.update(world.row), [{"id": 1, "read": world.value(11)}])


def bulk_insert(world):
    world.session.execute(sa.insert(world.row), [{"id": 3, "name": "bulk", "read": world.value(12)}])


def detach(world):
    world.session.expunge(world.o)


def attach(world):
    world.session.add(world.o)


def merge(world):
    world.o = world.session.merge(world.o)


def merge_new(world):
    world.o = world.session.merge(world.model(id=1, name="merged", read=world.value(13)))


def copy_by_key(world):
    world.o.name  # as it may be expired
    read = world.o.read
    detach(world)
    orm.make_transient(world.o)
    world.o.id, world.o.read = 4, read
    attach(world)


def delete(world):
    world.session.delete(world.o)


def savepoint(world):
    with world.session.begin_nested():
        world.session.flush()


def rolled_back(world):
    nested = world.session.begin_nested()
    world.session.flush()
    nested.rollback()


STARTS = {
    "get": lambda w: w.session.get(w.model, 1),
    "defer": lambda w: w.session.get(w.model, 1, options=[orm.defer(w.model.read)]),
    "only": lambda w: w.session.get(w.model, 1, options=[orm.load_only(w.model.name)]),
    "new": lambda w: w.model(id=5, name="new", read=w.value(1, 4)),
    "default": lambda w: w.model(id=5, name="default"),
    "added": lambda w: (o := w.model(id=5, name="new", read=w.value(1, 4)), w.session.add(o))[0],
}
STEPS = {
    "assign": lambda w: setattr(w.o, "read", w.value(5)),
    "assign more": lambda w: setattr(w.o, "read", w.value(5, 6)),
    "assign back": lambda w: setattr(w.o, "read", w.value(1, 2)),
    "assign none": lambda w: setattr(w.o, "read", None),
    "assign empty": lambda w: setattr(w.o, "read", w.value()),
    "assign itself": lambda w: setattr(w.o, "read", w.o.read),
    "append": append,
    "look": lambda w: w.o.read,
    "rename": rename,
    "flush": lambda w: w.session.flush(),
    "commit": lambda w: w.session.commit(),
    "rollback": lambda w: w.session.rollback(),
    "savepoint": savepoint,
    "rolled back": rolled_back,
    "expire": lambda w: w.session.expire(w.o),
    "expire it": lambda w: w.session.expire(w.o, ["read"]),
    "refresh": lambda w: w.session.refresh(w.o),
    "refresh it": lambda w: w.session.refresh(w.o, ["read"]),
    "detach": detach,
    "attach": attach,
    "merge": merge,
    "merge new": merge_new,
    "pickle": lambda w: setattr(w, "o", pickle.loads(pickle.dumps(w.o))),
    "copy by key": copy_by_key,
    "delete": delete,
    "update": lambda w: update(w, w.value(14)),
    "update evaluate": lambda w: update(w, w.value(15), synchronize_session="evaluate"),
    "update fetch": lambda w: update(w, w.value(16), synchronize_session="fetch"),
    "update none": lambda w: update(w, None),
    "bulk update": bulk_update,
    "bulk insert": bulk_insert,
    "others update": lambda w: w.others(read=w.value(100)),
    "others null": lambda w: w.others(read=None),
    "others rename": lambda w: w.others(name="o"),
}


def scripts():
    """All pairs of steps with a commit at the end, and longer ones at random."""
    chosen = random.Random(SEED)
    for kind, start, expires in itertools.product(SETS, STARTS, (True, False)):
        for steps in itertools.product(STEPS, repeat=2):
            if kind == "row" or chosen.random() < 0.1:
                yield kind, start, expires, (*steps, "commit")
    for _ in range(4000):
        steps = chosen.choices(list(STEPS), k=chosen.randint(3, 7))
        yield chosen.choice(list(SETS)), chosen.choice(list(STARTS)), chosen.random() < 0.5, (*steps, "commit")


def shown(read):
    """A value as both kinds have it; not so a set that could be changed in place, unnoticed."""
    return read if read is None or hasattr(read, "add") else sorted(read)


def play(session, models, kind, start, steps):
    """Runs a script; gives what it left."""
    with session.bind.begin() as connection:
        connection.execute(sa.delete(models["child"].__table__))
        connection.execute(sa.delete(models["row"].__table__))
    world = World(session, models, kind)
    errors = []

    world.o = STARTS[start](world)
    for step in steps:
        try:
            STEPS[step](world)
            errors.append("")
        except Exception as error:
            errors.append(type(error).__name__)
            if isinstance(error, (sa.exc.DBAPIError, sa.exc.PendingRollbackError)):
                session.rollback()
    try:
        value = shown(world.o.read)
    except Exception as error:
        value = type(error).__name__
    session.close()
    with session.bind.connect() as connection:
        table = models["row"].__table__
        rows = connection.execute(sa.select(table.c.id, table.c.name, table.c.read).order_by(table.c.id)).all()
    return errors, value, [(id, name, shown(read)) for id, name, read in rows]


class Sync:
    """Sessions of a driver that blocks."""

    def __init__(self, driver, _run):
        self.engine = sa.create_engine(f"postgresql+{driver}://")

    def with_session(self, function, *args, **options):
        with orm.Session(self.engine, **options) as session:
            return function(session, *args)

    def with_connection(self, function):
        with self.engine.begin() as connection:
            function(connection)

    def close(self):
        self.engine.dispose()


class Async:
    """The same functions in asynchronous sessions."""

    def __init__(self, driver, run):
        self.engine, self.run = create_async_engine(f"postgresql+{driver}://"), run

    def with_session(self, function, *args, **options):
        async def run():
            async with AsyncSession(self.engine, **options) as session:
                return await session.run_sync(function, *args)

        return self.run(run())

    def with_connection(self, function):
        async def run():
            async with self.engine.begin() as connection:
                await connection.run_sync(function)

        self.run(run())

    def close(self):
        self.run(self.engine.dispose())


# The first one has so many times the scripts of the others.
DRIVERS = {"psycopg": (Sync, 1), "psycopg2": (Sync, 10), "asyncpg": (Async, 10)}


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request, database, run):
    kind, fewer = DRIVERS[request.param]
    driver = kind(request.param, run)
    driver.name, driver.every = request.param, EVERY * fewer
    driver.with_connection(Base.metadata.create_all)
    yield driver
    driver.with_connection(Base.metadata.drop_all)
    driver.close()


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_matrix(driver):
    differences, cells = [], 0
    chosen = random.Random(f"which {SEED} {driver.name}")
    for kind, start, expires, steps in (script for script in scripts() if chosen.random() * driver.every < 1):
        cells += 1
        is_, should_be = (
            driver.with_session(play, models, kind, start, steps, expire_on_commit=expires)
            for models in (SETS, PLAIN)
        )
        if is_ != should_be:
            differences.append(
                f"{kind}: {start}, {expires}, {', '.join(steps)}\n  is        {is_}\n  should be {should_be}"
            )
    print(f"{cells} cells of seed {SEED}, {len(differences)} differences")
    assert not differences, "\n".join([f"{len(differences)} of {cells}", *differences[:5]])
