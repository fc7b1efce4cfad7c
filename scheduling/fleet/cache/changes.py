"""What changed in the fleet since this process last looked: one query, however much there is.

PostgreSQL: a change bears the number of its transaction. A reader remembers where the numbers ended when it looked and
which of the lower ones were still open; just these can have become visible since, so each change is told once, even
while some transaction stays open for hours. SQLite: writers are serial and ids grow, so whatever is above the highest
one seen is new.

What the reader's own open transaction wrote is told too, and told again until that transaction has ended one way or
the other, so nothing is believed that was rolled back.
"""

import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from scheduling.models.change_triggers import EVERYTHING, triggers_are_whole

FORGET_S = 300.0
"""A reader that has slept longer reads everything again; the log is kept for longer than that."""
_HELD_S = 3600.0
_EVERYTHING_AFTER = 5000
_NO_STAMP = -1

# "+ 0" keeps planners from walking the index below `above`, where everybody is.
_POSTGRES = """
WITH bounds AS (
    SELECT pg_snapshot_xmax(s)::text::bigint AS ended, COALESCE(own, 0) AS own,
           GREATEST(pg_snapshot_xmax(s)::text::bigint, 1 + own) AS above,
           array_to_string(ARRAY(SELECT pg_snapshot_xip(s)::text), ' ') AS unfinished
      FROM (SELECT pg_current_snapshot() AS s, pg_current_xact_id_if_assigned()::text::bigint AS own) AS now
)
SELECT '' AS kind, unfinished AS key, ended AS stamp, own, extract(epoch FROM statement_timestamp())::float8 AS at
  FROM bounds
UNION ALL
SELECT kind, key, changed, 0, 0 FROM scheduling_fleetchange, bounds
 WHERE (changed >= %s OR changed IN ({unfinished})) AND changed + 0 < bounds.above
UNION ALL
SELECT 'alive', id::text, 0, 0, extract(epoch FROM last_seen_up)::float8 FROM scheduling_service
 WHERE id IN ({silent}) AND last_seen_up IS NOT NULL
"""
_SQLITE = """
SELECT '' AS kind, '' AS key, 1 + COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'scheduling_fleetchange'), 0),
       0, (julianday('now') - 2440587.5) * 86400.0
UNION ALL
SELECT kind, key, id, 0, 0 FROM scheduling_fleetchange WHERE id >= %s OR id IN ({unfinished})
UNION ALL
SELECT 'alive', id, 0, 0, (julianday(last_seen_up) - 2440587.5) * 86400.0 FROM scheduling_service
 WHERE id IN ({silent}) AND last_seen_up IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a reader has seen: every stamp below `ended` but those of transactions that were `unfinished`."""

    ended: int
    unfinished: tuple[int, ...] = ()


