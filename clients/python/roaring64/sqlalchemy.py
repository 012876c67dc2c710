"""roaring64 for SQLAlchemy 2, with psycopg, psycopg2 or asyncpg, which need not be registered.

    class Inbox(Base):
        read: Mapped[FrozenBitMap64] = mapped_column(Roaring64, server_default="{}")

    session.execute(update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(5)))

A set that was read cannot be changed in place.  A set that is assigned to an
object whose set was read is sent as the difference between the two, so that
what others have added meanwhile stays.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union
from typing import cast as cast_type

from pyroaring import FrozenBitMap64
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    LargeBinary,
    Select,
    Text,
    cast,
    event,
    func,
    inspect,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import Mapper
from sqlalchemy.types import TypeEngine, UserDefinedType

from roaring64._values import Ids, bitmap, load, to_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sqlalchemy import BindParameter, Connection, Dialect
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

Operand = Union[int, Ids, ColumnElement[Any]]
Set = ColumnElement[FrozenBitMap64]
_T = TypeVar("_T")


class Roaring64(UserDefinedType[FrozenBitMap64]):
    """A set of bigint.

    An operand of its operators is an id, a set of ids, or an expression: a bigint,
    an int8range or a set.
    """

    cache_ok = True

    class Comparator(UserDefinedType.Comparator[FrozenBitMap64]):
        """The operators and functions of a column or an expression."""

        def contains(self, other: Operand, **_kwargs: Any) -> ColumnElement[bool]:  # noqa: ANN401
            """Whether the set has an id, or all ids of a set."""
            return self._test("@>", other)

        def contained_by(self, other: Operand) -> ColumnElement[bool]:
            """Whether all ids are in another set."""
            return self._test("<@", other)

        def overlaps(self, other: Operand) -> ColumnElement[bool]:
            """Whether the set has any id of another one."""
            return self._test("&&", other)

        def __or__(self, other: Operand) -> Set:  # type: ignore[override,unused-ignore]
            """Return the union with an id or a set."""
            return self._set("|", other)

        def __and__(self, other: Operand) -> Set:  # type: ignore[override,unused-ignore]
            """Return what is in both."""
            return self._set("&", other)

        def __sub__(self, other: Operand) -> Set:
            """Return the set without an id or a set."""
            return self._set("-", other)

        def add(self, other: Operand) -> Set:
            """Return the set with an id, or with all ids of a set; NULL counts as empty."""
            return _infix(func.coalesce(self.expr, _operand(())), "|", other, Roaring64())

        def remove(self, other: Operand) -> Set:
            """Return the set without an id, or without the ids of a set."""
            return self - other

        def cardinality(self) -> ColumnElement[int]:
            """Return how many ids the set has."""
            return func.roaring64_cardinality(self.expr, type_=BigInteger)

        def min(self) -> ColumnElement[int]:
            """Return the smallest id."""
            return func.roaring64_min(self.expr, type_=BigInteger)

        def max(self) -> ColumnElement[int]:
            """Return the largest id."""
            return func.roaring64_max(self.expr, type_=BigInteger)

        def or_agg(self) -> Set:
            """Return the union of the sets of all rows."""
            return func.roaring64_or_agg(self.expr, type_=Roaring64)

        def and_agg(self) -> Set:
            """Return the intersection of the sets of all rows."""
            return func.roaring64_and_agg(self.expr, type_=Roaring64)

        def _test(self, operator: str, other: Operand) -> ColumnElement[bool]:
            return _infix(self.expr, operator, other, Boolean())

        def _set(self, operator: str, other: Operand) -> Set:
            return _infix(self.expr, operator, other, Roaring64())

    comparator_factory = Comparator

    @property
    def python_type(self) -> type[FrozenBitMap64]:
        """The type of values that are read."""
        return FrozenBitMap64

    def get_col_spec(self, **_kwargs: Any) -> str:  # noqa: ANN401
        """Return the type's name in DDL and casts."""
        return "roaring64"

    def bind_processor(self, dialect: Dialect) -> Callable[[Ids | None], bytes | None]:  # noqa: ARG002
        """Send a set as its bytes, which every driver sends without being registered."""
        return lambda value: None if value is None else bitmap(value).serialize()

    def bind_expression(self, bindvalue: BindParameter[FrozenBitMap64]) -> Set:
        """Make a set of the bytes."""
        return cast(cast(bindvalue, LargeBinary), Roaring64)

    def literal_processor(self, dialect: Dialect) -> Callable[[Ids], str]:  # noqa: ARG002
        """Write a set into a statement that is compiled with literal_binds."""
        return lambda value: f"'{to_text(value)}'"

    def result_processor(
        self,
        dialect: Dialect,  # noqa: ARG002
        coltype: object,  # noqa: ARG002
    ) -> Callable[[Any], FrozenBitMap64 | None]:
        """Read a set in whatever form the driver gives it."""
        return load


