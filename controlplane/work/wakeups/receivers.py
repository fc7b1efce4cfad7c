"""Waiting for wake-ups: LISTEN/NOTIFY on PostgreSQL, a blocking pop on Redis, a watched file on SQLite."""

import contextlib
import json
import select
import time
from dataclasses import dataclass
from typing import Any, Protocol

import redis
from django.conf import settings
from django.db import Error, connection, connections

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.kill_points import reach
from controlplane.work.models import Wakeup
from controlplane.work.wakeups.channels import postgres_channel, redis_key
from controlplane.work.wakeups.log_file_watch import LogFileWatch
from controlplane.work.wakeups.redis_client import redis_client

BATCH = 32
SQLITE_POLL_S = 0.05
SQLITE_SAFETY_POLL_S = 1.0
SAFETY_POLL_S = 15.0


@dataclass(frozen=True, slots=True)
class ReceivedWakeup:
    """One wake-up that came."""

    code: str
    ref: str


class WakeupWaiter(Protocol):
    """Where the server of one queue waits. Use from one thread only."""

    def wait(self, timeout_s: float) -> list[ReceivedWakeup]:
        """Rings that came, at the latest after `timeout_s` seconds. Raises Unavailable."""

    def close(self) -> None:
        """Give up what the waiter holds."""


def waiter_open(queue: str) -> WakeupWaiter:
    """The waiter of this installation for `queue`."""
    if settings.REDIS_URL:
        return RedisWaiter(queue)
    return PostgresWaiter(queue) if connection.vendor == "postgresql" else PollingWaiter(queue)


# An array is looked up once, whatever the planner thinks: what the inner look skips, a second one might take.
_POSTGRES = f"""
DELETE FROM work_wakeup
 WHERE id = ANY (ARRAY(SELECT id FROM work_wakeup WHERE queue = %s ORDER BY id LIMIT {BATCH} FOR UPDATE SKIP LOCKED))
RETURNING id, code, ref
"""  # noqa: S608
_SQLITE = f"""
DELETE FROM work_wakeup WHERE id IN (SELECT id FROM work_wakeup WHERE queue = %s ORDER BY id LIMIT {BATCH})
RETURNING id, code, ref
"""  # noqa: S608


def _take_rows(queue: str) -> list[ReceivedWakeup]:
    """Answer what rings now: the rows are deleted, for the work row remembers what is to be done. One statement."""
    is_postgres = connection.vendor == "postgresql"
    if not is_postgres and not Wakeup.objects.filter(queue=queue).exists():
        return []  # a look costs SQLite less than its write lock
    with connection.cursor() as cursor:
        cursor.execute((_POSTGRES if is_postgres else _SQLITE).strip(), [queue])
        return [ReceivedWakeup(code, ref) for _, code, ref in sorted(cursor.fetchall())]


class PollingWaiter:
    """SQLite: looks when the database's log file changed, which costs no query, and once a second in any case."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self._watch = LogFileWatch(f"{connection.settings_dict['NAME']}-wal")
        self._polled_at = 0.0

    def wait(self, timeout_s: float) -> list[ReceivedWakeup]:
        """See WakeupWaiter."""
        until = time.monotonic() + timeout_s
        try:
            while not (wakeups := self._poll()) and (left := until - time.monotonic()) > 0:
                time.sleep(min(SQLITE_POLL_S, left))
        except Error as error:
            connection.close()
            raise Unavailable(f"the database does not answer: {error}") from error
        return wakeups

    def close(self) -> None:
        """Nothing is held."""

    def _poll(self) -> list[ReceivedWakeup]:
        may_have_wakeup = self._watch.may_have_changed()
        if not may_have_wakeup and time.monotonic() - self._polled_at < SQLITE_SAFETY_POLL_S:
            return []
        self._polled_at = time.monotonic()
        return _take_rows(self.queue)


class PostgresWaiter:
    """PostgreSQL: a connection of its own LISTENs before the first look, so that no ring falls between."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self._listener: Any = None
        self._polled_at = 0.0
        self._has_more = True

    def wait(self, timeout_s: float) -> list[ReceivedWakeup]:
        """See WakeupWaiter."""
        until = time.monotonic() + timeout_s
        try:
            self._listen()
            while not (wakeups := self._poll()) and (left := until - time.monotonic()) > 0:
                self._has_more = self._notified(left)
        except Error as error:
            self.close()
            connection.close()
            raise Unavailable(f"the database does not answer: {error}") from error
        return wakeups

    def close(self) -> None:
        """Close the listening connection."""
        if self._listener is not None:
            with contextlib.suppress(Error):
                self._listener.close()
        self._listener = None

    def _listen(self) -> None:
        if self._listener is not None:
            return
        listener = connections["default"].copy()
        with listener.cursor() as cursor:
            cursor.execute(f'LISTEN "{postgres_channel(self.queue)}"')
        self._listener, self._has_more = listener, True

    def _poll(self) -> list[ReceivedWakeup]:
        if not self._has_more and time.monotonic() - self._polled_at < SAFETY_POLL_S:
            return []
        self._polled_at = time.monotonic()
        wakeups = _take_rows(self.queue)
        self._has_more = bool(wakeups)
        return wakeups

    def _notified(self, timeout_s: float) -> bool:
        raw = self._listener.connection
        if not raw.notifies:
            select.select([raw], [], [], timeout_s)
            with self._listener.wrap_database_errors:
                raw.poll()
        is_notified = bool(raw.notifies)
        raw.notifies.clear()
        return is_notified


class RedisWaiter:
    """Redis: a blocking pop on the queue's list, then whatever else is there."""

    def __init__(self, queue: str) -> None:
        self.key = redis_key(queue)

    def wait(self, timeout_s: float) -> list[ReceivedWakeup]:
        """See WakeupWaiter."""
        try:
            popped: Any = redis_client().blpop([self.key], timeout=max(0.05, timeout_s))
            if popped is None:
                return []
            reach("controlplane.work.wakeups.receivers:popped")
            more: Any = redis_client().lpop(self.key, BATCH - 1) or []
        except redis.RedisError as error:
            raise Unavailable(f"redis does not answer: {error}") from error
        return [wakeup for raw in [popped[1], *more] if (wakeup := parse(raw)) is not None]

    def close(self) -> None:
        """The client belongs to the process."""


def parse(raw: str) -> ReceivedWakeup | None:
    """Whoever can write to Redis can write nonsense; it is dropped, never executed."""
    with contextlib.suppress(ValueError, TypeError):
        code, ref = json.loads(raw)
        if isinstance(code, str) and isinstance(ref, str):
            return ReceivedWakeup(code[:40], ref[:64])
    return None
