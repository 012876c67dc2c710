"""roaring64 for SQLAlchemy 2, with psycopg, psycopg2 or asyncpg, which need not be registered.

    class Inbox(Base):
        read: Mapped[roaring64.Bitmap] = mapped_column(Roaring64, server_default="{}")

    session.execute(update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(5)))

A set that was read cannot be changed in place.  A set that is assigned to an
object whose set was read is sent as the difference between the two, so that
what others have added meanwhile stays.  The object's set is unknown then, and
read again when it is used; with asyncio, refresh() the object before.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, Callable, Union
from typing import cast as cast_type

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import Mapper
from sqlalchemy.types import UserDefinedType

from roaring64._catalog import CLAIM
from roaring64._values import Bitmap, Ids, bitmap, load, to_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

Operand = Union[int, Ids, sa.ColumnElement[Any]]
Set = sa.ColumnElement[Bitmap]

_CLAIM = sa.text(CLAIM.format(":set", ":key", ":id"))


class Roaring64(UserDefinedType[Bitmap]):
    """A set of bigint.

    An operand of its operators is an id, a set of ids, or an expression: a bigint,
    an int8range or a set.
    """

    cache_ok = True

    class Comparator(UserDefinedType.Comparator[Bitmap]):
        """The operators and functions of a column or an expression."""

        def contains(self, other: Operand, **_kwargs: Any) -> sa.ColumnElement[bool]:
            """Whether the set has an id, or all ids of a set."""
            return self._test("@>", other)

        def contained_by(self, other: Operand) -> sa.ColumnElement[bool]:
            """Whether all ids are in another set."""
            return self._test("<@", other)

        def overlaps(self, other: Operand) -> sa.ColumnElement[bool]:
            """Whether the set has any id of another one."""
            return self._test("&&", other)

        def __or__(self, other: Operand) -> Set:  # type: ignore[override,unused-ignore]
            """Return the union with an id or a set."""
            return _set(self.expr, "|", other)

        def __and__(self, other: Operand) -> Set:  # type: ignore[override,unused-ignore]
            """Return what is in both."""
            return _set(self.expr, "&", other)

        def __sub__(self, other: Operand) -> Set:
            """Return the set without an id or a set."""
            return _set(self.expr, "-", other)

        def add(self, other: Operand) -> Set:
            """Return the set with an id, or with all ids of a set; NULL counts as empty."""
            return _set(sa.func.coalesce(self.expr, _operand(())), "|", other)

        def cardinality(self) -> sa.ColumnElement[int]:
            """Return how many ids the set has."""
            return sa.func.roaring64_cardinality(self.expr, type_=sa.BigInteger)

        def or_agg(self) -> Set:
            """Return the union of the sets of all rows."""
            return sa.func.roaring64_or_agg(self.expr, type_=Roaring64)

        def and_agg(self) -> Set:
            """Return the intersection of the sets of all rows."""
            return sa.func.roaring64_and_agg(self.expr, type_=Roaring64)

        def _test(self, operator: str, other: Operand) -> sa.ColumnElement[bool]:
            return self.expr.bool_op(operator)(_operand(other))

    comparator_factory = Comparator

    def get_col_spec(self, **_kwargs: Any) -> str:
        """Return the type's name in DDL and casts."""
        return "roaring64"

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[Ids | None], bytes | None]:
        """Send a set as its bytes, which every driver sends without being registered."""
        return lambda value: None if value is None else bitmap(value).serialize()

    def bind_expression(self, bindvalue: sa.BindParameter[Bitmap]) -> Set:
        """Make a set of the bytes."""
        return sa.cast(sa.cast(bindvalue, sa.LargeBinary), Roaring64)

    def literal_processor(self, dialect: sa.Dialect) -> Callable[[Ids], str]:
        """Write a set into a statement that is compiled with literal_binds."""
        return lambda value: f"'{to_text(value)}'"

    def result_processor(
        self, dialect: sa.Dialect, coltype: object
    ) -> Callable[[Any], Bitmap | None]:
        """Read a set in whatever form the driver gives it."""
        return load


ischema_names["roaring64"] = Roaring64  # for reflection


def agg(ids: Any) -> Set:
    """Return the set of a column's ids: the aggregate roaring64_agg."""
    return sa.func.roaring64_agg(ids, type_=Roaring64)


@contextmanager
def claim(
    connection: sa.Connection | Session, set: str, key: str, id: int
) -> Iterator[bool | None]:
    """Claim an id of a dedup set, as roaring64.psycopg.claim() does.

    The block is a savepoint, within the transaction that the caller commits.
    """
    with connection.begin_nested():
        yield connection.scalar(_CLAIM, {"set": set, "key": key, "id": id})


@asynccontextmanager
async def claim_async(
    connection: AsyncConnection | AsyncSession, set: str, key: str, id: int
) -> AsyncIterator[bool | None]:
    """Do the same as claim() for an asynchronous connection or session."""
    async with connection.begin_nested():
        yield await connection.scalar(_CLAIM, {"set": set, "key": key, "id": id})


def _set(left: sa.ColumnElement[Any], operator: str, right: Operand) -> Set:
    return left.op(operator, return_type=Roaring64())(_operand(right))


def _is_expression(value: object) -> bool:
    return isinstance(value, sa.ColumnElement) or hasattr(value, "__clause_element__")


def _operand(value: Any) -> Any:
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if _is_expression(value) or isinstance(value, sa.Select):
        return value
    if isinstance(value, Integral):
        bitmap([cast_type("int", value)])  # is it an id?
        return sa.cast(sa.literal(value, sa.BigInteger), sa.BigInteger)
    return sa.literal(bitmap(value), Roaring64())


# A set that is assigned to an object, which the caller could change afterwards
# without the session's noticing, becomes one that cannot be changed.
def _freeze(_target: object, value: Any, _old: object, _initiator: object) -> Any:
    return value if value is None or _is_expression(value) else bitmap(value)


# Instead of a set that was made of what the object had, send how they differ.
def _send_difference(mapper: Mapper[Any], _connection: sa.Connection, target: object) -> None:
    for key in _keys(mapper):
        history = sa.inspect(target).attrs[key].history
        if history.deleted and history.added and isinstance(history.added[0], Bitmap):
            old, new = history.deleted[0] or Bitmap(), history.added[0]
            setattr(target, key, getattr(mapper.class_, key).add(new - old) - (old - new))


def _keys(mapper: Mapper[Any]) -> list[str]:
    return [p.key for p in mapper.column_attrs if isinstance(p.columns[0].type, Roaring64)]


@sa.event.listens_for(Mapper, "mapper_configured")
def _track(mapper: Mapper[Any], class_: type[Any]) -> None:
    for key in _keys(mapper):
        sa.event.listen(getattr(class_, key), "set", _freeze, retval=True)
    if _keys(mapper):
        sa.event.listen(mapper, "before_update", _send_difference)
