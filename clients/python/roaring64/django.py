"""roaring64 for Django 4.2 and newer, with psycopg or psycopg2.

class Inbox(models.Model):
    read = Roaring64Field(default=())

Inbox.objects.filter(id=1).update(read=Add("read", 5))
Inbox.objects.filter(read__contains=5)

The lookups are ``contains`` (an id, or all ids of a set), ``contained_by`` (all ids are
in another set), ``overlap`` (any id is) and ``cardinality``.  An operand of a function
or lookup is the name of a field, an expression, an id, or a set of ids.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

from django.contrib.postgres import lookups
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models.functions import Cast, Coalesce
from django.db.models.query_utils import DeferredAttribute

from roaring64._catalog import CLAIM
from roaring64._values import Bitmap, bitmap, from_text, load, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_EMPTY = Bitmap()


@contextmanager
def claim(connection: Any, set: str, key: str, id: int) -> Iterator[bool | None]:
    """Claim an id of a dedup set, as roaring64.psycopg.claim() does.

    The connection is ``django.db.connection``, or one of ``connections``.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(CLAIM.format("%s", "%s", "%s"), [set, key, id])
        yield cursor.fetchone()[0]


class Roaring64Field(models.Field):
    """A set of bigint.  An object has it as a Bitmap.

    save() of an object that was read does not write the set but what has changed
    since: it adds and removes ids, so that what others have added meanwhile stays.
    update() and bulk_update() write what they are given.

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
            if value is None:
                return None
            return from_text(value) if isinstance(value, str) else bitmap(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(str(error), code="invalid") from error

    def get_prep_value(self, value: Any) -> Any:
        """Send a set as text, whose type PostgreSQL takes from the column."""
        value = super().get_prep_value(value)
        return value if value is None or hasattr(value, "resolve_expression") else to_text(value)

    def value_to_string(self, obj: models.Model) -> str | None:
        """Return the text of the set for a fixture."""
        value = self.value_from_object(obj)
        return None if value is None else to_text(value)

    def contribute_to_class(self, cls: type[models.Model], name: str, **kwargs: Any) -> None:
        """Add the field to a model, and the memory of what was read to its objects."""
        super().contribute_to_class(cls, name, **kwargs)
        attribute, memory, refresh = self.attname, self._memory, cls.refresh_from_db

        @wraps(refresh)
        def refresh_from_db(instance: models.Model, *args: Any, **kwargs: Any) -> None:
            before = instance.__dict__.get(attribute)
            refresh(instance, *args, **kwargs)
            after = instance.__dict__.get(attribute)
            if after is not before:
                instance.__dict__[memory] = after

        cls.refresh_from_db = refresh_from_db

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001
        """Return what save() writes."""
        value = super().pre_save(model_instance, add)
        state = model_instance.__dict__
        if add:
            state[self._memory] = value
        if model_instance._state.adding or self._memory not in state:  # noqa: SLF001
            return value
        before = state[self._memory]
        if value is before:
            value = before = _EMPTY
        if not isinstance(value, Bitmap):
            return value
        if not isinstance(before, Bitmap):
            before = _EMPTY
        return _Difference(self.column, value - before, before - value)

    @property
    def _memory(self) -> str:
        return f"_{self.attname}_as_read"

    class descriptor_class(DeferredAttribute):  # noqa: D106, N801
        # A set that the caller could change in place becomes one that cannot be
        # changed.  While the object is made, it is what was read.
        def __set__(self, instance: models.Model, value: Any) -> None:
            if value is not None and not hasattr(value, "resolve_expression"):
                value = bitmap(value)
            instance.__dict__[self.field.attname] = value
            if instance._state.adding:  # noqa: SLF001
                instance.__dict__[self.field._memory] = value  # noqa: SLF001


class _Difference:
    """The column with some ids added and others removed, as the value of an UPDATE.

    It is no expression, as Django 6 would read its value after each save().
    """

    def __init__(self, column: str, added: Bitmap, removed: Bitmap) -> None:
        self._column, self._added, self._removed = column, added, removed

    def as_sql(self, _compiler: object, connection: Any) -> tuple[str, list[str]]:
        sql = connection.ops.quote_name(self._column)
        params = []
        if self._added:
            sql = f"coalesce({sql}, '{{}}') | %s::roaring64"
            params.append(to_text(self._added))
        if self._removed:
            sql = f"({sql}) - %s::roaring64"
            params.append(to_text(self._removed))
        return sql, params


def _operand(value: Any) -> Any:
    """Return an operand with its type, as PostgreSQL would take an untyped one for a set."""
    if hasattr(value, "resolve_expression") or hasattr(value, "as_sql"):
        return value
    if isinstance(value, Integral):
        bitmap([cast("int", value)])  # is it an id?
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
