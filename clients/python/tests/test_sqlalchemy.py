"""The type of SQLAlchemy: core and ORM, with all drivers, and Alembic."""

import uuid

import pytest
import sqlalchemy as sa
from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from pyroaring import BitMap64
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import roaring64
import roaring64.psycopg
from roaring64.sqlalchemy import Roaring64, agg

set_of = roaring64.bitmap


class Base(orm.DeclarativeBase):
    pass


class Inbox(Base):
    __tablename__ = "sqlalchemy_inbox"
    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(server_default="")
    read: orm.Mapped[roaring64.Bitmap] = orm.mapped_column(Roaring64, server_default="{}")
    starred = orm.mapped_column(Roaring64)
    __table_args__ = (
        sa.Index("by_id", read, postgresql_using="gin"),
        sa.Index(
            "by_container",
            starred,
            postgresql_using="gin",
            postgresql_ops={"starred": "gin_roaring64_ops (key = container)"},
        ),
    )


class Special(Inbox):
    pass


class Default(Base):
    __tablename__ = "sqlalchemy_default"
    id = orm.mapped_column(sa.Integer, primary_key=True)
    name = orm.mapped_column(sa.Text, server_default="")
    read = orm.mapped_column(Roaring64, default={1})
    called = orm.mapped_column(Roaring64, default=lambda: [1, 2])
    changed = orm.mapped_column(Roaring64, onupdate={3})


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request, database):
    engine = sa.create_engine(f"postgresql+{request.param}://")
    with engine.begin() as connection:
        Base.metadata.create_all(connection)
        connection.execute(
            sa.insert(Inbox),
            [
                {"id": 1, "name": "a", "read": {1, 2, -3}},
                {"id": 2, "name": "b", "read": BitMap64([2, 2**64 - 1])},
                {"id": 3, "name": "c", "read": ()},
            ],
        )
    yield engine
    with engine.begin() as connection:
        Base.metadata.drop_all(connection)
    engine.dispose()


@pytest.fixture
def session(engine):
    with orm.Session(engine) as session:
        yield session


def names(session, condition):
    return "".join(session.scalars(sa.select(Inbox.name).where(condition).order_by(Inbox.id)))


def test_tests(session):
    assert names(session, Inbox.read.contains(2)) == "ab"
    assert names(session, Inbox.read.contains(-1)) == "b"
    assert names(session, Inbox.read.contains({1, 2})) == "a"
    assert names(session, Inbox.read.contains(range(0))) == "abc"
    assert names(session, Inbox.read.contains(Inbox.id)) == "ab"
    assert names(session, Inbox.read.contained_by({2, -1})) == "bc"
    assert names(session, Inbox.read.overlaps([1, -1])) == "ab"
    assert names(session, ~Inbox.read.overlaps([1, -1])) == "c"
    assert names(session, Inbox.read == {2, -1}) == "b"
    assert names(session, Inbox.read.in_([{2, -1}, set()])) == "bc"
    assert names(session, Inbox.starred.is_(None)) == "abc"
    in_range = sa.func.int8range(-5, 0)
    assert names(session, Inbox.read.overlaps(in_range)) == "ab"
    given = sa.literal(set_of([2, 3]), Roaring64)
    assert names(session, given.contains(Inbox.id)) == "bc"


def test_set_operators(session):
    def value(expression):
        read = session.scalar(sa.select(expression).where(Inbox.id == 1))
        return roaring64.ids(read) if isinstance(read, roaring64.Bitmap) else read

    assert value(Inbox.read) == [-3, 1, 2]
    assert value(Inbox.read | 5) == [-3, 1, 2, 5]
    assert value(Inbox.read | {5, 6}) == [-3, 1, 2, 5, 6]
    assert value(Inbox.read & {1, 9}) == [1]
    assert value(Inbox.read - 1) == [-3, 2]
    assert value(Inbox.read - range(-9, 0)) == [1, 2]
    assert value((Inbox.read | 5) - {1, 2}) == [-3, 5]
    assert value(Inbox.read | Inbox.read) == [-3, 1, 2]
    assert value(Inbox.read.add(5)) == [-3, 1, 2, 5]
    assert value(Inbox.starred.add(5)) == [5]
    assert value(Inbox.read - {1, 5}) == [-3, 2]
    assert value(Inbox.read.cardinality()) == 3


