"""Hearing wake-ups of any number of queues at once, on one connection: LISTEN/NOTIFY on PostgreSQL, a blocking pop on
Redis, a watched file on SQLite.
"""

import contextlib
import select
import socket
import time
import uuid
from collections import defaultdict
from collections.abc import Collection
from typing import Any, Protocol

import redis
from django.conf import settings
from django.db import Error, connection, connections

from controlplane.infra.db import placeholders
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.kill_points import reach
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Wakeup
from controlplane.work.wakeups.channels import postgres_channel, redis_key
from controlplane.work.wakeups.log_file_watch import LogFileWatch
from controlplane.work.wakeups.received import ReceivedWakeup, parse
from controlplane.work.wakeups.redis_client import redis_client

Wakeups = dict[str, list[ReceivedWakeup]]
MAX_ROWS = 1000
"""Wake-ups taken by one statement; what is left is taken by the next."""
SQLITE_POLL_S, SQLITE_LOOK_S = 0.06, 0.02
"""How long one call waits, and how often it looks meanwhile: 0.3 % of a core, and a build has two such waits in it."""
SQLITE_SAFETY_POLL_S = 1.0
SAFETY_POLL_S = 15.0


class ManyQueues(Protocol):
    """`wait` is called from one thread, `interrupt` from any."""

    def wait(self, queues: Collection[str], timeout_s: float) -> Wakeups:
        """Wake-ups by queue, as soon as there are any; empty after `timeout_s` or when interrupted. Raises
        Unavailable.
        """

    def interrupt(self) -> None:
        """Let `wait` return, because the queues are others now."""

    def close(self) -> None:
        """Give up what it holds, when nobody calls `wait` any more."""


def many_queues_open(*, limit: int = MAX_ROWS) -> ManyQueues:
    """For this installation. `limit`: the maximum that is taken at once."""
    if settings.REDIS_URL:
        return RedisQueues(limit)
    return PostgresQueues(limit) if connection.vendor == "postgresql" else SqliteQueues(limit)


_POSTGRES = """
DELETE FROM work_wakeup WHERE id = ANY (
       ARRAY(SELECT id FROM work_wakeup WHERE queue IN ({queues}) ORDER BY id LIMIT {limit} FOR UPDATE SKIP LOCKED))
RETURNING id, queue, code, ref
"""
_SQLITE = """
DELETE FROM work_wakeup WHERE id IN (SELECT id FROM work_wakeup WHERE queue IN ({queues}) ORDER BY id LIMIT {limit})
RETURNING id, queue, code, ref
"""


def _take_rows(queues: Collection[str], limit: int) -> Wakeups:
    """Take the wake-ups of now: the rows are deleted, for the work row remembers what is to be done."""
    wanted = sorted(queues)
    is_postgres = connection.vendor == "postgresql"
    if not is_postgres and not Wakeup.objects.filter(queue__in=wanted).exists():
        return {}  # a look costs SQLite less than its write lock
    found: Wakeups = defaultdict(list)
    text = (_POSTGRES if is_postgres else _SQLITE).format(queues=placeholders(wanted), limit=limit)
    with connection.cursor() as cursor:
        cursor.execute(text.strip(), wanted)
        for _, queue, code, ref in sorted(cursor.fetchall()):
            found[queue].append(ReceivedWakeup(code, ref))
    return found


def _count(found: Wakeups) -> int:
    return sum(map(len, found.values()))