ischema_names["roaring64"] = Roaring64  # for reflection


def agg(ids: Any) -> Set:  # noqa: ANN401
    """Return the set of a column's ids: the aggregate roaring64_agg."""
    return func.roaring64_agg(ids, type_=Roaring64)


@contextmanager
def claim(connection: Connection | Session, set: str, key: str, id: int) -> Iterator[bool | None]:
    """Claim an id of a dedup set; what the block does rolls back with it.

    The block is a savepoint, within the transaction that the caller commits.
    Gives True if the id is new, False if it is a duplicate, and None if it is too
    old to tell.
    """
    with connection.begin_nested():
        yield connection.scalar(_claim(set, key, id))


@asynccontextmanager
async def claim_async(
    connection: AsyncConnection | AsyncSession, set: str, key: str, id: int
) -> AsyncIterator[bool | None]:
    """Do the same as claim() for an asynchronous connection or session."""
    async with connection.begin_nested():
        yield await connection.scalar(_claim(set, key, id))


def _claim(set: str, key: str, id: int) -> Select[Any]:
    name = cast(literal(set, Text), REGCLASS)
    return select(func.roaring64_dedup_claim(name, literal(key, Text), _operand(id), type_=Boolean))


def _infix(
    left: ColumnElement[Any], operator: str, right: Operand, type: TypeEngine[_T]
) -> ColumnElement[_T]:
    test = isinstance(type, Boolean)
    result = left.op(operator, is_comparison=test, return_type=type)(_operand(right))
    return cast_type("ColumnElement[_T]", result)


def _is_expression(value: object) -> bool:
    return isinstance(value, ColumnElement) or hasattr(value, "__clause_element__")


def _operand(value: Any) -> Any:  # noqa: ANN401
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if _is_expression(value) or isinstance(value, Select):
        return value
    if isinstance(value, Integral):
        bitmap([cast_type("int", value)])  # is it an id?
        return cast(literal(value, BigInteger), BigInteger)
    return literal(bitmap(value), Roaring64())


# A set that is assigned to an object, which the caller could change afterwards
# without the session's noticing, becomes one that cannot be changed.
def _freeze(_target: object, value: Any, _old: object, _initiator: object) -> Any:  # noqa: ANN401
    return value if value is None or _is_expression(value) else bitmap(value)


# Instead of a set that was made of what the object had, send how they differ.
def _send_difference(mapper: Mapper[Any], _connection: Connection, target: object) -> None:
    for key in _keys(mapper):
        history = inspect(target).attrs[key].history
        if history.deleted and history.added and isinstance(history.added[0], FrozenBitMap64):
            old, new = history.deleted[0] or FrozenBitMap64(), history.added[0]
            setattr(target, key, getattr(mapper.class_, key).add(new - old) - (old - new))


def _keys(mapper: Mapper[Any]) -> list[str]:
    return [p.key for p in mapper.column_attrs if isinstance(p.columns[0].type, Roaring64)]


@event.listens_for(Mapper, "mapper_configured")
def _track(mapper: Mapper[Any], class_: type[Any]) -> None:
    for key in _keys(mapper):
        event.listen(getattr(class_, key), "set", _freeze, retval=True)
    if _keys(mapper):
        event.listen(mapper, "before_update", _send_difference)