def test_aggregates(session):
    read, common, starred, ids = session.execute(
        sa.select(Inbox.read.or_agg(), Inbox.read.and_agg(), Inbox.starred.or_agg(), agg(Inbox.id))
    ).one()
    assert (roaring64.ids(read), roaring64.ids(common)) == ([-3, -1, 1, 2], [])
    assert starred is None
    assert roaring64.ids(ids) == [1, 2, 3]


def test_compound_selects_and_returning(session):
    union = sa.union(
        sa.select(Inbox.read).where(Inbox.id == 1),
        sa.select(Inbox.read | 7).where(Inbox.id == 2),
    ).subquery()
    rows = session.scalars(sa.select(union.c.read).order_by(union.c.read)).all()
    assert sorted(map(roaring64.ids, rows)) == [[-3, 1, 2], [-1, 2, 7]]
    changed = session.scalars(
        sa.update(Inbox).where(Inbox.id < 3).values(read=Inbox.read.add({9})).returning(Inbox.read)
    ).all()
    assert sorted(map(roaring64.ids, changed)) == [[-3, 1, 2, 9], [-1, 2, 9]]


def test_literal_binds(session):
    statement = sa.select(Inbox.name).where(Inbox.read.contains({1, 2}))
    text = str(statement.compile(session.connection(), compile_kwargs={"literal_binds": True}))
    assert session.execute(sa.text(text.replace(":", r"\:"))).scalar() == "a"


@pytest.mark.parametrize("wrong", [1.5, "x", True, 2**63, [1.5], [2**63], b"abc", None], ids=repr)
def test_bad_operands(wrong):
    for method in ("contains", "overlaps", "add", "__sub__"):
        with pytest.raises((TypeError, ValueError)):
            getattr(Inbox.read, method)(wrong)


def test_bad_values(session):
    for wrong in ([1.5], "x", 5, [True], [2**63]):
        with pytest.raises((TypeError, ValueError)):
            Inbox(id=9, read=wrong)
        with pytest.raises(sa.exc.StatementError) as raised:
            session.execute(sa.insert(Inbox).values(id=9, read=wrong))
        assert type(raised.value.orig) in (TypeError, ValueError)
        session.rollback()


def test_objects(session):
    """A value cannot be changed in place, whether it was read or assigned."""
    session.add(Inbox(id=4, name="d", read={7, -7}))
    session.flush()
    inbox = session.get(Inbox, 4)
    assert type(inbox.read) is roaring64.Bitmap
    with pytest.raises(AttributeError):
        inbox.read.add(8)
    session.commit()
    assert roaring64.ids(inbox.read) == [-7, 7]
    with pytest.raises(AttributeError):
        inbox.read.add(8)
    assert inbox not in session.dirty
    inbox.read = values = BitMap64([1])
    values.add(2)
    session.commit()
    assert roaring64.ids(inbox.read) == [1]
    inbox.starred = {3}
    session.commit()
    assert roaring64.ids(inbox.starred) == [3]
    inbox.starred = None
    session.commit()
    assert inbox.starred is None


def test_update_loses_nothing(engine):
    """The documented way, in two sessions at once."""
    with orm.Session(engine) as one, orm.Session(engine) as two:
        loaded = one.get(Inbox, 1)
        for session, id in ((one, 5), (two, 6)):
            session.execute(
                sa.update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(id)),
                execution_options={"synchronize_session": False},
            )
            session.commit()
        one.refresh(loaded)
        assert roaring64.ids(loaded.read) == [-3, 1, 2, 5, 6]


