"""roaring64 for Django 4.2 and newer, with psycopg or psycopg2.

class Inbox(models.Model):
    read = Roaring64Field(default=())

Inbox.objects.filter(id=1).update(read=Add("read", 5))
Inbox.objects.filter(read__contains=5)

The lookups are ``contains`` (an id, or all ids of a set), ``contained_by`` (all ids are in
another set), ``overlap`` (any id is) and ``cardinality``, and ``in_set`` of an integer.  An
operand is an expression, an id, or a set of ids; for a function, also the name of a field.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from django.contrib.postgres import lookups
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Cast, Coalesce
from django.db.models.query_utils import DeferredAttribute

from roaring64._values import Bitmap, bitmap, load, to_text


class Roaring64Field(models.Field):
    """A set of bigint.  An object has it as a Bitmap, which save() writes like any value.

    The field is not editable: a form would hold all ids, and write them back.
    """

    description = "A set of bigint"
    empty_strings_allowed = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def db_type(self, connection: object) -> str:
        """Return the type's name in DDL and casts."""
        return "roaring64"

    def from_db_value(self, value: Any, *_args: object) -> Bitmap | None:
        """Read a set in whatever form the driver gives it."""
        return load(value)

    def to_python(self, value: Any) -> Bitmap | None:
        """Return the set of ids, or of the text that value_to_string() gives."""
        try:
            return load(value) if value is None or isinstance(value, str) else bitmap(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(str(error), code="invalid") from error

    def get_prep_value(self, value: Any) -> Any:
        """Send a set as text, whose type PostgreSQL takes from the column."""
        value = super().get_prep_value(value)
        return value if value is None or _is_expression(value) else to_text(value)

    def value_to_string(self, obj: models.Model) -> Any:
        """Return the text of the set for a fixture."""
        return self.get_prep_value(self.value_from_object(obj))

    class descriptor_class(DeferredAttribute):  # noqa: D106, N801
        # A set that the caller could change in place becomes one that cannot be changed.
        def __set__(self, instance: models.Model, value: Any) -> None:
            if value is not None and not _is_expression(value):
                value = bitmap(value)
            instance.__dict__[self.field.attname] = value


def _is_expression(value: object) -> bool:
    return hasattr(value, "resolve_expression") or hasattr(value, "as_sql")


def _operand(value: Any) -> Any:
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if _is_expression(value):
        return value
    if isinstance(value, Integral):
        bitmap([value])  # type: ignore[list-item] # is it an id?
        return Cast(models.Value(value), models.BigIntegerField())
    return Cast(models.Value(bitmap(value), Roaring64Field()), Roaring64Field())


class _Operator(models.Func):
    arity = 2
    template = "(%(expressions)s)"
    output_field = Roaring64Field()

    def __init__(self, *operands: Any, **extra: Any) -> None:
        named = [models.F(value) if isinstance(value, str) else value for value in operands]
        super().__init__(*map(_operand, named), **extra)


class Add(_Operator):
    """The set with an id, or with all ids of a set; NULL counts as empty."""

    arg_joiner = " | "

    def __init__(self, set: Any, ids: Any, **extra: Any) -> None:
        super().__init__(Coalesce(set, _operand(())), ids, **extra)


class Remove(_Operator):
    """The set without an id, or without the ids of a set."""

    arg_joiner = " - "


class Intersect(_Operator):
    """The ids that are in both sets."""

    arg_joiner = " & "


@Roaring64Field.register_lookup
class Cardinality(models.Transform):
    """How many ids a set has: Cardinality("read"), or filter(read__cardinality__gt=5)."""

    lookup_name = "cardinality"
    function = "roaring64_cardinality"
    output_field = models.BigIntegerField()


class Agg(models.Aggregate):
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


class _Lookup(models.Lookup):
    def get_prep_lookup(self) -> Any:
        return _operand(self.rhs)


for _base in (lookups.DataContains, lookups.ContainedBy, lookups.Overlap):
    Roaring64Field.register_lookup(type(_base.__name__, (_Lookup, _base), {}))


@models.ForeignKey.register_lookup
@models.IntegerField.register_lookup
class InSet(_Lookup, lookups.ContainedBy):
    """Whether the id is in a set: filter(user_id__in_set=...), an index scan of the field."""

    lookup_name = "in_set"
