"""Availability zones by resource: what may be allocated in each, and what is, on the hosts that are up."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from controlplane.kernel.natural import natural_key
from placement.selectors import ResourceSum, usage_by_aggregate, usage_of_compute_nodes
from scheduling.conf import scheduling_options
from scheduling.models import Aggregate, AggregateHost, ComputeNode, Service
from scheduling.models.aggregate import ZONE_KEY


@dataclass(frozen=True, slots=True)
class ZoneUsage:
    """A zone. `usage` leaves out hosts that are down: nothing can be built there, and nothing is known of them."""

    name: str
    hosts: int
    down: int
    disabled: int
    usage: Mapping[str, ResourceSum]

    @property
    def up(self) -> int:
        """Hosts whose agent is there."""
        return self.hosts - self.down


@dataclass(frozen=True, slots=True)
class FleetUsage:
    """The fleet and its zones, by name."""

    whole: ZoneUsage
    zones: tuple[ZoneUsage, ...]


def fleet_usage_by_zone(*, silent: Mapping[str, object]) -> FleetUsage:
    """All zones with hosts. `silent` are the hosts that are down, as `hosts_silent` has them. Eight queries at most."""
    zone_of = {
        row.pk: str(row.metadata[ZONE_KEY])
        for row in Aggregate.objects.filter(metadata__has_key=ZONE_KEY).order_by("name")
        if row.metadata[ZONE_KEY]
    }
    nodes_away = list(ComputeNode.objects.filter(host__in=silent).order_by().values_list("id", flat=True))
    disabled = set(Service.objects.filter(disabled=True).values_list("host", flat=True))
    members = _members(zone_of)
    away = _members(zone_of, hosts=set(silent))
    shut = _members(zone_of, hosts=disabled)
    sums: dict[str, Mapping[str, ResourceSum]] = {}
    for aggregate, classes in usage_by_aggregate(list(zone_of), without=nodes_away).items():
        sums[zone_of[aggregate]] = _added(sums.get(zone_of[aggregate], {}), classes)
    zones = [ZoneUsage(name, members[name], away[name], shut[name], sums.get(name, {})) for name in members]
    hosts = ComputeNode.objects.count()
    usage: Mapping[str, ResourceSum] = {}
    if hosts == members.total():
        for zone in zones:
            usage = _added(usage, zone.usage)
    else:
        usage = usage_of_compute_nodes(without=nodes_away)
    whole = ZoneUsage("", hosts, down=len(nodes_away), disabled=len(disabled), usage=usage)
    zones += _default_zone(whole, zones)
    return FleetUsage(whole, tuple(sorted(zones, key=lambda zone: natural_key(zone.name))))


def _members(zone_of: Mapping[UUID, str], *, hosts: set[str] | None = None) -> Counter[str]:
    """{zone: how many hosts}, of these hosts or of all. A host is in one zone only."""
    rows = AggregateHost.objects.filter(aggregate__in=zone_of).order_by()
    rows = rows if hosts is None else rows.filter(host__in=hosts)
    found: Counter[str] = Counter()
    for aggregate, many in rows.values_list("aggregate").annotate(Count("pk")):
        found[zone_of[aggregate]] += many
    return found


def _added(one: Mapping[str, ResourceSum], other: Mapping[str, ResourceSum]) -> Mapping[str, ResourceSum]:
    nothing = ResourceSum(0, 0, 0)
    return {
        name: ResourceSum(*map(sum, zip(one.get(name, nothing), other.get(name, nothing), strict=True)))
        for name in {**one, **other}
    }


def _default_zone(whole: ZoneUsage, zones: list[ZoneUsage]) -> list[ZoneUsage]:
    """The hosts that are in no aggregate with a zone: what the zones leave of the whole."""
    hosts = whole.hosts - sum(zone.hosts for zone in zones)
    if hosts <= 0:
        return []
    usage = dict(whole.usage)
    for zone in zones:
        for name, one in zone.usage.items():
            left = usage[name]
            usage[name] = ResourceSum(left.total - one.total, left.capacity - one.capacity, left.used - one.used)
    return [
        ZoneUsage(
            scheduling_options().default_zone,
            hosts,
            whole.down - sum(zone.down for zone in zones),
            whole.disabled - sum(zone.disabled for zone in zones),
            {name: one for name, one in usage.items() if one.total > 0},
        )
    ]
