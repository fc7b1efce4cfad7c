"""Filters of lists: one class serves API, pages and admin."""

import django_filters
from django.db.models import Q, QuerySet

from scheduling.conf import scheduling_options
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
from scheduling.models.liveness import up_condition
from scheduling.policies.domain.states import PolicyState


class CellFilterSet(django_filters.FilterSet):
    """?name=, ?disabled="""

    class Meta:
        model = Cell
        fields = ["name", "disabled"]


class HostMappingFilterSet(django_filters.FilterSet):
    """?host=, ?cell= (uuid)"""

    class Meta:
        model = HostMapping
        fields = ["host", "cell"]


class ServiceFilterSet(django_filters.FilterSet):
    """?host=, ?binary=, ?disabled=, ?forced_down=, ?up="""

    up = django_filters.BooleanFilter(method="by_up", label="Up now, by the database's clock.")

    class Meta:
        model = Service
        fields = ["host", "binary", "disabled", "forced_down"]

    def by_up(self, rows: QuerySet[Service], _name: str, value: bool) -> QuerySet[Service]:
        """Up or down."""
        return rows.filter(_alive("")) if value else rows.exclude(_alive(""))


class ComputeNodeFilterSet(django_filters.FilterSet):
    """?host=, ?hypervisor_hostname=, ?hypervisor_type=, ?virt_type=, ?arch="""

    class Meta:
        model = ComputeNode
        fields = ["host", "hypervisor_hostname", "hypervisor_type", "virt_type", "arch"]


class HostFilterSet(django_filters.FilterSet):
    """?search= (part of host or node), ?zone=, ?aggregate= (uuid or name), ?cell= (uuid), ?up=, ?disabled=, ..."""

    search = django_filters.CharFilter(method="by_search", label="Part of the host's or the hypervisor's name.")
    up = django_filters.BooleanFilter(method="by_up", label="Up now, by the database's clock.")
    disabled = django_filters.BooleanFilter(field_name="service__disabled")
    forced_down = django_filters.BooleanFilter(field_name="service__forced_down")
    zone = django_filters.CharFilter(method="by_zone", label="Availability zone.")
    aggregate = django_filters.CharFilter(method="by_aggregate", label="Name of an aggregate.")
    cell = django_filters.UUIDFilter(method="by_cell", label="Uuid of a cell.")

    class Meta:
        model = ComputeNode
        fields = ["host", "hypervisor_hostname", "hypervisor_type", "virt_type", "arch"]

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

    def by_cell(self, rows: QuerySet[ComputeNode], _name: str, value: str) -> QuerySet[ComputeNode]:
        """Hosts mapped to one cell."""
        return rows.filter(host__in=HostMapping.objects.filter(cell_id=value).values("host"))


class AggregateFilterSet(django_filters.FilterSet):
    """?name=, ?host= (a member), ?availability_zone="""

    host = django_filters.CharFilter(field_name="members__host")
    availability_zone = django_filters.CharFilter(field_name=f"metadata__{ZONE_KEY}")

    class Meta:
        model = Aggregate
        fields = ["name"]


class PolicyFilterSet(django_filters.FilterSet):
    """?name=, ?version=, ?state= (several), ?shadow="""

    state = django_filters.MultipleChoiceFilter(choices=[(each.value, each.name.title()) for each in PolicyState])

    class Meta:
        model = SchedulerPolicy
        fields = ["name", "version", "shadow"]


class ShadowResultFilterSet(django_filters.FilterSet):
    """?outcome= (several), ?live_version=, ?decision=, ?created_after=, ?created_before="""

    outcome = django_filters.MultipleChoiceFilter(choices=ShadowResult._meta.get_field("outcome").choices)
    created_after = django_filters.IsoDateTimeFilter(field_name="created_at", lookup_expr="gte")
    created_before = django_filters.IsoDateTimeFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = ShadowResult
        fields = ["live_version", "decision"]


def _alive(prefix: str) -> Q:
    """Through the keys of those that are up, because a plain NOT would lose services that were never seen (NULL)."""
    up = Service.objects.filter(up_condition()).values("id")
    return Q(**{f"{prefix}id__in": up})


def _member_hosts(**lookup: object) -> QuerySet[AggregateHost, str]:
    return AggregateHost.objects.filter(**lookup).values_list("host", flat=True)
