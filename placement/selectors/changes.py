"""What changed in the fleet since a reader last looked; how `models.stamp` is read.

PostgreSQL: the stamp is the number of the writing transaction. A reader's mark is the oldest transaction that was
still open when it looked: every lower one was finished, so its changes were seen. Next time it asks for stamps from
there on, and may meet a few changes again, never miss one. SQLite: writers are serial, stamps grow, and the mark is
the highest stamp seen.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef

from placement.models import ProviderRemoval, ResourceProvider

# Stamps above what this server has handed out come from a restored copy of another one; the first full load of every
# reader has them, so they are no news. The reader's own transaction may be above all that ended, yet it sees itself.
_POSTGRES = """
SELECT pg_snapshot_xmin(s)::text::bigint,
       GREATEST(pg_snapshot_xmax(s)::text::bigint, 1 + pg_current_xact_id_if_assigned()::text::bigint)
  FROM pg_current_snapshot() AS s
"""
_SQLITE = """
SELECT MAX((SELECT COALESCE(MAX(changed), 0) FROM placement_resourceprovider),
           (SELECT COALESCE(MAX(changed), 0) FROM placement_providerremoval))
"""


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """How far a reader has seen: every change with a lower stamp than `since`."""

    since: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What to load again and what to forget; and the mark for the next look."""

    mark: ChangeMark
    changed: frozenset[UUID]
    removed: frozenset[UUID]

    @property
    def is_empty(self) -> bool:
        """Nothing changed."""
        return not self.changed and not self.removed


def change_mark() -> ChangeMark:
    """The mark of a reader that is about to load everything. Take it before loading."""
    return ChangeMark(_bounds()[0])


def changes_since(mark: ChangeMark) -> Changes:
    """What changed since `mark`: three index look-ups, whatever the size of the fleet."""
    since, end = _bounds()
    changed = ResourceProvider.objects.filter(changed__gte=mark.since, changed__lt=end)
    # Made again under the same uuid, it is not gone, whichever of the two stamps is higher.
    again = ResourceProvider.objects.filter(uuid=OuterRef("provider_uuid"))
    removed = ProviderRemoval.objects.filter(~Exists(again), changed__gte=mark.since, changed__lt=end)
    present = frozenset(changed.order_by().values_list("uuid", flat=True))
    gone = frozenset(removed.order_by().values_list("provider_uuid", flat=True))
    return Changes(ChangeMark(since), present, gone)


def _bounds() -> tuple[int, int]:
    """(every lower stamp is visible by now, no visible stamp is this high)."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRES)
            since, end = cursor.fetchone()
        else:
            cursor.execute(_SQLITE)
            since = cursor.fetchone()[0] + 1
            end = since
    return since, end
