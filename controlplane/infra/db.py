"""What every app needs of the database: its clock, transactions that are retried, statements for many rows.

Leases compare with the database's clock and with no other.
"""

import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.db import OperationalError, connection, connections, transaction
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Model, QuerySet, Value
from django.db.models.functions import Now

T = TypeVar("T")
M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]

CHUNK = 500
"""The maximum number of rows in one statement."""
ATTEMPTS = 5
SERIALIZATION_FAILURE, DEADLOCK_DETECTED = "40001", "40P01"


def now_plus(seconds: float) -> "ExpressionWrapper[Any]":
    """Return an expression for the database's now, `seconds` later (or earlier, when negative)."""
    delta = Value(timedelta(seconds=seconds), output_field=DurationField())
    return ExpressionWrapper(Now() + delta, output_field=DateTimeField())


def now_sql() -> str:
    """Return the same clock for statements written in SQL, with `%` doubled, in the form that Django stores."""
    is_postgres = connection.vendor == "postgresql"
    return "statement_timestamp()" if is_postgres else "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"


def db_now(using: str = "default") -> datetime:
    """Read the database's now, in one query."""
    connection = connections[using]
    sql = "SELECT now()" if connection.vendor == "postgresql" else "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        (value,) = cursor.fetchone()
    return db_time(value)


def db_time(value: datetime | str) -> datetime:
    """A time as a statement written in SQL gets it from this database."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)


def later_sql() -> str:
    """Return SQL as `now_sql` does, later by as many seconds as its one parameter says: `later_value` makes that."""
    if connection.vendor == "postgresql":
        return "(statement_timestamp() + make_interval(secs => %s))"
    return "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s)"


def later_value(seconds: float) -> float | str:
    """Return the parameter of `later_sql`; negative seconds are earlier."""
    return seconds if connection.vendor == "postgresql" else f"{seconds:+f} seconds"


def uuid_value(value: UUID | str) -> UUID | str:
    """Return the uuid as this database stores it, for statements written in SQL."""
    found = value if isinstance(value, UUID) else UUID(value)
    return found if connection.features.has_native_uuid_field else found.hex


def in_transaction(work: Callable[[], T]) -> T:
    """Run `work` in one transaction and return its result.

    After a serialization failure or a deadlock (PostgreSQL), or a busy file (SQLite), the work is retried, ATTEMPTS
    times in all. Inside a transaction of the caller there is no retry: that whole transaction is lost, and its owner
    must repeat it.
    """
    attempts = 1 if connection.in_atomic_block else ATTEMPTS
    for attempt in range(1, attempts):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            if not _is_transient(error):
                raise
            time.sleep(random.uniform(0.5, 1.5) * 0.01 * 2**attempt)  # noqa: S311 - only spreads the retries
    with transaction.atomic():
        return work()


def _is_transient(error: OperationalError) -> bool:
    code = getattr(error.__cause__, "pgcode", None)
    return code in {SERIALIZATION_FAILURE, DEADLOCK_DETECTED} or "database is locked" in str(error)


def rows_run(
    template: str, rows: Sequence[Row], *, types: Sequence[str], tail: str = "", has_result: bool = True
) -> list[Row]:
    """Run one statement for a list of rows and return what it returns.

    It serves where the ORM would need a statement for each row, or cannot join an UPDATE with values. `{rows}` in it
    becomes a query of the rows in their order; `tail` is SQL that ends each row. On PostgreSQL they are read from one
    array for each column, of these `types`, which takes half the time of a list of VALUES. SQLite (3.35 and later)
    reads such lists, CHUNK rows at a time.
    """
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"%s::{each}[]" for each in types)
        columns = zip(*rows, strict=True)
        values = [_array(column, kind) for column, kind in zip(columns, types, strict=True)] if rows else []
        runs = [(f"SELECT *{tail} FROM unnest({arrays})", values)] if rows else []  # noqa: S608 - types are constants
    else:
        one = "(" + ", ".join(["%s"] * len(types)) + tail + ")"
        runs = [
            ("VALUES " + ", ".join([one] * len(chunk)), [_plain(value) for row in chunk for value in row])
            for chunk in chunks(rows)
        ]
    found: list[Row] = []
    with connection.cursor() as cursor:
        for text, parameters in runs:
            cursor.execute(template.format(rows=text), parameters)
            found += cursor.fetchall() if has_result else []
    return found


def _array(column: Sequence[Any], kind: str) -> list[Any] | str:
    """The column as a parameter. Numbers and uuids, never NULL here, need no quotes: as text they are cheaper."""
    if kind in ("bigint", "uuid"):
        return "{" + ",".join(map(str, column)) + "}"
    return [str(value) if isinstance(value, UUID) else value for value in column]


def in_run(template: str, values: Collection[int] | Collection[str], *, has_result: bool = True) -> list[Row]:
    """Run a statement with `IN ({values})`, CHUNK values at a time, and return its rows. No values: nothing runs."""
    found: list[Row] = []
    if not values:
        return found
    with connection.cursor() as cursor:
        for chunk in chunks((value,) for value in values):
            cursor.execute(template.format(values=placeholders(chunk)), [value for (value,) in chunk])
            found += cursor.fetchall() if has_result else []
    return found


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Split the rows into lists of CHUNK rows; the last may be shorter."""
    walk = iter(rows)
    while chunk := list(islice(walk, CHUNK)):
        yield chunk


def pages_by_key(rows: QuerySet[M], size: int = 1000) -> Iterator[list[M]]:
    """Yield all rows in the order of their primary key, `size` at a time: memory stays small however many there are.

    Each page is a statement of its own: rows that come or go meanwhile may be seen or not.
    """
    page = list(rows.order_by("pk")[:size])
    while page:
        yield page
        page = list(rows.filter(pk__gt=page[-1].pk).order_by("pk")[:size]) if len(page) == size else []


def placeholders(values: Sequence[object]) -> str:
    """Return `%s, %s` for IN (...). For no values it is NULL, which equals nothing."""
    return ", ".join(["%s"] * len(values)) or "NULL"


def one_of(values: Collection[UUID] | Collection[int], kind: str) -> tuple[str, list[Any]]:
    """Return SQL that follows a column of this type, true where it is one of the values, and its parameters.

    On PostgreSQL they are one array: a thousand parameters of a list take the driver and the parser 5 ms.
    """
    if connection.vendor == "postgresql":
        return f"= ANY(%s::{kind}[])", [_array([*values], kind)]
    found = [_plain(value) for value in values]
    return f"IN ({placeholders(found)})", found


def uuid_of(value: UUID | str) -> UUID:
    """Return the uuid that the database gave: the inverse of `uuid_value`."""
    return value if isinstance(value, UUID) else UUID(value)


def _plain(value: Any) -> Any:
    return uuid_value(value) if isinstance(value, UUID) else value
