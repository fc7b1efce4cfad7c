"""What changed in the fleet since a reader last looked; how `models.stamp` is read.

PostgreSQL: the stamp is the number of the writing transaction. A reader remembers where the numbers ended when it
looked, and which of the lower ones were still open: just these can have become visible since, so each change is told
once, even while some transaction stays open for hours. SQLite: writers are serial and stamps grow, so whatever is
above the highest stamp seen is new.

On PostgreSQL there is a cheaper question before that one: the server's snapshot as text. It says exactly which
transactions are visible, so where it reads as before, nothing at all was committed since, and no table is looked at.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

# Stamps above what this server has handed out come from a restored copy of another one; the first full load of every
# reader has them, so they are no news. The reader's own transaction may be above all that ended, yet it sees itself.
_POSTGRES_BOUNDS = """
SELECT pg_snapshot_xmax(s)::text::bigint AS ended, COALESCE(own, 0) AS own, s::text AS seen,
       GREATEST(pg_snapshot_xmax(s)::text::bigint, 1 + own) AS above,
       array_to_string(ARRAY(SELECT pg_snapshot_xip(s)::text), ' ') AS unfinished
  FROM (SELECT pg_current_snapshot() AS s, pg_current_xact_id_if_assigned()::text::bigint AS own) AS now
"""
_SQLITE_BOUNDS = """
SELECT 1 + MAX((SELECT COALESCE(MAX(changed), 0) FROM placement_resourceprovider),
               (SELECT COALESCE(MAX(changed), 0) FROM placement_providerremoval)) AS ended,
       0 AS own, '' AS seen, 9223372036854775807 AS above, '' AS unfinished
"""
# "+ 0" keeps planners from walking the index below `above`, where everybody is, while they have no statistics yet.
# Made again under the same uuid, a provider is not gone, whichever of the two stamps is higher.
_LOOK = """
WITH bounds AS ({bounds})
SELECT 'bounds' AS what, ended, own, unfinished AS word FROM bounds
UNION ALL
SELECT 'seen', 0, 0, seen FROM bounds
UNION ALL
SELECT 'ids', (SELECT MIN(id) FROM placement_resourceprovider), (SELECT MAX(id) FROM placement_resourceprovider), ''
UNION ALL
SELECT 'changed', provider.id, provider.changed, ''
  FROM placement_resourceprovider AS provider, bounds
 WHERE (provider.changed >= %s OR provider.changed IN ({unfinished})) AND provider.changed + 0 < bounds.above
UNION ALL
SELECT 'removed', 0, removal.changed, CAST(removal.provider_uuid AS text)
  FROM placement_providerremoval AS removal, bounds
 WHERE (removal.changed >= %s OR removal.changed IN ({unfinished})) AND removal.changed + 0 < bounds.above
   AND NOT EXISTS (SELECT 1 FROM placement_resourceprovider AS again WHERE again.uuid = removal.provider_uuid)
"""
# A transaction that has written sees more than its snapshot says.
_SEEN = "SELECT pg_current_snapshot()::text, pg_current_xact_id_if_assigned() IS NULL"
_NO_STAMP = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a reader has seen: every stamp below `ended` but those of transactions that were `unfinished`.

    `seen` is the server's snapshot at that time, as text; empty where there is none (SQLite).
    """

    ended: int
    unfinished: tuple[int, ...] = ()
    seen: str = ""


NOTHING_NEW = Mark(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the fleet.

    `mark` is for the next look; `own` the stamp of the reader's own open transaction, 0 if it wrote nothing. `lowest`
    and `highest` are the ids of the first and the last provider there is. `changed`: {id: stamp}; `removed`: {uuid:
    stamp}.
    """

    mark: Mark
    own: int
    lowest: int | None
    highest: int | None
    changed: dict[int, int]
    removed: dict[UUID, int]


def is_as_seen(mark: Mark) -> bool:
    """Whether certainly nothing became visible since. False says nothing: look. One query that reads no table."""
    if not mark.seen:
        return False
    with connection.cursor() as cursor:
        cursor.execute(_SEEN)
        seen, is_bystander = cursor.fetchone()
    return bool(is_bystander and seen == mark.seen)


def fleet_look(since: Mark = NOTHING_NEW) -> Look:
    """What became visible since `since`; without it only where things stand. One query, index look-ups only."""
    bounds = _POSTGRES_BOUNDS if connection.vendor == "postgresql" else _SQLITE_BOUNDS
    unfinished = since.unfinished or (_NO_STAMP,)
    statement = _LOOK.format(bounds=bounds, unfinished=", ".join(["%s"] * len(unfinished)))
    with connection.cursor() as cursor:
        cursor.execute(statement, [since.ended, *unfinished, since.ended, *unfinished])
        return _look_of(cursor.fetchall())


def _look_of(rows: list[tuple[Any, ...]]) -> Look:
    by_kind: dict[str, list[tuple[Any, Any, Any]]] = {
        "bounds": [], "seen": [], "ids": [], "changed": [], "removed": []
    }  # fmt: skip
    for what, first, second, word in rows:
        by_kind[what].append((first, second, word))
    ended, own, unfinished = by_kind["bounds"][0]
    lowest, highest, _ = by_kind["ids"][0]
    return Look(
        mark=Mark(ended, tuple(map(int, unfinished.split())) + ((own,) if own else ()), by_kind["seen"][0][2]),
        own=own,
        lowest=lowest,
        highest=highest,
        changed={provider_id: stamp for provider_id, stamp, _ in by_kind["changed"]},
        removed={UUID(uuid): stamp for _, stamp, uuid in by_kind["removed"]},
    )


def is_uncommitted_possible() -> bool:
    """Whether what is read now may be the reader's own, not committed yet, and not known by its stamp."""
    return connection.vendor != "postgresql" and connection.in_atomic_block
