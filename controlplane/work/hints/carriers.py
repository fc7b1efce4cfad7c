"""How hints get from process to process: NOTIFY on PostgreSQL, a channel on Redis, a file beside an SQLite database.

All carry them to every process that listens, and keep none for who does not.
"""

import contextlib
import select
import socket
from collections.abc import Collection, Iterator
from typing import Any, Protocol

import redis
from django.conf import settings
from django.db import Error, connection, connections

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.hints.hint_file import HintFile
from controlplane.work.hints.this_process import InThisProcess
from controlplane.work.wakeups.redis_client import redis_client

CHANNEL = "kilonova_hints"
MESSAGE_BYTES = 7500
"""PostgreSQL takes 8000."""
MAX_MESSAGES = 8
"""Sent at once; topics that do not go into them are not told. Eight hold about a thousand instances."""


class HintListener(Protocol):
    """`open` and `wait` are called from one thread, `interrupt` from any."""

    def open(self) -> None:
        """Whatever is sent from now on is heard. Raises Unavailable."""

    def wait(self, timeout_s: float) -> set[str]:
        """The topics that came, at the latest after `timeout_s` seconds. Raises Unavailable; then `open` it again."""

    def interrupt(self) -> None:
        """Let `wait` return."""

    def close(self) -> None:
        """Give up what it holds, when nobody calls `wait` any more."""


class Carrier(Protocol):
    """One way of carrying hints."""

    is_cheap: bool
    """Whether whoever commits may send them itself: it takes microseconds and raises nothing."""

    def send(self, topics: Collection[str]) -> None:
        """Send them to all who listen now. Raises what its server raises."""

    def listener(self) -> HintListener:
        """One more who listens."""


def carrier() -> Carrier:
    """The one of this installation."""
    if settings.REDIS_URL:
        return OnRedis()
    if connection.vendor == "postgresql":
        return OnPostgres()
    name = str(connection.settings_dict["NAME"])
    return InThisProcess() if ":memory:" in name or "mode=memory" in name else HintFile(f"{name}-hints")


def messages(topics: Collection[str]) -> Iterator[str]:
    """The topics in messages of bounded size. Lists come first: they stand for what is left out."""
    message: list[str] = []
    size = 0
    for topic in sorted(topics, key=lambda one: (one.startswith("instance:"), one)):
        length = len(topic.encode()) + 1
        if message and size + length > MESSAGE_BYTES:
            yield "\n".join(message)
            message, size = [], 0
        message.append(topic)
        size += length
    if message:
        yield "\n".join(message)


class OnPostgres:
    """NOTIFY, in a transaction of its own that waits for no disk: the changes are committed already."""

    is_cheap = False

    def send(self, topics: Collection[str]) -> None:
        """See Carrier. On the calling thread's connection, one statement."""
        wanted = list(messages(topics))[:MAX_MESSAGES]
        notify = ", ".join(["pg_notify(%s, %s)"] * len(wanted))
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT set_config('synchronous_commit', 'off', true), {notify}",
                [value for message in wanted for value in (CHANNEL, message)],
            )

    def listener(self) -> "PostgresListener":
        """See Carrier."""
        return PostgresListener()


class PostgresListener:
    """LISTENs on a connection of its own."""

    def __init__(self) -> None:
        self._connection: Any = None
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_write.setblocking(False)

    def open(self) -> None:
        """See HintListener."""
        try:
            self._connection = connections["default"].copy()
            with self._connection.cursor() as cursor:
                cursor.execute(f'LISTEN "{CHANNEL}"')
        except Error as error:
            raise self._gone(error) from error

    def wait(self, timeout_s: float) -> set[str]:
        """See HintListener."""
        raw = self._connection.connection
        try:
            if not raw.notifies:
                waiting = select.poll()  # select() knows no descriptor above 1023
                for each in (raw, self._wake_read):
                    waiting.register(each, select.POLLIN)
                readable = {descriptor for descriptor, _ in waiting.poll(timeout_s * 1000)}
                if self._wake_read.fileno() in readable:
                    self._wake_read.recv(4096)
                with self._connection.wrap_database_errors:
                    raw.poll()
        except Error as error:
            raise self._gone(error) from error
        found = {topic for notice in raw.notifies for topic in notice.payload.split("\n")}
        raw.notifies.clear()
        return found

    def interrupt(self) -> None:
        """See HintListener."""
        with contextlib.suppress(OSError):  # full, so it is interrupted already; or closed
            self._wake_write.send(b"x")

    def close(self) -> None:
        """See HintListener."""
        self._disconnect()
        self._wake_read.close()
        self._wake_write.close()

    def _gone(self, error: Error) -> Unavailable:
        self._disconnect()
        return Unavailable(_("the database does not answer: {error}", error=error))

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Error):
                self._connection.close()
        self._connection = None


class OnRedis:
    """PUBLISH."""

    is_cheap = False

    def send(self, topics: Collection[str]) -> None:
        """See Carrier."""
        pipe = redis_client().pipeline(transaction=False)
        for message in list(messages(topics))[:MAX_MESSAGES]:
            pipe.publish(CHANNEL, message)
        pipe.execute()

    def listener(self) -> "RedisListener":
        """See Carrier."""
        return RedisListener()


class RedisListener:
    """SUBSCRIBEs on a connection of its own. It looks up once a second in any case, so it needs no interruption."""

    def __init__(self) -> None:
        self._subscription: Any = None

    def open(self) -> None:
        """See HintListener."""
        try:
            self._subscription = redis_client().pubsub()  # type: ignore[no-untyped-call]
            self._subscription.subscribe(CHANNEL)
            self._subscription.get_message(timeout=5.0)  # "subscribed"
        except redis.RedisError as error:
            raise Unavailable(_("redis does not answer: {error}", error=error)) from error

    def wait(self, timeout_s: float) -> set[str]:
        """See HintListener."""
        try:
            came = self._subscription.get_message(ignore_subscribe_messages=True, timeout=min(timeout_s, 1.0))
        except redis.RedisError as error:
            self.close()
            raise Unavailable(_("redis does not answer: {error}", error=error)) from error
        return set() if came is None else set(came["data"].split("\n"))

    def interrupt(self) -> None:
        """It never waits for long."""

    def close(self) -> None:
        """See HintListener."""
        if self._subscription is not None:
            with contextlib.suppress(redis.RedisError):
                self._subscription.close()
        self._subscription = None
