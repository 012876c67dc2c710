"""roaring64 for SQLAlchemy 2, with psycopg, psycopg2 or asyncpg, which need not be registered.

    class Inbox(Base):
        read: Mapped[roaring64.Bitmap] = mapped_column(Roaring64, server_default="{}")

    session.execute(update(Inbox).where(Inbox.id == 1).values(read=Inbox.read.add(5)))

A set is immutable: assign another one, which is written as it is, or have the statement
add and remove ids, as above, so that what others have added meanwhile stays.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, Callable, Union

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

from roaring64._values import Bitmap, Ids, bitmap, load, to_text

Operand = Union[int, Ids, sa.ColumnElement[Any]]
Set = sa.ColumnElement[Bitmap]


def _operator(sign: str, result: Any = None) -> Callable[..., Any]:
    def operator(self: Any, other: Operand, **_kwargs: Any) -> Any:
        return self.expr.op(sign, return_type=result or Roaring64())(_operand(other))

    return operator


_test = partial(_operator, result=sa.Boolean())


def _function(name: str, result: Any = None) -> Callable[[Any], Any]:
    return lambda self: sa.Function(name, self.expr, type_=result or Roaring64())


class Roaring64(UserDefinedType[Bitmap]):
    """A set of bigint.

    An operand of its operators is an id, a set of ids, or an expression: a bigint,
    an int8range or a set.
    """

    cache_ok = True

    class Comparator(UserDefinedType.Comparator[Bitmap]):
        """The operators and functions of a column or an expression.

        ``contains`` is true if the set has an id, or all ids of a set, ``contained_by`` if all ids
        are in another set, ``overlaps`` if any id is.  ``cardinality()`` is how many ids there
        are, ``or_agg()`` and ``and_agg()`` are the union and intersection of all rows.
        """

        contains, contained_by, overlaps = map(_test, ("@>", "<@", "&&"))
        # The server's order, which a session must not find in Python, where it is that of subsets.
        __lt__, __le__, __gt__, __ge__ = map(_test, ("<", "<=", ">", ">="))
        __or__, __and__, __sub__ = map(_operator, ("|", "&", "-"))

        def add(self, other: Operand) -> Set:
            """Return the set with an id, or with all ids of a set; NULL counts as empty."""
            present: Set = sa.func.coalesce(self.expr, _operand(()), type_=Roaring64)
            return present | other  # type: ignore[return-value]

        cardinality = _function("roaring64_cardinality", sa.BigInteger())
        or_agg, and_agg = _function("roaring64_or_agg"), _function("roaring64_and_agg")

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

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any]:
        """Read a set in whatever form the driver gives it."""
        return load


ischema_names["roaring64"] = Roaring64  # for reflection


def agg(ids: Any) -> Set:
    """Return the set of a column's ids: the aggregate roaring64_agg."""
    return sa.func.roaring64_agg(ids, type_=Roaring64)


def _is_expression(value: object) -> bool:
    return isinstance(value, sa.ColumnElement) or hasattr(value, "__clause_element__")


def _operand(value: Any) -> Any:
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if _is_expression(value) or isinstance(value, sa.Select):
        return value
    if isinstance(value, Integral):
        bitmap([value])  # type: ignore[list-item] # is it an id?
        return sa.cast(sa.literal(value, sa.BigInteger), sa.BigInteger)
    return sa.literal(bitmap(value), Roaring64())


# A set that the caller could change in place, without the session's noticing, becomes a Bitmap:
# one that is assigned, and what an UPDATE or a default leaves in the objects of the session.
@sa.event.listens_for(orm.Mapper, "mapper_configured")
def _freeze(mapper: orm.Mapper[Any], class_: type[Any]) -> None:
    def assigned(_target: object, value: Any, *_args: object) -> Any:
        return value if value is None or _is_expression(value) else bitmap(value)

    def refreshed(target: object, *_args: object) -> None:
        values = sa.inspect(target).dict
        values.update({key: assigned(target, values[key]) for key in keys if key in values})

    keys = [p.key for p in mapper.column_attrs if isinstance(p.columns[0].type, Roaring64)]
    for key in keys:
        sa.event.listen(getattr(class_, key), "set", assigned, retval=True)
    if keys:
        sa.event.listen(class_, "refresh", refreshed)
        sa.event.listen(class_, "refresh_flush", refreshed)
