"""Availability zones: what the aggregates' metadata makes, and the default zone for all other hosts."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection
from django.db.models.fields.json import KeyTextTransform

from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.natural import natural_key
from scheduling.conf import scheduling_options
from scheduling.models import AggregateHost, ComputeNode
from scheduling.models.aggregate import ZONE_KEY, Aggregate
from scheduling.models.liveness import up_condition


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone is available when one of its hosts is up and enabled. `hosts` is for operators."""

    name: str
    is_available: bool
    hosts: tuple[str, ...]


def zone_list() -> list[Zone]:
    """Every zone by name. Zones of aggregates without hosts are there, and not available. Four queries."""
    default = scheduling_options().default_zone
    zone_of = zones_by_host()
    members: dict[str, list[str]] = {name: [] for name in _zone_names()}
    for host in ComputeNode.objects.order_by().values_list("host", flat=True).distinct():
        members.setdefault(zone_of.get(host, default), []).append(host)
    ready = set(
        ComputeNode.objects.filter(up_condition("service__"), service__disabled=False).values_list("host", flat=True)
    )
    zones: list[Zone] = []
    for name in sorted(members, key=natural_key):
        hosts = tuple(sorted(members[name], key=natural_key))
        zones.append(Zone(name=name, is_available=not ready.isdisjoint(hosts), hosts=hosts))
    return zones


def default_zone() -> str:
    """The zone of hosts that no aggregate puts into one."""
    return scheduling_options().default_zone


def zones_named() -> list[str]:
    """Their names, the default one among them. One query."""
    return sorted({scheduling_options().default_zone, *_zone_names()}, key=natural_key)


def zone_exists(*, name: str) -> bool:
    """Whether an aggregate makes this zone, or it is the default one."""
    return (
        name == scheduling_options().default_zone
        or Aggregate.objects.filter(**{f"metadata__{ZONE_KEY}": name}).exists()
    )


def zone_of_host(*, host: str) -> str:
    """The zone a host is in."""
    return zones_by_host(hosts=[host]).get(host, scheduling_options().default_zone)


# Each claim asks for the zones of its hosts. That the ORM does not write and the database does not plan this anew
# saves 0.45 of the 7 ms of CPU of a choice of host. On SQLite, and for all hosts, the ORM asks.
_OF_THESE = PreparedStatement(
    "zones_by_host",
    lambda: (
        f"SELECT member.host, aggregate.metadata ->> '{ZONE_KEY}'"  # noqa: S608 - a key of ours
        f" FROM {AggregateHost._meta.db_table} member"
        f" JOIN {Aggregate._meta.db_table} aggregate ON aggregate.id = member.aggregate_id"
        f" WHERE aggregate.metadata -> '{ZONE_KEY}' IS NOT NULL AND member.host = ANY(%s)"
    ),
    types=["text[]"],
)


def zones_by_host(*, hosts: Collection[str] | None = None) -> dict[str, str]:
    """Zones of the hosts, or of these, that are in an aggregate with one. One query."""
    if hosts is not None and connection.vendor == "postgresql":
        return {host: zone for host, zone in _OF_THESE.rows([list(hosts)]) if zone}
    members = AggregateHost.objects.filter(aggregate__metadata__has_key=ZONE_KEY).order_by()
    if hosts is not None:
        members = members.filter(host__in=hosts)
    pairs = members.values_list("host", KeyTextTransform(ZONE_KEY, "aggregate__metadata"))
    return {host: zone for host, zone in pairs if zone}


def _zone_names() -> set[str]:
    zones = (aggregate.availability_zone for aggregate in Aggregate.objects.all())
    return {zone for zone in zones if zone}
