"""A full disk is told from a database that is away."""

import errno
import sqlite3
from pathlib import Path

import pytest
from django.db import InterfaceError, OperationalError
from psycopg2.errors import DiskFull, lookup

from controlplane.infra.api.errors import exception_handler
from controlplane.infra.database_errors import PG_DISK_FULL, is_disk_full, is_unforeseen
from controlplane.kernel.errors import Unavailable

AWAY = "The database does not answer now. Try again in a moment."
FULL = "The database has no room left on its disk, so nothing can be changed now. Ask an administrator."


def raised_by(error: Exception) -> OperationalError:
    """As Django raises what a driver raised."""
    found = OperationalError(str(error))
    found.__cause__ = error
    return found


def full_sqlite(path: Path) -> sqlite3.Error:
    """What SQLite itself raises where its file may grow no more."""
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE filled (text TEXT)")
        link.execute("PRAGMA max_page_count = 4")
        with pytest.raises(sqlite3.OperationalError, match="full") as caught:
            link.execute("INSERT INTO filled VALUES (?)", ("x" * 100_000,))
    return caught.value


def test_full_disk_is_named_to_who_asks(tmp_path: Path) -> None:
    response = exception_handler(raised_by(full_sqlite(tmp_path / "full.sqlite3")), {})
    assert response is not None
    assert (response.status_code, response.data["error"]["message"]) == (503, FULL)


@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection already closed")])
def test_database_that_is_away_is_told_as_before(error: Exception) -> None:
    response = exception_handler(error, {})
    assert response is not None
    assert (response.status_code, response.data["error"]["message"]) == (503, AWAY)


def test_postgresql_s_state_and_the_system_s_errors_count() -> None:
    assert lookup(PG_DISK_FULL) is DiskFull
    assert is_disk_full(raised_by(OSError(errno.ENOSPC, "No space left on device")))
    assert not is_disk_full(raised_by(OSError(errno.EIO, "Input/output error")))


class Coded(Exception):
    """As psycopg's errors, which get their code from the server alone."""

    def __init__(self, pgcode: str) -> None:
        super().__init__(pgcode)
        self.pgcode = pgcode


@pytest.mark.parametrize(
    ("error", "needs_traceback"),
    [
        (OperationalError("could not connect"), False),
        (raised_by(Coded("57P01")), False),
        (raised_by(Coded("57014")), True),
        (InterfaceError("connection already closed"), False),
        (raised_by(sqlite3.OperationalError("database is locked")), True),
        (Unavailable("redis is away"), False),
        (KeyError("name"), True),
    ],
)
def test_service_that_is_away_is_logged_without_a_traceback(error: Exception, needs_traceback: bool) -> None:
    assert is_unforeseen(error) is needs_traceback
