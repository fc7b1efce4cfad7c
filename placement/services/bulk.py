"""One statement for a list of rows: where the ORM would need one for each, or cannot join an UPDATE with values.

PostgreSQL and SQLite (3.35 and later) read the same text. `{rows}` in it becomes `(%s, ...), (%s, ...)`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection

CHUNK = 500

Row = tuple[Any, ...]


def rows_run(template: str, rows: Sequence[Row], *, tail: str = "", has_result: bool = True) -> list[Row]:
    """Run the statement for all rows, CHUNK at a time; what it returns. `tail`: SQL that ends each row."""
    found: list[Row] = []
    with connection.cursor() as cursor:
        for chunk in chunks(rows):
            one = "(" + ", ".join(["%s"] * len(chunk[0])) + tail + ")"
            text = template.format(rows=", ".join([one] * len(chunk)))
            cursor.execute(text, [_plain(value) for row in chunk for value in row])
            found += cursor.fetchall() if has_result else []
    return found


def in_run(template: str, values: Collection[int] | Collection[str], *, has_result: bool = True) -> list[Row]:
    """Run a statement with `IN ({values})`, CHUNK values at a time; what it returns. Nothing runs for no values."""
    found: list[Row] = []
    if not values:
        return found
    with connection.cursor() as cursor:
        for chunk in chunks((value,) for value in values):
            cursor.execute(template.format(values=placeholders(chunk)), [value for (value,) in chunk])
            found += cursor.fetchall() if has_result else []
    return found


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Parts of CHUNK rows."""
    walk = iter(rows)
    while chunk := list(islice(walk, CHUNK)):
        yield chunk


def placeholders(values: Sequence[object]) -> str:
    """`%s, %s` for IN (...); NULL for none, which is in no list."""
    return ", ".join(["%s"] * len(values)) or "NULL"


def uuid_value(uuid: UUID) -> UUID | str:
    """The uuid as this database keeps it."""
    return uuid if connection.features.has_native_uuid_field else uuid.hex


def uuid_of(value: UUID | str) -> UUID:
    """The inverse of `uuid_value`."""
    return value if isinstance(value, UUID) else UUID(value)


def _plain(value: Any) -> Any:
    return uuid_value(value) if isinstance(value, UUID) else value
