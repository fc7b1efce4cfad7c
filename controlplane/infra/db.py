"""The database's clock, in expressions and as a value. Leases compare with it and with no other clock."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, connections
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Value
from django.db.models.functions import Now


def now_plus(seconds: float) -> "ExpressionWrapper[Any]":
    """An expression: the database's now, `seconds` later (or earlier, when negative)."""
    delta = Value(timedelta(seconds=seconds), output_field=DurationField())
    return ExpressionWrapper(Now() + delta, output_field=DateTimeField())


def now_sql() -> str:
    """The same clock for statements written in SQL, with `%` doubled; in the form in which Django keeps times."""
    is_postgres = connection.vendor == "postgresql"
    return "statement_timestamp()" if is_postgres else "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"


def db_now(using: str = "default") -> datetime:
    """The database's now, as a value. One query."""
    connection = connections[using]
    sql = "SELECT now()" if connection.vendor == "postgresql" else "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        (value,) = cursor.fetchone()
    return value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)


def later_sql() -> str:
    """As `now_sql`, by as many seconds later as its one parameter says: `later_value` makes that."""
    if connection.vendor == "postgresql":
        return "(statement_timestamp() + make_interval(secs => %s))"
    return "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s)"


def later_value(seconds: float) -> float | str:
    """The parameter of `later_sql`; negative seconds are earlier."""
    return seconds if connection.vendor == "postgresql" else f"{seconds:+f} seconds"


def uuid_value(value: UUID | str) -> UUID | str:
    """The uuid as this database keeps it, for statements written in SQL."""
    found = value if isinstance(value, UUID) else UUID(value)
    return found if connection.features.has_native_uuid_field else found.hex
