"""Quotas of volumes under Cinder's names."""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.domain import QuotaLimits
from servers.openstack.volume.shapes_installation import (
    AbsoluteVolumeLimits,
    FixedLimits,
    LimitUse,
    VolumeLimits,
    VolumeLimitUses,
)

NAMES: Mapping[str, str] = {
    "volumes": "volumes",
    "gigabytes": "volume_gib",
    "snapshots": "volume_snapshots",
    "backups": "volume_backups",
    "backup_gigabytes": "volume_backup_gib",
}
"""Cinder's name of each limit, and ours."""
FIXED: FixedLimits = {"per_volume_gigabytes": -1, "groups": 0}
"""What Cinder limits too: here a volume is as large as its type allows, and groups of volumes are absent."""


def limits_json(limits: QuotaLimits) -> VolumeLimits:
    """Each limit; -1 is none."""
    return {
        "volumes": limits.volumes,
        "gigabytes": limits.volume_gib,
        "snapshots": limits.volume_snapshots,
        "backups": limits.volume_backups,
        "backup_gigabytes": limits.volume_backup_gib,
        **FIXED,
    }


def usage_json(limits: QuotaLimits, used: Mapping[str, int]) -> VolumeLimitUses:
    """Each limit with what is used of it; nothing is reserved, since what is asked for is counted at once."""
    return {
        "volumes": _usage(limits.volumes, used["volumes"]),
        "gigabytes": _usage(limits.volume_gib, used["volume_gib"]),
        "snapshots": _usage(limits.volume_snapshots, used["volume_snapshots"]),
        "backups": _usage(limits.volume_backups, used["volume_backups"]),
        "backup_gigabytes": _usage(limits.volume_backup_gib, used["volume_backup_gib"]),
        "per_volume_gigabytes": _usage(FIXED["per_volume_gigabytes"], 0),
        "groups": _usage(FIXED["groups"], 0),
    }


def absolute_json(limits: QuotaLimits, used: Mapping[str, int]) -> AbsoluteVolumeLimits:
    """The same as the limits show it."""
    return {
        "maxTotalVolumes": limits.volumes,
        "totalVolumesUsed": used["volumes"],
        "maxTotalVolumeGigabytes": limits.volume_gib,
        "totalGigabytesUsed": used["volume_gib"],
        "maxTotalSnapshots": limits.volume_snapshots,
        "totalSnapshotsUsed": used["volume_snapshots"],
        "maxTotalBackups": limits.volume_backups,
        "totalBackupsUsed": used["volume_backups"],
        "maxTotalBackupGigabytes": limits.volume_backup_gib,
        "totalBackupGigabytesUsed": used["volume_backup_gib"],
    }


def _usage(limit: int, in_use: int) -> LimitUse:
    return {"limit": limit, "in_use": in_use, "reserved": 0, "allocated": 0}


def limits_asked(said: Mapping[str, Any]) -> dict[str, int]:
    """Our limits of a body that a schema judged; null leaves one as it is."""
    return {ours: int(said[name]) for name, ours in NAMES.items() if said.get(name) is not None}
