"""Filters of lists: one class serves API, pages and admin."""

import django_filters
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import IContains

from controlplane.infra.list_filters import ListFilterSet, MomentFilter, YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from scheduling.conf import scheduling_options
from scheduling.fleet.domain.versions import newest_version
from scheduling.models import (
    Aggregate,
    AggregateHost,
    Cell,
    ComputeNode,
    HostMapping,
    SchedulerPolicy,
    Service,
    ShadowResult,
)
from scheduling.models.aggregate import ZONE_KEY
from scheduling.models.clock import clock_off_condition
from scheduling.models.liveness import up_condition
from scheduling.policies.domain.states import PolicyState


class CellFilterSet(ListFilterSet):
    """?name=, ?disabled="""

    class Meta:
        model = Cell
        fields = ["name", "disabled"]


class HostMappingFilterSet(ListFilterSet):
    """?host=, ?cell= (uuid)"""

    class Meta:
        model = HostMapping
        fields = ["host", "cell"]


class ServiceFilterSet(ListFilterSet):
    """?host=, ?binary=, ?disabled=, ?forced_down=, ?up="""

    up = YesNoFilter(method="by_up", label="Up now, by the database's clock.")

    class Meta:
        model = Service
        fields = ["host", "binary", "disabled", "forced_down"]

    def by_up(self, rows: QuerySet[Service], _name: str, value: bool) -> QuerySet[Service]:
        """Up or down."""
        return rows.filter(_alive("")) if value else rows.exclude(_alive(""))


class ComputeNodeFilterSet(ListFilterSet):
    """?host=, ?hypervisor_hostname=, ?hypervisor_type=, ?virt_type=, ?arch="""

    class Meta:
        model = ComputeNode
        fields = ["host", "hypervisor_hostname", "hypervisor_type", "virt_type", "arch"]


VERSION_FIELDS = [
    "agent_version", "protocol_version", "hypervisor_version", "libvirt_version", "kernel_version", "os_name",
]  # fmt: skip


