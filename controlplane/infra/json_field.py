"""A column of JSON that is read by orjson: a page of a thousand servers reads seven thousand of them."""

import re
from typing import Any

import orjson
from django.db import models

_LONG_NUMBER = re.compile(r"\d{19}").search
"""What may be no number of 64 bits: orjson would make a float of it."""


class JsonField(models.JSONField[Any, Any]):
    """Django's own in all else. Migrations know it by that name, as the column is the same."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """A text as JSON; what is none (a key read by SQLite, NaN) is Django's business."""
        if isinstance(value, str) and not _LONG_NUMBER(value):
            try:
                return orjson.loads(value)
            except orjson.JSONDecodeError:
                pass
        return super().from_db_value(value, expression, connection)

    def deconstruct(self) -> Any:
        """As a field of Django's."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs
