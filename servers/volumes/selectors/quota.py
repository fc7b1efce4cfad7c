"""Counting what a project has of volumes. It is counted each time and never stored.

As in Cinder, snapshots take of the same GiB as volumes do, and a volume that is being extended takes its new size.
"""

import uuid
from collections.abc import Collection

from django.db import connection

from controlplane.identity.domain.quota import VOLUME_LIMITS
from controlplane.identity.selectors import quota_limits
from controlplane.infra.db import uuid_value
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.quota import QuotaLine

# Asked for every create: one statement for all that is asked for. Each takes the project twice, so that all are alike.
_COUNTS = {
    "volumes": "SELECT count(*) FROM servers_volume WHERE project_id IN (%s, %s)",
    "volume_gib": (
        "SELECT COALESCE(SUM(gib), 0) FROM ("
        "SELECT CASE WHEN wanted_gib > size_gib THEN wanted_gib ELSE size_gib END AS gib"
        " FROM servers_volume WHERE project_id = %s"
        " UNION ALL SELECT size_gib AS gib FROM servers_volumesnapshot WHERE project_id = %s) AS held"
    ),
    "volume_snapshots": "SELECT count(*) FROM servers_volumesnapshot WHERE project_id IN (%s, %s)",
    "volume_backups": "SELECT count(*) FROM servers_volumebackup WHERE project_id IN (%s, %s)",
    "volume_backup_gib": "SELECT COALESCE(SUM(size_gib), 0) FROM servers_volumebackup WHERE project_id IN (%s, %s)",
}
_LABELS = {
    "volumes": (gettext_noop("Volumes"), ""),
    "volume_gib": (gettext_noop("Volumes and snapshots"), "GiB"),
    "volume_snapshots": (gettext_noop("Volume snapshots"), ""),
    "volume_backups": (gettext_noop("Volume backups"), ""),
    "volume_backup_gib": (gettext_noop("Backed-up volumes"), "GiB"),
}


def volume_quota_usage(*, project_id: uuid.UUID, names: Collection[str] = VOLUME_LIMITS) -> dict[str, int]:
    """How much of each the project has. One query."""
    text = ", ".join(f"({_COUNTS[name]})" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {text}", [uuid_value(project_id)] * 2 * len(names))
        return {name: int(count) for name, count in zip(names, cursor.fetchone(), strict=True)}


def volume_quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project uses of what it may, for people."""
    used, limits = volume_quota_usage(project_id=project_id), quota_limits(project_id=project_id)
    return [QuotaLine(*_LABELS[name], used[name], getattr(limits, name)) for name in VOLUME_LIMITS]