class SqliteQueues:
    """Looks when the database's log file changed, which costs no query, and once a second in any case."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._has_more = False
        self._watch = LogFileWatch(f"{connection.settings_dict['NAME']}-wal")
        self._looked_at = 0.0
        self._waited: frozenset[str] = frozenset()

    def wait(self, queues: Collection[str], timeout_s: float) -> Wakeups:
        """See ManyQueues. The queues are looked up anew with each call, which returns soon enough."""
        is_new = not self._waited.issuperset(queues)
        self._waited = frozenset(queues)
        try:
            if wakeups := self._poll(queues, must=is_new):
                return wakeups
            until = time.monotonic() + min(timeout_s, SQLITE_POLL_S)
            while not wakeups and (left := until - time.monotonic()) > 0:
                time.sleep(min(left, SQLITE_LOOK_S))
                wakeups = self._poll(queues, must=False)
            return wakeups
        except Error as error:
            connection.close()
            raise Unavailable(_("the database does not answer: {error}", error=error)) from error

    def interrupt(self) -> None:
        """It never waits for long."""

    def close(self) -> None:
        """Nothing is held."""

    def _poll(self, queues: Collection[str], *, must: bool) -> Wakeups:
        may_have_wakeup = self._watch.may_have_changed() or must or self._has_more
        if not may_have_wakeup and time.monotonic() - self._looked_at < SQLITE_SAFETY_POLL_S:
            return {}
        self._looked_at = time.monotonic()
        found = _take_rows(queues, self._limit)
        self._has_more = _count(found) >= self._limit
        return found


class PostgresQueues:
    """One connection LISTENs on the channels of all queues; the rows are taken on the thread's own connection."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._listener: Any = None
        self._channels: dict[str, str] = {}
        self._waited: frozenset[str] = frozenset()
        self._unlooked: set[str] = set()
        self._looked_at = 0.0
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_write.setblocking(False)

    def wait(self, queues: Collection[str], timeout_s: float) -> Wakeups:
        """See ManyQueues."""
        try:
            self._listen(queues)
            if time.monotonic() - self._looked_at > SAFETY_POLL_S:
                self._looked_at = time.monotonic()
                self._unlooked.update(queues)
            if not self._unlooked:
                self._unlooked |= self._notified(timeout_s)
            wanted = self._unlooked & set(queues)
            found = _take_rows(wanted, self._limit) if wanted else {}
            self._unlooked = wanted if _count(found) >= self._limit else set()
            return found
        except Error as error:
            self._disconnect()
            connection.close()
            raise Unavailable(_("the database does not answer: {error}", error=error)) from error

    def interrupt(self) -> None:
        """See ManyQueues."""
        with contextlib.suppress(OSError):  # full, so it is interrupted already; or closed
            self._wake_write.send(b"x")

    def _listen(self, queues: Collection[str]) -> None:
        """LISTEN before the first look at a queue, so that no wake-up falls between."""
        if self._listener is None:
            self._listener = connections["default"].copy()
            self._channels = {}
        channels = {postgres_channel(queue): queue for queue in queues}
        changes = [f'LISTEN "{name}"' for name in channels.keys() - self._channels.keys()]
        # A queue that nobody waits for at this moment is most often waited for again soon: only many are let go.
        gone = self._channels.keys() - channels.keys()
        if len(gone) > len(channels) + MAX_ROWS:
            changes += [f'UNLISTEN "{name}"' for name in gone]
            self._channels = {name: queue for name, queue in self._channels.items() if name not in gone}
        if changes:
            with self._listener.cursor() as cursor:
                cursor.execute("; ".join(changes))
        # Wake-ups that came while nobody waited were not taken, so a queue that is waited for anew has to be looked at.
        self._unlooked.update(queue for queue in queues if queue not in self._waited)
        self._channels |= channels
        self._waited = frozenset(queues)

    def _notified(self, timeout_s: float) -> set[str]:
        """The queues that were woken."""
        raw = self._listener.connection
        if not raw.notifies:
            # Not select(): it knows no descriptor above 1023, and each agent that waits has one.
            waiting = select.poll()
            for each in (raw, self._wake_read):
                waiting.register(each, select.POLLIN)
            readable = {descriptor for descriptor, _ in waiting.poll(timeout_s * 1000)}
            if self._wake_read.fileno() in readable:
                self._wake_read.recv(4096)
            with self._listener.wrap_database_errors:
                raw.poll()
        woken = {self._channels[notice.channel] for notice in raw.notifies if notice.channel in self._channels}
        raw.notifies.clear()
        return woken

    def close(self) -> None:
        """See ManyQueues."""
        self._disconnect()
        self._wake_read.close()
        self._wake_write.close()

    def _disconnect(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(Error):
                self._listener.close()
        self._listener = None
        self._waited = frozenset()


class RedisQueues:
    """One blocking pop on the lists of all queues, and on one of its own by which it is interrupted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._own_key = redis_key(f"hub.{uuid.uuid4()}")

    def wait(self, queues: Collection[str], timeout_s: float) -> Wakeups:
        """See ManyQueues."""
        by_key = {redis_key(queue): queue for queue in queues}
        try:
            popped: Any = redis_client().blpop([self._own_key, *by_key], timeout=max(0.05, timeout_s))
            if popped is None or popped[0] == self._own_key:
                redis_client().delete(self._own_key)
                return {}
            reach("controlplane.work.wakeups.many_queues:popped")
            queue = by_key[popped[0]]
            more: Any = redis_client().lpop(popped[0], self._limit - 1) or []
        except redis.RedisError as error:
            raise Unavailable(_("redis does not answer: {error}", error=error)) from error
        return {queue: [wakeup for raw in [popped[1], *more] if (wakeup := parse(raw)) is not None]}

    def interrupt(self) -> None:
        """See ManyQueues."""
        with contextlib.suppress(redis.RedisError):  # it returns by itself before long
            redis_client().rpush(self._own_key, "")
            redis_client().expire(self._own_key, 60)

    def close(self) -> None:
        """The client belongs to the process."""
