"""
example.py
	roaring64 with Python: SQLAlchemy, psycopg 3 and pyroaring.

Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
CREATE EXTENSION roaring64 to have been done.

A BitMap64 is unsigned where SQL is signed: -1 there is 2**64 - 1 here.
"""
from pyroaring import BitMap64
from sqlalchemy import (ARRAY, BigInteger, LargeBinary, MetaData, Table, Text, cast, create_engine,
                        insert, literal, select, type_coerce)
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import UserDefinedType


class Roaring64(UserDefinedType):
    """A column that is a BitMap64; has() is the operator @> with an id."""

    cache_ok = True

    class comparator_factory(UserDefinedType.Comparator):
        def has(self, id):
            return self.op("@>", is_comparison=True)(cast(id, BigInteger))

    def get_col_spec(self, **kw):
        return "roaring64"

    def bind_processor(self, dialect):
        return lambda value: value if value is None else value.serialize()

    def bind_expression(self, bindvalue):
        return cast(cast(bindvalue, LargeBinary), Roaring64)

    def column_expression(self, column):
        return type_coerce(cast(column, LargeBinary), Roaring64)

    def result_processor(self, dialect, coltype):
        return lambda data: data if data is None else BitMap64.deserialize(bytes(data))


ischema_names["roaring64"] = Roaring64      # for reflection


class Base(DeclarativeBase):
    pass


class Reader(Base):
    __tablename__ = "readers"
    __table_args__ = {"prefixes": ["TEMPORARY"]}
    id: Mapped[int] = mapped_column(primary_key=True)
    read: Mapped[BitMap64] = mapped_column(Roaring64)


with create_engine("postgresql+psycopg://").connect() as connection:
    Base.metadata.create_all(connection)
    session = Session(connection)
    readers = Reader.__table__

    # As text: what psql shows.
    connection.execute(insert(readers).values(id=1, read=cast(literal("{1,2,3}", Text), Roaring64)))
    assert session.scalar(select(cast(Reader.read, Text)).where(Reader.id == 1)) == "{1,2,3}"
    print("ok - text")

    # An array parameter, and an element.
    ids = ARRAY(BigInteger)
    connection.execute(insert(readers).values(id=2, read=cast(literal([10, 2, 10, -1], ids), Roaring64)))
    array, has_10 = session.execute(
        select(cast(Reader.read, ids), Reader.read.has(10)).where(Reader.id == 2)).one()
    assert array == [-1, 2, 10] and has_10
    print("ok - array")

    # As bytes: the portable format, which other programs read and write too.
    data = session.scalar(select(cast(Reader.read, LargeBinary)).where(Reader.id == 2))
    connection.execute(insert(readers).values(id=3, read=cast(literal(data, LargeBinary), Roaring64)))
    assert session.scalar(select(Reader.read).where(Reader.id == 3)) == BitMap64([2, 10, 2**64 - 1])
    print("ok - bytes")

    # As BitMap64: of mapped objects, in expressions, and in a reflected table.
    million = BitMap64(range(0, 2_000_000, 2))
    session.add(Reader(id=4, read=million))
    session.flush()
    session.expire_all()
    assert session.get(Reader, 4).read == million
    union = select(Reader.read.op("|")(BitMap64([7]))).where(Reader.id == 1)
    assert session.scalar(union) == BitMap64([1, 2, 3, 7])
    reflected = Table("readers", MetaData(), autoload_with=connection)
    assert isinstance(reflected.c.read.type, Roaring64)
    print("ok - own type")
