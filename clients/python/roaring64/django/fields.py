"""The field, and how its value is sent when an object is saved."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.query_utils import DeferredAttribute
from pyroaring import FrozenBitMap64

from roaring64._values import bitmap, from_text, load, to_text

_EMPTY = FrozenBitMap64()


class Roaring64Field(models.Field):
    """A set of bigint.  An object has it as a FrozenBitMap64.

    save() of an object that was read does not write the set but what has changed
    since: it adds and removes ids, so that what others have added meanwhile stays.
    update() and bulk_update() write what they are given.

    The field is not editable: a form would hold all ids, and write them back.
    """

    description = "A set of bigint"
    empty_strings_allowed = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Return what a migration repeats."""
        name, _path, args, kwargs = super().deconstruct()
        del kwargs["editable"]
        return name, "roaring64.django.Roaring64Field", args, kwargs

    def db_type(self, connection: object) -> str:  # noqa: ARG002
        """Return the type's name in DDL and casts."""
        return "roaring64"

    def from_db_value(self, value: Any, *_args: object) -> FrozenBitMap64 | None:  # noqa: ANN401
        """Read a set in whatever form the driver gives it."""
        return load(value)

    def to_python(self, value: Any) -> FrozenBitMap64 | None:  # noqa: ANN401
        """Return the set of ids, or of the text that value_to_string() gives."""
        try:
            if value is None:
                return None
            return from_text(value) if isinstance(value, str) else bitmap(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(str(error), code="invalid") from error

    def get_prep_value(self, value: Any) -> Any:  # noqa: ANN401
        """Send a set as text, whose type PostgreSQL takes from the column."""
        value = super().get_prep_value(value)
        return value if value is None or hasattr(value, "resolve_expression") else to_text(value)

    def value_to_string(self, obj: models.Model) -> str | None:
        """Return the text of the set for a fixture."""
        value = self.value_from_object(obj)
        return None if value is None else to_text(value)

    def contribute_to_class(self, cls: type[models.Model], name: str, **kwargs: Any) -> None:  # noqa: ANN401
        """Add the field to a model, and the memory of what was read to its objects."""
        super().contribute_to_class(cls, name, **kwargs)
        attribute, memory, refresh = self.attname, self._memory, cls.refresh_from_db

        @wraps(refresh)
        def refresh_from_db(instance: models.Model, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
            before = instance.__dict__.get(attribute)
            refresh(instance, *args, **kwargs)
            after = instance.__dict__.get(attribute)
            if after is not before:
                instance.__dict__[memory] = after

        cls.refresh_from_db = refresh_from_db

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: ANN401, FBT001
        """Return what save() writes."""
        value = super().pre_save(model_instance, add)
        state = model_instance.__dict__
        if add:
            state[self._memory] = value
        if model_instance._state.adding or self._memory not in state:  # noqa: SLF001
            return value
        before = state[self._memory]
        if value is None and before is None:
            value = before = _EMPTY
        if not isinstance(value, FrozenBitMap64):
            return value
        if not isinstance(before, FrozenBitMap64):
            before = _EMPTY
        return _Difference(self.column, value - before, before - value)

    @property
    def _memory(self) -> str:
        return f"_{self.attname}_as_read"

    class descriptor_class(DeferredAttribute):  # noqa: D106, N801
        # A set that the caller could change in place becomes one that cannot be
        # changed.  While the object is made, it is what was read.
        def __set__(self, instance: models.Model, value: Any) -> None:  # noqa: ANN401
            if value is not None and not hasattr(value, "resolve_expression"):
                value = bitmap(value)
            instance.__dict__[self.field.attname] = value
            if instance._state.adding:  # noqa: SLF001
                instance.__dict__[self.field._memory] = value  # noqa: SLF001


class _Difference:
    """The column with some ids added and others removed, as the value of an UPDATE.

    It is no expression, as Django 6 would read its value after each save().
    """

    def __init__(self, column: str, added: FrozenBitMap64, removed: FrozenBitMap64) -> None:
        self._column = column
        self._added = added
        self._removed = removed

    def as_sql(self, _compiler: object, connection: Any) -> tuple[str, list[str]]:  # noqa: ANN401
        sql = connection.ops.quote_name(self._column)
        params = []
        if self._added:
            sql = f"coalesce({sql}, '{{}}') | %s::roaring64"
            params.append(to_text(self._added))
        if self._removed:
            sql = f"({sql}) - %s::roaring64"
            params.append(to_text(self._removed))
        return sql, params
