"""What changed in the fleet since a reader's cursor: `controlplane.infra.change_feed` over providers and removals.

On PostgreSQL readers ask a cheaper question first (`is_unchanged`): where the server's snapshot reads as before,
nothing at all was committed since, and no table is read.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.infra.change_feed import NOTHING_NEW, Cursor, bounds_sql, changed_sql, cursor_from, since_values

# The next stamp, as `models.stamp` gives it: one above all that are there, removals included.
_SQLITE_NEXT = """
1 + MAX((SELECT COALESCE(MAX(changed), 0) FROM placement_resourceprovider),
        (SELECT COALESCE(MAX(changed), 0) FROM placement_providerremoval))
"""
# One statement, so that bounds and rows come from one snapshot (see `change_feed`).
# A provider that was made again under the same uuid is not gone, whichever of the two stamps is higher.
_DELTA = """
WITH bounds AS ({bounds})
SELECT 'bounds' AS what, ended, own, unfinished AS word FROM bounds
UNION ALL
SELECT 'seen', 0, 0, seen FROM bounds
UNION ALL
SELECT 'ids', (SELECT MIN(id) FROM placement_resourceprovider), (SELECT MAX(id) FROM placement_resourceprovider), ''
UNION ALL
SELECT 'changed', provider.id, provider.changed, ''
  FROM placement_resourceprovider AS provider, bounds
 WHERE {provider_changed}
UNION ALL
SELECT 'removed', 0, removal.changed, CAST(removal.provider_uuid AS text)
  FROM placement_providerremoval AS removal, bounds
 WHERE {removal_changed}
   AND NOT EXISTS (SELECT 1 FROM placement_resourceprovider AS again WHERE again.uuid = removal.provider_uuid)
"""


@dataclass(frozen=True, slots=True)
class FleetDelta:
    """The changes of the fleet between a cursor and now.

    `delta_cursor` is the cursor for the next read; `own` is the stamp of the reader's own open transaction, 0 if it
    wrote nothing.
    `lowest` and `highest` are the ids of the first and the last provider there is. `changed`: {id: stamp}; `removed`:
    {uuid: stamp}.
    """

    delta_cursor: Cursor
    own: int
    lowest: int | None
    highest: int | None
    changed: dict[int, int]
    removed: dict[UUID, int]


def fleet_delta(since: Cursor = NOTHING_NEW) -> FleetDelta:
    """Read what became visible since `since`; without it only the cursor and ends. One query, index look-ups only."""
    statement = _DELTA.format(
        bounds=bounds_sql(sqlite_next=_SQLITE_NEXT),
        provider_changed=changed_sql("provider.changed", since),
        removal_changed=changed_sql("removal.changed", since),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, since_values(since) * 2)
        return _delta_of(cursor.fetchall())


def _delta_of(rows: list[tuple[Any, ...]]) -> FleetDelta:
    by_kind: dict[str, list[tuple[Any, Any, Any]]] = {
        "bounds": [], "seen": [], "ids": [], "changed": [], "removed": []
    }  # fmt: skip
    for what, first, second, word in rows:
        by_kind[what].append((first, second, word))
    ended, own, unfinished = by_kind["bounds"][0]
    lowest, highest, _ = by_kind["ids"][0]
    return FleetDelta(
        delta_cursor=cursor_from(ended=ended, own=own, unfinished=unfinished, seen=by_kind["seen"][0][2]),
        own=own,
        lowest=lowest,
        highest=highest,
        changed={provider_id: stamp for provider_id, stamp, _ in by_kind["changed"]},
        removed={UUID(uuid): stamp for _, stamp, uuid in by_kind["removed"]},
    )