def test_assignment_is_assignment(engine):
    """Of two sessions that assign, the last one wins; what an UPDATE adds stays."""
    with orm.Session(engine) as one, orm.Session(engine) as two:
        first, second = one.get(Inbox, 1), two.get(Inbox, 1)
        first.read = first.read | {5}
        second.read = second.read | {6}
        one.commit()
        two.commit()
        assert roaring64.ids(first.read) == [-3, 1, 2, 6]
        first.read = Inbox.read.add(7)
        second.read = Inbox.read.add(8)
        one.commit()
        two.commit()
        one.refresh(first)
        assert roaring64.ids(first.read) == [-3, 1, 2, 6, 7, 8]


def test_update_by_value_leaves_a_bitmap(engine):
    """In the objects of the session, whose later changes are sent."""
    for synchronize in ("auto", "evaluate", "fetch"):
        with orm.Session(engine) as session:
            inbox = session.get(Inbox, 1)
            statement = sa.update(Inbox).where(Inbox.id == 1).values(read={1, 5}, starred=[7])
            session.execute(statement, execution_options={"synchronize_session": synchronize})
            assert type(inbox.read) is type(inbox.starred) is roaring64.Bitmap
            assert (list(inbox.read), list(inbox.starred)) == ([1, 5], [7])
            assert inbox not in session.dirty
            with pytest.raises(AttributeError, match=r"read\.add\(7\)"):
                inbox.read.add(7)
            inbox.read |= {7}
            session.commit()
            assert list(inbox.read) == [1, 5, 7]
            session.execute(statement.values(starred=None))
            assert inbox.starred is None
            session.rollback()


def test_defaults_leave_a_bitmap(engine):
    """In the object, once it is flushed: to change it in place would change the default itself."""
    with orm.Session(engine, expire_on_commit=False) as session:
        session.add_all([one := Default(id=1), Default(id=2)])
        session.commit()
        one.name = "changed"
        session.commit()
        for value, expected in ((one.read, [1]), (one.called, [1, 2]), (one.changed, [3])):
            assert type(value) is roaring64.Bitmap
            assert list(value) == expected
            with pytest.raises(AttributeError, match=r"read\.add\(7\)"):
                value.add(7)


def test_objects_agree_with_the_order_of_the_server(session):
    """A session that would find in Python what an UPDATE has changed would ask for subsets."""
    inboxes = session.scalars(sa.select(Inbox).order_by(Inbox.id)).all()
    for sign in ("__lt__", "__le__", "__gt__", "__ge__"):
        for value in ({2}, {1, 2, -3}, set()):
            statement = sa.update(Inbox).where(getattr(Inbox.read, sign)(value))
            session.execute(sa.update(Inbox).values(name="no"))
            session.execute(statement.values(name="yes"))
            rows = session.scalars(sa.select(sa.column("name")).select_from(Inbox.__table__).order_by(Inbox.id))
            assert [inbox.name for inbox in inboxes] == rows.all()


def test_ids_of_a_set_by_the_index(engine, session):
    """Messages that are in a set: the comparison of the set with a column of ids."""
    session.execute(sa.insert(Inbox), [{"id": i, "name": "", "read": {i, 2 * i}} for i in range(100, 5100)])
    session.execute(sa.text(f"ANALYZE {Inbox.__tablename__}"))
    theirs = sa.select(Inbox.read).where(Inbox.id == 105).scalar_subquery()
    found = sa.select(Inbox.id).where(Inbox.id.op("<@")(theirs))
    assert sorted(session.scalars(found)) == [105, 210]
    text = str(found.compile(session.connection(), compile_kwargs={"literal_binds": True}))
    assert "Roaring64 Lookup" in "".join(session.scalars(sa.text("EXPLAIN " + text)))
    given = sa.literal({105, 210}, Roaring64)
    assert sorted(session.scalars(sa.select(Inbox.id).where(given.contains(Inbox.id)))) == [105, 210]
    session.rollback()


def test_arrays_of_sets_unregistered(session):
    """psycopg and psycopg2 give their text, which is no set."""
    with pytest.raises(ValueError, match="for an array of sets, register the connection"):
        session.scalar(sa.select(sa.func.array_agg(Inbox.read, type_=ARRAY(Roaring64))))
    ids = sa.cast(Inbox.read, ARRAY(sa.BigInteger))
    assert session.scalar(sa.select(sa.func.to_json(ids)).where(Inbox.id == 1)) == [-3, 1, 2]


