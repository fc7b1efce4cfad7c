"""Which zone a host is in: only one, and the same for as long as instances are on it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from placement.services import providers_lock
from scheduling.errors import HostInUse, ZoneConflict
from scheduling.fleet.selectors.neighbours import neighbours_now
from scheduling.fleet.selectors.zones import default_zone, zones_by_host
from scheduling.models import Aggregate, AggregateHost, ComputeNode, HostMapping


@contextmanager
def zones_unchanged(hosts: Iterable[str]) -> Iterator[None]:
    """Hosts with instances are in the same zone afterwards as before: an instance keeps the zone that it was made in.

    So does one that has a claim there and no row yet. Raises HostInUse, for which the caller's transaction must be
    undone; NotFound for a host that there is not.
    """
    locked = hosts_lock(hosts)
    nodes = dict(ComputeNode.objects.filter(host__in=locked).values_list("pk", "host"))
    # Who claims there has done so and is counted below, or waits and then asks which zone the host is in.
    providers_lock(nodes)
    before = zones_by_host(hosts=locked)
    yield
    after, default = zones_by_host(hosts=locked), default_zone()
    moved = [host for host in locked if before.get(host, default) != after.get(host, default)]
    counts = _instance_counts({node: host for node, host in nodes.items() if host in moved})
    in_use = [host for host in moved if counts.get(host)]
    if not in_use:
        return
    first, instances = in_use[0], sum(counts[host] for host in in_use)
    raise HostInUse(
        _(
            "{hosts} host(s) with {instances} instance(s) would change their availability zone, {first} from {old} to "
            "{new}: move or delete the instances first.",
            hosts=len(in_use),
            instances=instances,
            first=first,
            old=before.get(first, default),
            new=after.get(first, default),
        ),
        field="metadata",
        hosts=len(in_use),
        instances=instances,
        host=first,
        zone=before.get(first, default),
        wanted_zone=after.get(first, default),
    )


def _instance_counts(nodes: Mapping[UUID, str]) -> dict[str, int]:
    """How many are on each host or have a claim there."""
    there: dict[str, set[str]] = defaultdict(set)
    for node, neighbours in (neighbours_now(nodes) if nodes else {}).items():
        there[nodes[node]].update(one.uuid for one in neighbours)
    return {host: len(uuids) for host, uuids in there.items()}


def hosts_lock(hosts: Iterable[str]) -> list[str]:
    """Lock the hosts' mappings in a fixed order: no two changes put one host into two zones. Raises NotFound."""
    wanted = sorted(set(hosts))
    mappings = HostMapping.objects.select_for_update().filter(host__in=wanted).order_by("host")
    found = [mapping.host for mapping in mappings]
    missing = [host for host in wanted if host not in found]
    if missing:
        raise NotFound(_("There is no host {missing}.", missing=missing[0]), field="host")
    return found


def zone_of_hosts_check(aggregate: Aggregate, hosts: Collection[str]) -> None:
    """Raises ZoneConflict where one of these is in another zone than this aggregate makes."""
    zone = aggregate.availability_zone
    if zone is None or not hosts:
        return
    others = AggregateHost.objects.filter(host__in=hosts).exclude(aggregate=aggregate).select_related("aggregate")
    for member in others:
        other = member.aggregate.availability_zone
        if other is not None and other != zone:
            raise ZoneConflict(
                _(
                    "Host {host} is in availability zone {other} (aggregate {aggregate}) and cannot be in {zone} too.",
                    host=member.host,
                    other=other,
                    aggregate=member.aggregate.name,
                    zone=zone,
                ),
                field="host",
                host=member.host,
                zone=other,
                wanted_zone=zone,
            )
