"""A thread that writes to SQLite never waits for the cursor of one that waits for it."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler, OperationalError

WAIT_S = 60


@pytest.fixture(autouse=True)
def databases_of_their_own(django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


def opened(path: Path, timeout_s: float) -> BaseDatabaseWrapper:
    options = {"timeout": timeout_s, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}
    database = {"ENGINE": "controlplane.infra.sqlite3", "NAME": path / "db.sqlite3", "OPTIONS": options}
    return ConnectionHandler({"default": database})["default"]


def begin(connection: BaseDatabaseWrapper) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def test_garbage_of_a_thread_that_waits_for_the_file_does_not_hold_up_the_one_that_has_it(tmp_path: Path) -> None:
    has_file, is_about_to_wait = threading.Event(), threading.Event()
    began: list[bool] = []

    def waits() -> None:
        connection = opened(tmp_path, 10)
        cursor = connection.cursor()
        cursor.execute("SELECT 1 UNION SELECT 2")
        cursor.fetchone()
        cycle = [cursor]
        cycle.append(cycle)  # type: ignore[arg-type]
        del cursor, cycle
        is_about_to_wait.set()
        assert has_file.wait(WAIT_S)
        begin(connection)
        began.append(True)
        connection.set_autocommit(True)
        connection.close()

    gc.collect()
    connection = opened(tmp_path, 10)
    connection.ensure_connection()
    other = threading.Thread(target=waits)
    other.start()
    assert is_about_to_wait.wait(WAIT_S)
    begin(connection)
    has_file.set()
    other.join(0.3)  # it waits for the file now; on a machine that is busy it does not yet, and the test says less
    assert not gc.isenabled()
    kept = [[number] for number in range(100_000)]  # enough for several collections
    assert len(kept) == 100_000
    assert not began
    connection.commit()
    connection.set_autocommit(True)
    other.join(WAIT_S)
    assert began, "it waited in vain"
    assert gc.isenabled()
    connection.close()


def test_collector_is_on_again_after_a_transaction_that_could_not_begin_and_one_that_was_cut_off(
    tmp_path: Path,
) -> None:
    first, second = opened(tmp_path, 0), opened(tmp_path, 0)
    begin(first)
    with pytest.raises(OperationalError, match="locked"):
        begin(second)
    assert not gc.isenabled()
    first.close()
    assert gc.isenabled()
    second.close()