def test_write_of_another_column_keeps_the_set(engine):
    with orm.Session(engine) as one, orm.Session(engine) as two:
        first = one.get(Inbox, 1)
        two.execute(sa.update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(5)))
        two.commit()
        first.name = "first"
        one.commit()
        assert roaring64.ids(first.read) == [-3, 1, 2, 5]


def test_inherited_mapping(engine):
    """The events of a mapping are those of its subclasses too."""
    with orm.Session(engine) as session:
        special = session.get(Special, 1)
        special.read = {*special.read, 5}
        assert type(special.read) is roaring64.Bitmap
        session.execute(sa.update(Special).where(Special.id == 1).values(starred={5}))
        assert type(special.starred) is roaring64.Bitmap
        session.commit()
        assert list(special.read) == [-3, 1, 2, 5]


def test_assigned_expression(session):
    inbox = session.get(Inbox, 1)
    inbox.read = Inbox.read.add(5)
    session.commit()
    assert roaring64.ids(inbox.read) == [-3, 1, 2, 5]


def test_reflection_and_ddl(engine, connection):
    reflected = sa.Table(Inbox.__tablename__, sa.MetaData(), autoload_with=engine)
    assert isinstance(reflected.c.read.type, Roaring64)
    indexes = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'sqlalchemy_inbox' ORDER BY indexname"
    ).fetchall()
    assert "gin (starred gin_roaring64_ops (key=container))" in indexes[0][0]
    assert "gin (read)" in indexes[1][0]


def test_alembic_finds_no_difference(engine):
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "include_name": lambda name, type, parent: type != "table" or "sqlalchemy" in name,
            },
        )
        found = produce_migrations(context, Base.metadata)
        assert found.upgrade_ops.is_empty(), found.upgrade_ops.as_diffs()
        changed = sa.MetaData()
        sa.Table(Inbox.__tablename__, changed, sa.Column("id", sa.BigInteger, primary_key=True))
        assert not produce_migrations(context, changed).upgrade_ops.is_empty()


def test_with_registered_connections(engine):
    """The type takes what a registered driver reads, and arrays of sets need that."""
    if engine.driver != "psycopg":
        pytest.skip("one driver shows it")

    @sa.event.listens_for(engine, "connect")
    def connect(connection, _record):
        roaring64.psycopg.register(connection)

    engine.dispose()
    with orm.Session(engine) as session:
        assert session.get(Inbox, 1).read == set_of({1, 2, -3})
        arrays = sa.select(sa.func.array_agg(Inbox.read.op("|")(set_of([9]))).label("a"))
        assert len(session.scalar(arrays)) == 3
        typed = sa.select(sa.func.array_agg(Inbox.read, type_=ARRAY(Roaring64)))
        assert sorted(map(list, session.scalar(typed))) == [[], [-3, 1, 2], [-1, 2]]


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
def test_async(engine, run, driver):
    if engine.driver != "psycopg":
        pytest.skip("the engine only makes the table")

    async def use():
        engine = create_async_engine(f"postgresql+{driver}://")
        async with AsyncSession(engine) as one, AsyncSession(engine) as two:
            first, second = await one.get(Inbox, 1), await two.get(Inbox, 1)
            assert roaring64.ids(first.read) == [-3, 1, 2]
            assert (await one.scalars(sa.select(Inbox.name).where(Inbox.read.contains(1)))).all() == ["a"]
            first.read = first.read | {5}
            await one.commit()
            await two.refresh(second)
            second.read = second.read | {6}
            await two.commit()
            await one.execute(sa.update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(7)))
            await one.commit()
            await one.refresh(first)
            large = set_of(range(0, 3_000_000, 3))
            one.add(Inbox(id=8, starred=large))
            await one.commit()
            read = (await one.scalars(sa.select(Inbox.starred).where(Inbox.id == 8))).one()
            assert read == large
            await one.refresh(first)
            ids = roaring64.ids(first.read)
        await engine.dispose()
        return ids

    assert run(use()) == [-3, 1, 2, 5, 6, 7]
