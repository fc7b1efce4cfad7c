"""What changed in the fleet since a reader last looked, in one query; how `models.stamp` is read.

PostgreSQL: the stamp is the number of the writing transaction. A reader's mark is the oldest transaction that was
still open when it looked: every lower one was finished, so its changes were seen. Next time it asks for stamps from
there on, and may meet a few changes again, never miss one. SQLite: writers are serial, stamps grow, and the mark is
one above the highest stamp seen.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

# Stamps above what this server has handed out come from a restored copy of another one; the first full load of every
# reader has them, so they are no news. The reader's own transaction may be above all that ended, yet it sees itself.
_POSTGRES_BOUNDS = """
SELECT pg_snapshot_xmin(s)::text::bigint AS since, COALESCE(own, 0) AS own,
       GREATEST(pg_snapshot_xmax(s)::text::bigint, 1 + own) AS ending
  FROM (SELECT pg_current_snapshot() AS s, pg_current_xact_id_if_assigned()::text::bigint AS own) AS now
"""
_SQLITE_BOUNDS = """
SELECT 1 + MAX((SELECT COALESCE(MAX(changed), 0) FROM placement_resourceprovider),
               (SELECT COALESCE(MAX(changed), 0) FROM placement_providerremoval)) AS since,
       0 AS own, 9223372036854775807 AS ending
"""
# Made again under the same uuid, a provider is not gone, whichever of the two stamps is higher.
_LOOK = """
WITH bounds AS ({bounds})
SELECT 'bounds' AS what, since, own, NULL AS uuid FROM bounds
UNION ALL
SELECT 'ids', (SELECT MIN(id) FROM placement_resourceprovider), (SELECT MAX(id) FROM placement_resourceprovider), NULL
UNION ALL
SELECT 'changed', provider.id, provider.changed, NULL
  FROM placement_resourceprovider AS provider, bounds
 WHERE provider.changed >= %s AND provider.changed < bounds.ending
UNION ALL
SELECT 'removed', 0, removal.changed, CAST(removal.provider_uuid AS text)
  FROM placement_providerremoval AS removal, bounds
 WHERE removal.changed >= %s AND removal.changed < bounds.ending
   AND NOT EXISTS (SELECT 1 FROM placement_resourceprovider AS again WHERE again.uuid = removal.provider_uuid)
"""
_NO_CHANGES = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the fleet.

    `since` is the mark for the next look; `own` the stamp of the reader's own open transaction, 0 if it wrote
    nothing. `lowest` and `highest` are the ids of the first and the last provider there is. `changed`: {id: stamp};
    `removed`: {uuid: stamp}.
    """

    since: int
    own: int
    lowest: int | None
    highest: int | None
    changed: dict[int, int]
    removed: dict[UUID, int]


def fleet_look(since: int | None = None) -> Look:
    """What has a stamp of `since` or above; without it only where things stand. One query, index look-ups only."""
    bounds = _POSTGRES_BOUNDS if connection.vendor == "postgresql" else _SQLITE_BOUNDS
    mark = _NO_CHANGES if since is None else since
    with connection.cursor() as cursor:
        cursor.execute(_LOOK.format(bounds=bounds), [mark, mark])
        return _look_of(cursor.fetchall())


def _look_of(rows: list[tuple[Any, ...]]) -> Look:
    by_kind: dict[str, list[tuple[Any, Any, Any]]] = {"bounds": [], "ids": [], "changed": [], "removed": []}
    for what, first, second, uuid in rows:
        by_kind[what].append((first, second, uuid))
    since, own, _ = by_kind["bounds"][0]
    lowest, highest, _ = by_kind["ids"][0]
    changed = {provider_id: stamp for provider_id, stamp, _ in by_kind["changed"]}
    removed = {UUID(uuid): stamp for _, stamp, uuid in by_kind["removed"]}
    return Look(since, own, lowest, highest, changed, removed)


def is_uncommitted_possible() -> bool:
    """Whether what is read now may be the reader's own, not committed yet, and not known by its stamp."""
    return connection.vendor != "postgresql" and connection.in_atomic_block
