"""Deadlocks that the database of a race had to break: a second try would hide them."""

from django.db import connection


def deadlocks_broken() -> int:
    """Of this database until now. SQLite cannot have any."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
