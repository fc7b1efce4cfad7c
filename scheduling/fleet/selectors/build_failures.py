"""The failed builds of a host that count against it now, for its page."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from scheduling.models import BuildFailures, ComputeNode


@dataclass(frozen=True, slots=True)
class FailedBuild:
    """`instance_uuid` is empty where it is not known any more."""

    instance_uuid: str
    failed_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class HostBuildFailures:
    """Those that count, newest first, as far as they are remembered; and since when they disable the host, if so."""

    builds: tuple[FailedBuild, ...] = ()
    disabled_at: datetime | None = None


def host_build_failures(*, host: str) -> HostBuildFailures:
    """Of this host; none for one whose last build worked."""
    row = BuildFailures.objects.filter(host=host).first()
    counting = ComputeNode.objects.filter(host=host).aggregate(maximum=Max("failed_builds"))["maximum"] or 0
    if row is None or not counting:
        return HostBuildFailures()
    builds = tuple(
        FailedBuild(one["instance_uuid"], datetime.fromisoformat(one["failed_at"]), one["reason"])
        for one in reversed(row.recent[-counting:])
    )
    return HostBuildFailures(builds, row.disabled_at)
