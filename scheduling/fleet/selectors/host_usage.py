"""How busy a host was, and whether what was promised of it is what it really has; out of rows."""

from dataclasses import dataclass

from controlplane.infra.db import db_now
from scheduling.fleet.domain.host_reality import Figures, HostReality, host_reality
from scheduling.fleet.domain.usage_history import HistorySpan
from scheduling.fleet.selectors.hosts import HostOverview
from scheduling.models import HostUsageSample


@dataclass(frozen=True, slots=True)
class HostHistory:
    """The samples from `since_s` to `until_s` (Unix seconds), oldest first, one each step at most."""

    span: HistorySpan
    since_s: int
    until_s: int
    samples: tuple[HostUsageSample, ...]


def host_history(*, host: str, span: HistorySpan) -> HostHistory:
    """Two queries."""
    until_s = int(db_now().timestamp())
    since_s = until_s - span.seconds
    rows = HostUsageSample.objects.filter(host=host, step_s=span.step_s, at_s__gte=since_s).order_by("at_s")
    return HostHistory(span, since_s, until_s, tuple(rows))


def reality_of_host(shown: HostOverview) -> list[HostReality]:
    """Memory and disk, and vCPUs with those that are pinned; no query."""
    node = shown.node
    metrics = node.metrics if shown.has_fresh_metrics else {}

    def promised(*names: str) -> int:
        return sum(shown.usage[name].used for name in names if name in shown.usage)

    vcpus = Figures("vCPUs", "", node.vcpus + node.dedicated_vcpus, node.vcpus_used, "guests.vcpus")
    memory = Figures(
        "Memory", "MiB", node.memory_mib, node.memory_used_mib, "guests.memory.mib", "memory.available.mib"
    )
    disk = Figures("Disk", "GiB", node.disk_gib, node.disk_used_gib, "", "disk.free.gib")
    return [
        host_reality(vcpus, promised("VCPU", "PCPU"), metrics),
        host_reality(memory, promised("MEMORY_MB"), metrics),
        host_reality(disk, promised("DISK_GB"), metrics),
    ]
