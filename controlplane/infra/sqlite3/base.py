"""A transaction on SQLite in which no cycles are collected.

A cursor that is part of a cycle, as each error of the database leaves one, is freed by a collection, in whichever
thread it runs. That takes the lock of the cursor's connection, which a thread holds for as long as it waits for the
file (`timeout`). Where a thread with a transaction collects, the two wait for each other, and everybody for them.
"""

from typing import Any

from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteWrapper

from controlplane.kernel.gc_pause import gc_pause, gc_resume


class DatabaseWrapper(SQLiteWrapper):
    """Django's, and the collector rests from before a transaction's BEGIN until its end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pauses_collector = False

    def _start_transaction_under_autocommit(self) -> None:
        self._pause(wanted=True)
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # what Django's stubs leave out
        except BaseException:
            self._pause(wanted=False)
            raise

    def _set_autocommit(self, autocommit: bool) -> None:
        """True is said when a transaction has ended, before what waits for its commit is called."""
        try:
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # likewise
        finally:
            if autocommit:
                self._pause(wanted=False)

    def connect(self) -> None:
        """As Django has it. A connection that was lost had no end of its transaction."""
        self._pause(wanted=False)
        super().connect()

    def _close(self) -> None:
        super()._close()  # type: ignore[misc]  # likewise
        self._pause(wanted=False)

    def _pause(self, *, wanted: bool) -> None:
        if wanted != self._pauses_collector:
            self._pauses_collector = wanted
            (gc_pause if wanted else gc_resume)()
