"""The threads of an agent lend each other their database connections; nothing here opens one."""

import threading
from collections.abc import Callable

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from servers.agent_api import SharedConnections

Found = list[BaseDatabaseWrapper]


def _in_threads(count: int, body: Callable[[], None]) -> None:
    threads = [threading.Thread(target=body) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)


def test_threads_one_after_the_other_use_one_connection() -> None:
    shared, found = SharedConnections(maximum=2), Found()

    def call() -> None:
        with shared.lent():
            found.append(connections["default"])

    for _ in range(3):
        _in_threads(1, call)
    assert len({id(one) for one in found}) == 1


def test_threads_at_once_use_no_more_than_allowed() -> None:
    shared, found, both = SharedConnections(maximum=2), Found(), threading.Barrier(2)

    def call() -> None:
        with shared.lent():
            found.append(connections["default"])
            both.wait(10)

    _in_threads(4, call)
    assert len(found) == 4
    assert len({id(one) for one in found}) == 2


def test_vital_call_does_not_wait_for_the_others() -> None:
    shared, came = SharedConnections(maximum=1), threading.Event()

    def beat() -> None:
        with shared.lent(is_vital=True):
            came.set()

    def call() -> None:
        with shared.lent():
            _in_threads(1, beat)

    _in_threads(1, call)
    assert came.is_set()
