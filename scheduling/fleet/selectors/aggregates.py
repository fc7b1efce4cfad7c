"""Aggregates for other apps: by name, with the hosts in them."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT, KeyTextTransform
from django.db.models.functions import Coalesce

from controlplane.infra.natural_order import natural_order
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.models import Aggregate, AggregateHost, HostMapping
from scheduling.models.aggregate import ZONE_KEY

AggregateRow = Aggregate
"""What `aggregates_with_hosts` has, for the signatures of doors."""


def aggregate_members(*, aggregate_id: UUID) -> tuple[str, tuple[str, ...]]:
    """Its name, and its hosts in order. Raises NotFound."""
    name = Aggregate.objects.filter(pk=aggregate_id).values_list("name", flat=True).first()
    if name is None:
        raise NotFound(_("Aggregate {aggregate_id} does not exist.", aggregate_id=aggregate_id))
    hosts = AggregateHost.objects.filter(aggregate_id=aggregate_id).order_by("host").values_list("host", flat=True)
    return name, tuple(hosts)


def aggregates_of_host(*, host: str) -> list[tuple[UUID, str]]:
    """The aggregates that a host is in, by name."""
    rows = AggregateHost.objects.filter(host=host).order_by("aggregate__name")
    return list(rows.values_list("aggregate_id", "aggregate__name"))


def aggregates_named() -> list[tuple[UUID, str]]:
    """All of them, by name."""
    return list(Aggregate.objects.order_by("name").values_list("pk", "name"))


def aggregates_listed() -> QuerySet[Aggregate]:
    """All of them, each with its zone (`zone`) and how many hosts it has (`host_count`)."""
    members = AggregateHost.objects.filter(aggregate=OuterRef("pk")).order_by().values("aggregate")
    count = Subquery(members.annotate(many=Count("pk")).values("many"), output_field=IntegerField())
    return Aggregate.objects.annotate(zone=KT(f"metadata__{ZONE_KEY}"), host_count=Coalesce(count, 0))


def aggregates_with_hosts() -> QuerySet[Aggregate]:
    """All of them by name, with their hosts. Two queries."""
    return Aggregate.objects.prefetch_related("members").order_by("name")


def aggregate_get(*, aggregate_id: UUID) -> Aggregate:
    """One of them. Raises NotFound."""
    aggregate = Aggregate.objects.filter(pk=aggregate_id).first()
    if aggregate is None:
        raise NotFound(_("There is no aggregate {aggregate_id}.", aggregate_id=aggregate_id))
    return aggregate


def hosts_of_aggregate(*, aggregate_id: UUID) -> frozenset[str]:
    """Its hosts. One query."""
    return frozenset(AggregateHost.objects.filter(aggregate_id=aggregate_id).values_list("host", flat=True))


def zones_elsewhere(*, hosts: Collection[str], aggregate_id: UUID | None = None) -> dict[str, tuple[str, str]]:
    """Of those of these hosts that an aggregate puts into a zone, its name and the zone; `aggregate_id` is left out.

    One query, of the aggregates that make zones.
    """
    wanted = frozenset(hosts)
    makers = AggregateHost.objects.filter(**{f"aggregate__metadata__{ZONE_KEY}__isnull": False})
    others = makers if aggregate_id is None else makers.exclude(aggregate_id=aggregate_id)
    rows = others.annotate(zone=KeyTextTransform(ZONE_KEY, "aggregate__metadata")).order_by("aggregate__name")
    found: dict[str, tuple[str, str]] = {}
    for host, name, zone in rows.values_list("host", "aggregate__name", "zone"):
        if host in wanted and zone:
            found.setdefault(host, (name, zone))
    return found


def hosts_mapped(*, search: str = "", within: Collection[str] | None = None) -> QuerySet[HostMapping]:
    """Hosts that can be in aggregates, in the order in which people count: those with `search` in their name, and
    `within` these names only where some are given.
    """
    rows = HostMapping.objects.order_by(*natural_order("host"))
    if search:
        rows = rows.filter(host__icontains=search)
    return rows if within is None else rows.filter(host__in=list(within))