@dataclass(slots=True)
class News:
    """What a subscriber has to read again: `everything`, or of each kind the things with these keys."""

    everything: bool = True
    keys: dict[str, set[str]] = field(default_factory=dict)

    def of(self, kind: str) -> set[str]:
        """The changed keys of one kind."""
        return self.keys.get(kind, set())


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to one look. `now` and the times of `alive` ({service: last heartbeat}) are the database's, in
    seconds (Unix). `asked` are the services that the look was asked about."""

    now: float
    alive: dict[str, float]
    asked: frozenset[str] = frozenset()


class ChangeFeed:
    """One per process (`change_feed`); safe to share between threads. Subscribers take their news apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mark: Mark | None = None
        self._looked_at = self._began_at = 0.0
        self._news: dict[str, News] = {}
        self._doubtful: dict[str, set[str]] = {}
        self._is_uncertain = False

    def look(self, *, silent: Collection[str] = ()) -> Heard:
        """Ask what changed. `silent` are services (ids as text) whose last heartbeat is wanted along with it."""
        with self._lock:
            heard, seen, rows = _look(self._mark or Mark(2**62), silent)
            if self._must_begin_anew(seen, len(rows)):
                self._begin(seen)
            else:
                self._tell(seen, rows)
            return heard

    def take(self, subscriber: str, kinds: Iterable[str]) -> News:
        """What this subscriber has not taken yet, as of the last look."""
        with self._lock:
            news = self._news.get(subscriber) or News()
            # Read inside a transaction that has written, everything may be rolled back.
            self._news[subscriber] = News(everything=news.everything and self._is_uncertain)
            return News(news.everything, {kind: news.of(kind) for kind in kinds})

    def _must_begin_anew(self, seen: "_Seen", rows: int) -> bool:
        """Without a beginning, after a long sleep, once an hour, and where what was written is gone: other tables, or
        another database, stand in place. SQLite counts its ids without a gap, so that shows; PostgreSQL has a trigger.
        """
        now = time.monotonic()
        slept, self._looked_at = now - self._looked_at, now
        if self._mark is None or slept > FORGET_S or now - self._began_at > _HELD_S:
            return True
        gap = seen.ended - self._mark.ended
        return gap < 0 or (connection.vendor != "postgresql" and gap != rows)

    def _begin(self, seen: "_Seen") -> None:
        self._news = {}
        self._doubtful = {}
        self._began_at = time.monotonic()
        self._is_uncertain = seen.own != 0 or _is_uncommitted_possible()
        # Where the triggers are not all there, changes may go untold: every look is the first one.
        self._mark = seen.mark if triggers_are_whole() else None

    def _tell(self, seen: "_Seen", rows: list[tuple[str, str, int]]) -> None:
        before, self._doubtful = self._doubtful, {}
        self._is_uncertain = seen.own != 0 or _is_uncommitted_possible()
        if len(rows) > _EVERYTHING_AFTER or any(kind == EVERYTHING for kind, _, _ in rows):
            self._news = {}
        else:
            self._add({**before})
            for kind, key, stamp in rows:
                self._add({kind: {key}})
                if stamp == seen.own or _is_uncommitted_possible():
                    self._doubtful.setdefault(kind, set()).add(key)
        if not _is_uncommitted_possible():
            self._mark = seen.mark

    def _add(self, keys: dict[str, set[str]]) -> None:
        for news in self._news.values():
            for kind, some in keys.items():
                news.keys.setdefault(kind, set()).update(some)


@dataclass(frozen=True, slots=True)
class _Seen:
    mark: Mark
    own: int

    @property
    def ended(self) -> int:
        return self.mark.ended


def _look(since: Mark, silent: Collection[str]) -> tuple[Heard, _Seen, list[tuple[str, str, int]]]:
    is_postgres = connection.vendor == "postgresql"
    unfinished: tuple[Any, ...] = since.unfinished or (_NO_STAMP,)
    asked = tuple(silent)
    text = (_POSTGRES if is_postgres else _SQLITE).format(
        unfinished=", ".join(["%s"] * len(unfinished)),
        silent=", ".join(["%s::uuid" if is_postgres else "%s"] * len(asked)) or "NULL",
    )
    with connection.cursor() as cursor:
        cursor.execute(text, [since.ended, *unfinished, *asked])
        rows = cursor.fetchall()
    alive = {key: at for kind, key, _, _, at in rows if kind == "alive"}
    _, open_ones, ended, own, now = next(row for row in rows if not row[0])
    mark = Mark(ended, tuple(map(int, open_ones.split())) + ((own,) if own else ()))
    changes = [(kind, key, stamp) for kind, key, stamp, _, _ in rows if kind and kind != "alive"]
    return Heard(now, alive, frozenset(asked)), _Seen(mark, own), changes


def _is_uncommitted_possible() -> bool:
    """Whether what is read now may be the reader's own, not committed yet, and not known by its stamp."""
    return connection.vendor != "postgresql" and connection.in_atomic_block


_FEED = ChangeFeed()


def change_feed() -> ChangeFeed:
    """This process's feed."""
    return _FEED