class HostFilterSet(QuickSearch):
    """?q= (any attribute), ?search= (part of host or node), ?zone=, ?aggregate= (name), ?cell= (uuid), ?up=, ..."""

    search_fields = (
        "host", "hypervisor_hostname", "hypervisor_type", "virt_type", "arch", "host_ip", "agent_version",
        "os_name", "kernel_version", "service__disabled_reason",
    )  # fmt: skip

    search = django_filters.CharFilter(method="by_search", label="Part of the host's or the hypervisor's name.")
    up = YesNoFilter(method="by_up", label="Up now, by the database's clock.")
    disabled = YesNoFilter(field_name="service__disabled")
    forced_down = YesNoFilter(field_name="service__forced_down")
    zone = django_filters.CharFilter(method="by_zone", label="Availability zone.")
    aggregate = django_filters.CharFilter(method="by_aggregate", label="Name of an aggregate.")
    cell = django_filters.UUIDFilter(method="by_cell", label="Uuid of a cell.")
    behind = YesNoFilter(method="by_behind", label="Whether its agent is older than the newest.")
    clock_off = YesNoFilter(method="by_clock_off", label="Whether its clock is off.")

    class Meta:
        model = ComputeNode
        fields = ["host", "hypervisor_hostname", "hypervisor_type", "virt_type", "arch", *VERSION_FIELDS]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by the names of its aggregates and of its zone."""
        named = Aggregate.objects.filter(Q(name__icontains=word) | Q(**{f"metadata__{ZONE_KEY}__icontains": word}))
        return super().condition_of(word) | Q(host__in=_member_hosts(aggregate__in=named.values("pk")))

    def by_search(self, rows: QuerySet[ComputeNode], _name: str, value: str) -> QuerySet[ComputeNode]:
        """Either name, whatever the case."""
        return rows.filter(Q(host__icontains=value) | Q(hypervisor_hostname__icontains=value))

    def by_up(self, rows: QuerySet[ComputeNode], _name: str, value: bool) -> QuerySet[ComputeNode]:
        """Up or down."""
        return rows.filter(_alive("service__")) if value else rows.exclude(_alive("service__"))

    def by_zone(self, rows: QuerySet[ComputeNode], _name: str, value: str) -> QuerySet[ComputeNode]:
        """The default zone is that of hosts in no aggregate with a zone."""
        in_zone = _member_hosts(**{f"aggregate__metadata__{ZONE_KEY}": value})
        if value != scheduling_options().default_zone:
            return rows.filter(host__in=in_zone)
        zoned = _member_hosts(**{f"aggregate__metadata__{ZONE_KEY}__isnull": False})
        return rows.filter(Q(host__in=in_zone) | ~Q(host__in=zoned))

    def by_aggregate(self, rows: QuerySet[ComputeNode], _name: str, value: str) -> QuerySet[ComputeNode]:
        """Hosts of one aggregate."""
        return rows.filter(host__in=_member_hosts(aggregate__name=value))

    def by_behind(self, rows: QuerySet[ComputeNode], _name: str, value: bool) -> QuerySet[ComputeNode]:
        """Another version than the newest that any agent has."""
        newest = newest_version(ComputeNode.objects.order_by().values_list("agent_version", flat=True).distinct())
        return rows.exclude(agent_version=newest) if value else rows.filter(agent_version=newest)

    def by_clock_off(self, rows: QuerySet[ComputeNode], _name: str, value: bool) -> QuerySet[ComputeNode]:
        """By more than CLOCK_SKEW_WARNING_S for certain."""
        off = ComputeNode.objects.filter(clock_off_condition()).values("id")
        return rows.filter(id__in=off) if value else rows.exclude(id__in=off)

    def by_cell(self, rows: QuerySet[ComputeNode], _name: str, value: str) -> QuerySet[ComputeNode]:
        """Hosts mapped to one cell."""
        return rows.filter(host__in=HostMapping.objects.filter(cell_id=value).values("host"))


class AggregateFilterSet(QuickSearch):
    """?q= (any attribute), ?name=, ?host= (a member), ?availability_zone="""

    search_fields = ("name",)

    host = django_filters.CharFilter(field_name="members__host")
    availability_zone = django_filters.CharFilter(field_name=f"metadata__{ZONE_KEY}")

    class Meta:
        model = Aggregate
        fields = ["name"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by its metadata, its zone among it, and by its hosts."""
        metadata = Q(IContains(Cast("metadata", TextField()), word))
        members = AggregateHost.objects.filter(host__icontains=word)
        return super().condition_of(word) | metadata | Q(pk__in=members.values("aggregate_id"))


class PolicyFilterSet(QuickSearch):
    """?q= (any attribute; a version also as decisions name it), ?name=, ?version=, ?state= (several), ?shadow="""

    search_fields = ("name", "comment", "author")

    state = django_filters.MultipleChoiceFilter(choices=[(each.value, each.name.title()) for each in PolicyState])

    class Meta:
        model = SchedulerPolicy
        fields = ["name", "version", "shadow"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also `default-v3`, which is no column."""
        found = super().condition_of(word)
        name, sign, number = word.rpartition("-v")
        is_version = bool(sign) and number.isascii() and number.isdecimal() and len(number) < 10
        return found | Q(name__iexact=name, version=int(number)) if is_version else found


class ShadowResultFilterSet(ListFilterSet):
    """?outcome= (several), ?live_version=, ?decision=, ?created_after=, ?created_before="""

    outcome = django_filters.MultipleChoiceFilter(choices=ShadowResult._meta.get_field("outcome").choices)
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = ShadowResult
        fields = ["live_version", "decision"]


def _alive(prefix: str) -> Q:
    """Through the keys of those that are up, because a plain NOT would lose services that were never seen (NULL)."""
    up = Service.objects.filter(up_condition()).values("id")
    return Q(**{f"{prefix}id__in": up})


def _member_hosts(**lookup: object) -> QuerySet[AggregateHost, str]:
    return AggregateHost.objects.filter(**lookup).values_list("host", flat=True)
