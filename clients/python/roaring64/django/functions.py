"""Functions, aggregates and lookups.

An operand is the name of a field, an expression, an id, or a set of ids.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, cast

from django.db.models import (
    Aggregate,
    BigIntegerField,
    BooleanField,
    F,
    Func,
    Lookup,
    Transform,
    Value,
)
from django.db.models.functions import Cast, Coalesce

from roaring64._values import bitmap
from roaring64.django.fields import Roaring64Field


def _operand(value: Any) -> Any:  # noqa: ANN401
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if hasattr(value, "resolve_expression") or hasattr(value, "as_sql"):
        return value
    if isinstance(value, Integral):
        bitmap([cast("int", value)])  # is it an id?
        return Cast(Value(value), BigIntegerField())
    return Cast(Value(bitmap(value), Roaring64Field()), Roaring64Field())


class _Operator(Func):
    template = "(%(expressions)s)"
    output_field = Roaring64Field()

    def __init__(self, *operands: Any, **extra: Any) -> None:  # noqa: ANN401
        named = [F(value) if isinstance(value, str) else value for value in operands]
        super().__init__(*map(_operand, named), **extra)


class Add(_Operator):
    """The set with an id, or with all ids of a set; NULL counts as empty."""

    arg_joiner = " | "
    arity = 2

    def __init__(self, set: Any, ids: Any, **extra: Any) -> None:  # noqa: ANN401
        super().__init__(Coalesce(set, _operand(())), ids, **extra)


class Remove(_Operator):
    """The set without an id, or without the ids of a set."""

    arg_joiner = " - "
    arity = 2


class Intersect(_Operator):
    """The ids that are in both sets."""

    arg_joiner = " & "
    arity = 2


@Roaring64Field.register_lookup
class Cardinality(Transform):
    """How many ids a set has: Cardinality("read"), or filter(read__cardinality__gt=5)."""

    lookup_name = "cardinality"
    function = "roaring64_cardinality"
    output_field = BigIntegerField()


class Agg(Aggregate):
    """The set of all rows' ids."""

    function = "roaring64_agg"
    name = "Agg"
    output_field = Roaring64Field()
    allow_distinct = False


class OrAgg(Agg):
    """The union of all rows' sets."""

    function = "roaring64_or_agg"
    name = "OrAgg"


class AndAgg(Agg):
    """The intersection of all rows' sets."""

    function = "roaring64_and_agg"
    name = "AndAgg"


class _Test(Lookup):
    output_field = BooleanField()
    operator: str

    def get_prep_lookup(self) -> Any:  # noqa: ANN401
        return _operand(self.rhs)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # noqa: ANN401
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"{left} {self.operator} {right}", [*left_params, *right_params]


@Roaring64Field.register_lookup
class Contains(_Test):
    """filter(read__contains=5): the set has an id, or all ids of a set."""

    lookup_name = "contains"
    operator = "@>"


@Roaring64Field.register_lookup
class ContainedBy(_Test):
    """filter(read__contained_by=ids): all ids of the set are in another one."""

    lookup_name = "contained_by"
    operator = "<@"


@Roaring64Field.register_lookup
class Overlap(_Test):
    """filter(read__overlap=ids): the set has any id of another one."""

    lookup_name = "overlap"
    operator = "&&"
