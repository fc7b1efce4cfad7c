"""Holding projects to their quotas of volumes, snapshots and backups."""

import uuid

from controlplane.identity.selectors import quota_limits
from servers.catalog.domain.quota import count_shortfalls
from servers.catalog.services.quota import quota_lock, shortfalls_refuse
from servers.volumes.selectors.quota import volume_quota_usage


def volumes_quota_require(
    *,
    project_id: uuid.UUID,
    volumes: int = 0,
    gib: int = 0,
    snapshots: int = 0,
    backups: int = 0,
    backup_gib: int = 0,
) -> None:
    """Hold the project's quota until the transaction ends, and raise QuotaExceeded when so much more would go over it.

    `gib` is of volumes and snapshots together. Called before rows or inventories are locked that projects share, so
    that all wait in the same order.
    """
    wanted = {
        "volumes": volumes,
        "volume_gib": gib,
        "volume_snapshots": snapshots,
        "volume_backups": backups,
        "volume_backup_gib": backup_gib,
    }
    asked = {name: count for name, count in wanted.items() if count > 0}
    if not asked:
        return
    quota_lock(project_id)
    used, limits = volume_quota_usage(project_id=project_id, names=list(asked)), quota_limits(project_id=project_id)
    shortfalls_refuse(count_shortfalls(wanted=asked, used=used, limits={name: getattr(limits, name) for name in asked}))
