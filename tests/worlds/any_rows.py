"""Rows of any model, made of nothing but what its columns need: for tests that walk through all models.

Every row gets things of its own at the other end of its foreign keys, so that a query for each row shows.
"""

import datetime
import itertools
import uuid
from typing import Any

from django.db import models
from django.utils import timezone

_numbers = itertools.count(1)
DEEPEST = 3


def rows_make(model: type[models.Model], count: int) -> list[Any]:
    """So many rows, written past every service."""
    return [row_make(model) for _ in range(count)]


def row_make(model: type[models.Model], depth: int = 0) -> Any:
    """One row with all that it hangs on."""
    number = next(_numbers)
    values = {
        field.attname: value
        for field in model._meta.concrete_fields
        if (value := _value(model, field, number, depth)) is not None
    }
    return model._default_manager.bulk_create([model(**values)])[0]


def _value(model: type[models.Model], field: Any, number: int, depth: int) -> Any:
    if field.is_relation:
        return _other(model, field, depth)
    if isinstance(field, models.AutoField) or (
        field.has_default() and not field.unique and not _is_shown_as_text(field)
    ):
        return None
    if field.choices:
        return None if field.has_default() or field.null else field.choices[0][0]
    return _of_kind(field, number)


def _is_shown_as_text(field: Any) -> bool:
    """Texts and ids are filled even where they may be empty: those are what lists filter by and name."""
    return isinstance(field, models.CharField | models.UUIDField) and not field.choices


def _other(model: type[models.Model], field: Any, depth: int) -> Any:
    other = field.related_model
    if field.null and (depth >= 1 or other is model):
        return None
    if depth > DEEPEST:
        raise AssertionError(f"{model._meta.label}.{field.name}: the chain of foreign keys is too long.")
    return row_make(other, depth + 1).pk


def _of_kind(field: Any, number: int) -> Any:
    """A value that no other row has."""
    for kind, made in KINDS:
        if isinstance(field, kind):
            value = made(number)
            return value[: field.max_length] if isinstance(value, str) else value
    raise AssertionError(f"No value is known for {field}.")


KINDS: tuple[tuple[Any, Any], ...] = (
    (models.UUIDField, lambda _: uuid.uuid4()),
    (models.BooleanField, lambda _: False),
    (models.DateTimeField, lambda number: timezone.now() + datetime.timedelta(seconds=number)),
    (models.IntegerField, lambda number: number % 30_000),
    (models.FloatField, lambda _: 1.0),
    (models.BinaryField, lambda _: b"x"),
    (models.JSONField, lambda _: {}),
    (models.GenericIPAddressField, lambda number: f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"),
    (models.CharField | models.TextField, lambda number: f"x{number:x}"),
)
