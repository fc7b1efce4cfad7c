"""What changed in the fleet since this process last looked: `controlplane.infra.change_feed` over the log of changes
that triggers write, and the last heartbeats along with it, in one query.

What the reader's own open transaction wrote is read too, and read again until that transaction has ended one way or
the other, so nothing is believed that was rolled back.
"""

import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db import connection

from controlplane.infra.change_feed import (
    NOTHING_NEW,
    Cursor,
    bounds_sql,
    changed_sql,
    cursor_from,
    is_uncommitted_possible,
    since_values,
)
from scheduling.models.change_triggers import EVERYTHING, triggers_are_whole

FORGET_S = 300.0
"""A reader that has slept longer reads everything again; the log is kept for longer than that."""
_HELD_S = 3600.0
_EVERYTHING_AFTER = 5000

_SQLITE_NEXT = "1 + COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'scheduling_fleetchange'), 0)"
_DELTA = """
WITH bounds AS ({bounds})
SELECT '' AS kind, unfinished AS key, ended AS stamp, own, {now} AS at FROM bounds
UNION ALL
SELECT kind, key, {stamp}, 0, 0 FROM scheduling_fleetchange, bounds WHERE {changed}
UNION ALL
SELECT 'alive', {id_text}, 0, 0, {last_seen} FROM scheduling_service
 WHERE id IN ({silent}) AND last_seen_up IS NOT NULL
"""
_POSTGRES_WORDS = {
    "now": "extract(epoch FROM statement_timestamp())::float8",
    "stamp": "changed",
    "id_text": "id::text",
    "last_seen": "extract(epoch FROM last_seen_up)::float8",
}
# On SQLite the id of the row is its stamp.
_SQLITE_WORDS = {
    "now": "(julianday('now') - 2440587.5) * 86400.0",
    "stamp": "id",
    "id_text": "id",
    "last_seen": "(julianday(last_seen_up) - 2440587.5) * 86400.0",
}


@dataclass(slots=True)
class Changes:
    """What a subscriber has to read again: `everything`, or of each kind the things with these keys."""

    everything: bool = True
    keys: dict[str, set[str]] = field(default_factory=dict)

    def of(self, kind: str) -> set[str]:
        """The changed keys of one kind."""
        return self.keys.get(kind, set())


@dataclass(frozen=True, slots=True)
class ChangePoll:
    """The answer to one look. `now` and the times of `alive` ({service: last heartbeat}) are the database's, in
    seconds (Unix). `asked` are the services that the look was asked about."""

    now: float
    alive: dict[str, float]
    asked: frozenset[str] = frozenset()


class ChangeFeed:
    """One per process (`change_feed`); safe to share between threads. Subscribers take their news apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursor: Cursor | None = None
        self._polled_at = self._began_at = 0.0
        self._unread: dict[str, Changes] = {}
        self._doubtful: dict[str, set[str]] = {}
        self._is_uncertain = False

    def read(self, *, silent: Collection[str] = ()) -> ChangePoll:
        """Ask what changed. `silent` are services (ids as text) whose last heartbeat is wanted along with it."""
        with self._lock:
            polled, seen, rows = _read(self._cursor or NOTHING_NEW, silent)
            if self._must_begin_anew(seen, len(rows)):
                self._begin(seen)
            else:
                self._distribute(seen, rows)
            return polled

    def changes_for(self, subscriber: str, kinds: Iterable[str]) -> Changes:
        """What this subscriber has not taken yet, as of the last look."""
        with self._lock:
            unread = self._unread.get(subscriber) or Changes()
            # Read inside a transaction that has written, everything may be rolled back.
            self._unread[subscriber] = Changes(everything=unread.everything and self._is_uncertain)
            return Changes(unread.everything, {kind: unread.of(kind) for kind in kinds})

    def _must_begin_anew(self, seen: "_Seen", rows: int) -> bool:
        """Without a beginning, after a long sleep, once an hour, and where what was written is gone: other tables, or
        another database, stand in place. SQLite counts its ids without a gap, so that shows; PostgreSQL has a trigger.
        """
        now = time.monotonic()
        slept, self._polled_at = now - self._polled_at, now
        if self._cursor is None or slept > FORGET_S or now - self._began_at > _HELD_S:
            return True
        gap = seen.ended - self._cursor.ended
        return gap < 0 or (connection.vendor != "postgresql" and gap != rows)

    def _begin(self, seen: "_Seen") -> None:
        self._unread = {}
        self._doubtful = {}
        self._began_at = time.monotonic()
        self._is_uncertain = seen.own != 0 or is_uncommitted_possible()
        # Where the triggers are not all there, changes may go untold: every look is the first one.
        self._cursor = seen.change_cursor if triggers_are_whole() else None

    def _distribute(self, seen: "_Seen", rows: list[tuple[str, str, int]]) -> None:
        before, self._doubtful = self._doubtful, {}
        self._is_uncertain = seen.own != 0 or is_uncommitted_possible()
        if len(rows) > _EVERYTHING_AFTER or any(kind == EVERYTHING for kind, _, _ in rows):
            self._unread = {}
        else:
            self._add({**before})
            for kind, key, stamp in rows:
                self._add({kind: {key}})
                if stamp == seen.own or is_uncommitted_possible():
                    self._doubtful.setdefault(kind, set()).add(key)
        if not is_uncommitted_possible():
            self._cursor = seen.change_cursor

    def _add(self, keys: dict[str, set[str]]) -> None:
        for unread in self._unread.values():
            for kind, some in keys.items():
                unread.keys.setdefault(kind, set()).update(some)


@dataclass(frozen=True, slots=True)
class _Seen:
    change_cursor: Cursor
    own: int

    @property
    def ended(self) -> int:
        return self.change_cursor.ended


def _read(since: Cursor, silent: Collection[str]) -> tuple[ChangePoll, _Seen, list[tuple[str, str, int]]]:
    is_postgres = connection.vendor == "postgresql"
    words = _POSTGRES_WORDS if is_postgres else _SQLITE_WORDS
    asked = tuple(silent)
    text = _DELTA.format(
        bounds=bounds_sql(sqlite_next=_SQLITE_NEXT),
        changed=changed_sql(words["stamp"], since),
        silent=", ".join(["%s::uuid" if is_postgres else "%s"] * len(asked)) or "NULL",
        **words,
    )
    with connection.cursor() as cursor:
        cursor.execute(text, [*since_values(since), *asked])
        rows = cursor.fetchall()
    alive = {key: at for kind, key, _, _, at in rows if kind == "alive"}
    _, open_ones, ended, own, now = next(row for row in rows if not row[0])
    change_cursor = cursor_from(ended=ended, own=own, unfinished=open_ones)
    changes = [(kind, key, stamp) for kind, key, stamp, _, _ in rows if kind and kind != "alive"]
    return ChangePoll(now, alive, frozenset(asked)), _Seen(change_cursor, own), changes


_FEED = ChangeFeed()


def change_feed() -> ChangeFeed:
    """This process's feed."""
    return _FEED
