"""What runs on the hosts: how many have which version of each component, and who is behind in an upgrade."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import BooleanField, Case, Count, Value, When

from scheduling.fleet.domain.versions import newest_version, version_order
from scheduling.models import ComputeNode
from scheduling.models.liveness import up_condition

COMPONENTS = {
    "agent": "agent_version",
    "protocol": "protocol_version",
    "service": "service__version",
    "hypervisor": "hypervisor_version",
    "libvirt": "libvirt_version",
    "kernel": "kernel_version",
    "os": "os_name",
}
"""Component, and the column that has its version."""
INCOMPARABLE = frozenset({"kernel", "os"})
"""Distributions count their own way: a larger number is not a newer one."""
LACKED = frozenset({"libvirt"})
"""A host may have none, as one that simulates its guests."""
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VersionCount:
    """Hosts with one version: that are up, and those whose agent is silent. `value` is the column's."""

    version: str
    value: str
    up: int
    silent: int
    is_newest: bool


@dataclass(frozen=True, slots=True)
class ComponentVersions:
    """Newest first; `behind` counts hosts that are up with another version. None: they cannot be compared."""

    component: str
    column: str
    versions: tuple[VersionCount, ...]
    behind: int | None


@dataclass(frozen=True, slots=True)
class FleetVersions:
    """All components over all hosts."""

    up: int
    silent: int
    components: tuple[ComponentVersions, ...]


def fleet_versions() -> FleetVersions:
    """One query, whose answer has a row for each combination of versions that exists, not for each host."""
    is_up = Case(When(up_condition("service__"), then=Value(True)), default=Value(False), output_field=BooleanField())
    rows = ComputeNode.objects.order_by().annotate(is_alive=is_up)
    columns = (*COMPONENTS.values(), "hypervisor_type", "is_alive")
    counts: dict[str, dict[tuple[str, str], list[int]]] = {name: defaultdict(lambda: [0, 0]) for name in COMPONENTS}
    totals = [0, 0]
    for *values, hypervisor, alive, many in rows.values_list(*columns).annotate(many=Count("pk")):
        side = 0 if alive else 1
        totals[side] += many
        for name, value in zip(COMPONENTS, values, strict=True):
            shown = _shown(name, value, hypervisor)
            counts[name][shown, str(value)][side] += many
    made = tuple(_component(name, COMPONENTS[name], found) for name, found in counts.items())
    return FleetVersions(totals[0], totals[1], made)


def hypervisor_version_text(number: int) -> str:
    """`8.2.0` of libvirt's 8002000; "" of 0."""
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}" if number else ""


def _shown(name: str, value: object, hypervisor: str) -> str:
    if name == "hypervisor":
        return f"{hypervisor} {hypervisor_version_text(int(str(value)))}".strip()
    return str(value or "")


def _newest(shown: Iterable[str]) -> set[str]:
    """Of each kind of hypervisor, which stands before the version; else there is one kind."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for one in shown:
        kinds[one.rpartition(" ")[0]].append(one)
    return {newest_version(versions) for versions in kinds.values()} - {""}


def _component(name: str, column: str, counts: Mapping[tuple[str, str], list[int]]) -> ComponentVersions:
    newest = set() if name in INCOMPARABLE else _newest(shown for shown, _ in counts)
    ranked = sorted(counts.items(), key=lambda item: (item[0][0] != "", version_order(item[0][0])), reverse=True)
    versions = tuple(
        VersionCount(shown or UNKNOWN, value, up, silent, shown in newest) for (shown, value), (up, silent) in ranked
    )
    others = [one for one in versions if not one.is_newest and not (name in LACKED and one.version == UNKNOWN)]
    behind = sum(one.up for one in others) if newest else None
    return ComponentVersions(name, column, versions, behind)


@dataclass(frozen=True, slots=True)
class AgentsBehind:
    """How many hosts that are up have an older agent than the newest one of them."""

    hosts: int
    newest: str
    versions: tuple[tuple[str, int], ...]
    """Older versions with the hosts that have them, the newest of them first."""


def agents_behind(*, silent: Iterable[str]) -> AgentsBehind:
    """Of the hosts that are not `silent`. One query, with a row for each version."""
    rows = ComputeNode.objects.exclude(host__in=list(silent)).exclude(agent_version="").order_by()
    counts = dict(rows.values_list("agent_version").annotate(many=Count("pk")))
    newest = newest_version(counts)
    older = sorted(
        ((version, many) for version, many in counts.items() if version != newest),
        key=lambda one: version_order(one[0]),
        reverse=True,
    )
    return AgentsBehind(sum(many for _, many in older), newest, tuple(older))
