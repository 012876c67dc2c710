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

from functools import wraps
from numbers import Integral
from types import SimpleNamespace
from typing import Any

from django.contrib.postgres import lookups
from django.core.exceptions import ValidationError
from django.db import connections, models, transaction
from django.db.models.functions import Cast, Coalesce
from django.db.models.query_utils import DeferredAttribute

from roaring64._catalog import Claim, Id, claim_with
from roaring64._values import Bitmap, bitmap, load, to_text


def claim(connection: Any, set: str, key: str, id: Id) -> Claim:
    """Claim an id of a dedup set, as roaring64.psycopg.claim() does.

    The connection is ``django.db.connection``, or one of ``connections``.
    """
    return claim_with(transaction.atomic(connection.alias), connection.cursor(), set, key, id)


class Roaring64Field(models.Field):
    """A set of bigint.  An object has it as a Bitmap.

    What is assigned is what save() writes.  What was not assigned since it was read, or
    written by a save() outside of a transaction, save() does not write into the row that
    it is from, so that what others have added meanwhile stays.

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

    def contribute_to_class(self, cls: type[models.Model], name: str, **kwargs: Any) -> None:
        """Add the field to a model, whose objects then note from which row its value is."""
        super().contribute_to_class(cls, name, **kwargs)
        if cls._meta.abstract:
            return
        self._row = f"_{name}_row"  # how often the value was set; database and key of its row
        setattr(cls, self._row, (0, None, None))
        from_db, refresh, save = cls.from_db.__func__, cls.refresh_from_db, cls.save_base

        # An override of these methods or a receiver of a signal may assign, too.
        @wraps(from_db)
        def note_read(model: Any, db: str, field_names: Any, *args: Any, **kwargs: Any) -> Any:
            made = from_db(model, db, field_names, *args, **kwargs)
            return self._note(made, int(name in field_names))

        @wraps(refresh)
        def note_refresh(instance: models.Model, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("fields"):
                kwargs["fields"] = [*kwargs["fields"]]
            reads = name in (kwargs.get("fields") or instance.__dict__)
            sets = getattr(instance, self._row)[0] + 1 if reads else None
            refresh(instance, *args, **kwargs)
            self._note(instance, sets)

        @wraps(save)
        def note_save(instance: Any, *args: Any, update_fields: Any = None, **kwargs: Any) -> None:
            # Django 6 sets what an expression has given.
            sets = getattr(instance, self._row)[0] + _is_expression(instance.__dict__.get(name))
            save(instance, *args, update_fields=update_fields, **kwargs)
            # A transaction may be rolled back, so that a save() in it counts for nothing.
            final = connections[instance._state.db].get_autocommit()
            self._note(instance, sets if final and name in (update_fields or [name]) else None)

        cls.from_db = classmethod(note_read)
        cls.refresh_from_db, cls.save_base = note_refresh, note_save

    def _note(self, instance: models.Model, sets: int | None) -> models.Model:
        """Note the row that the value is from, if it was set just so often."""
        if getattr(instance, self._row)[0] == sets:
            key = getattr(instance, self.model._meta.pk.attname)
            setattr(instance, self._row, (sets, instance._state.db, key))
        return instance

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001
        """Return what save() writes: the value, or the column itself in the row it is from."""
        value = super().pre_save(model_instance, add)
        _, alias, key = getattr(model_instance, self._row)
        same = key == getattr(model_instance, self.model._meta.pk.attname)
        if add or not same or _is_expression(value):
            return value

        def as_sql(_compiler: object, connection: Any) -> tuple[str, list[Any]]:
            if connection.alias == alias:
                return connection.ops.quote_name(self.column), []
            return "%s", [self.get_prep_value(value)]

        # It is no expression, as Django 6 would read its value after each save().
        return SimpleNamespace(as_sql=as_sql)

    class descriptor_class(DeferredAttribute):  # noqa: D106, N801
        # A set that the caller could change in place becomes one that cannot be changed.
        def __set__(self, instance: models.Model, value: Any) -> None:
            if value is not None and not _is_expression(value):
                value = bitmap(value)
            instance.__dict__[self.field.attname] = value
            sets, _, _ = getattr(instance, self.field._row)
            setattr(instance, self.field._row, (sets + 1, None, None))

        def fetch_many(self, instances: list[models.Model]) -> None:
            """Read the value of several objects: FETCH_PEERS of Django 6.1."""
            unread = [i for i in instances if self.field.attname not in i.__dict__]
            super().fetch_many(unread)
            for instance in unread:
                self.field._note(instance, getattr(instance, self.field._row)[0])


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
