"""Filters of instance lists, for the API and the page."""

import re
from typing import ClassVar

import django_filters
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from controlplane.identity.selectors.people import project_ids_like, user_ids_like
from controlplane.infra.list_filters import MomentFilter, YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from controlplane.kernel.texts import phrase
from controlplane.work.filtersets import WorkFilterSet
from scheduling.fleet.selectors.liveness import HostStatus, hosts_of_status
from servers.fields import refuse_if
from servers.models import ConsoleSession, Flavor, Image, Instance, InstanceTag
from servers.networks.selectors.address_search import addressed, instances_by_address, pattern_reasons
from servers.states import STATUSES, status_states

_PART_OF_AN_ADDRESS = re.compile(r"[0-9a-fA-F:.]{0,39}[.:][0-9a-fA-F:.]{0,39}")


class InstanceFilterSet(QuickSearch):
    """?q= (any attribute), ?name= (part of it), ?status=, ?vm_state=, ?flavor=, ?image=, ?tag=, ?created_after=, ..."""

    search_fields: ClassVar[tuple[str, ...]] = (
        "name",
        "description",
        "hostname",
        "availability_zone",
        "key_name",
    )  # fmt: skip
    search_json = ("metadata",)
    search_requests = ("request_id",)

    name = django_filters.CharFilter(lookup_expr="icontains")
    status = django_filters.CharFilter(method="by_status")
    flavor = django_filters.CharFilter(field_name="flavor__name")
    image = django_filters.UUIDFilter(field_name="image_id")
    tag = django_filters.CharFilter(field_name="tags__tag")
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    ip = django_filters.CharFilter(
        method="by_ipv4", help_text=_("An IPv4 address, or a regular expression from its start.")
    )
    ip6 = django_filters.CharFilter(method="by_ipv6", help_text=_("The same of IPv6."))

    class Meta:
        model = Instance
        fields = ["vm_state", "task_state", "power_state", "availability_zone", "reservation_id", "request_id"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by what hangs on it: its flavor, its image, its owner, its tags, its addresses."""
        found = super().condition_of(word)
        found |= Q(flavor_id__in=Flavor.objects.filter(name__icontains=word).values("pk"))
        found |= Q(image_id__in=Image.objects.filter(name__icontains=word).values("pk"))
        found |= Q(pk__in=InstanceTag.objects.filter(tag__icontains=word).values("instance_id"))
        found |= Q(user_id__in=user_ids_like(word))
        return found | addressed(word) if _PART_OF_AN_ADDRESS.fullmatch(word) else found

    def by_status(self, rows: QuerySet[Instance], _name: str, value: str) -> QuerySet[Instance]:
        """The API's status, asked as the pairs of states that show as it. Raises InvalidFields."""
        if value.upper() not in STATUSES:
            allowed = ", ".join(STATUSES)
            refuse_if(
                {"status": [phrase("Is {value!r:.80}; it must be one of {allowed}.", value=value, allowed=allowed)]}
            )
        wanted = Q(pk__in=[])
        for vm_state, task_state in status_states(value.upper()):
            wanted |= Q(vm_state=vm_state, task_state=task_state)
        return rows.filter(wanted)

    def by_ipv4(self, rows: QuerySet[Instance], name: str, value: str) -> QuerySet[Instance]:
        """Fixed and floating addresses. Raises InvalidFields."""
        refuse_if({name: pattern_reasons(value)})
        return instances_by_address(rows, value, version=4)

    def by_ipv6(self, rows: QuerySet[Instance], name: str, value: str) -> QuerySet[Instance]:
        """Fixed and floating addresses. Raises InvalidFields."""
        refuse_if({name: pattern_reasons(value)})
        return instances_by_address(rows, value, version=6)


class OperatorInstanceFilterSet(InstanceFilterSet):
    """The same, and what only operators may ask: ?host=, ?host_status="""

    search_fields = (*InstanceFilterSet.search_fields, "host", "node")

    host_status = django_filters.ChoiceFilter(
        method="by_host_status", choices=[(one.value, one.value) for one in HostStatus], label=_("Status of the host")
    )

    class Meta(InstanceFilterSet.Meta):
        fields = [*InstanceFilterSet.Meta.fields, "host"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by its project."""
        return super().condition_of(word) | Q(project_id__in=project_ids_like(word))

    def by_host_status(self, rows: QuerySet[Instance], _name: str, value: str) -> QuerySet[Instance]:
        """Those on hosts of this status. A host that is not registered is UNKNOWN; on no host, it has none."""
        status = HostStatus(value)
        if status is not HostStatus.UNKNOWN:
            return rows.filter(host__in=hosts_of_status(status))
        others = Q(pk__in=[])
        for one in (HostStatus.DOWN, HostStatus.MAINTENANCE, HostStatus.UP):
            others |= Q(host__in=hosts_of_status(one))
        return rows.exclude(host="").exclude(others)


def instance_filters(*, is_admin: bool) -> type[InstanceFilterSet]:
    """The filters that a caller may use: to a tenant the answer to `?host=` would tell where its instances run."""
    return OperatorInstanceFilterSet if is_admin else InstanceFilterSet


class ConsoleSessionFilterSet(QuickSearch):
    """Console sessions by any attribute, by instance, user, kind, and whether they are open."""

    search_fields = ("instance_name", "user__username", "client_address", "kind", "ended_because")
    search_ids = ("pk", "instance_uuid")

    instance = django_filters.UUIDFilter(field_name="instance_uuid")
    user = django_filters.UUIDFilter(field_name="user_id")
    is_open = YesNoFilter(field_name="ended_at", lookup_expr="isnull", label="Open now")

    class Meta:
        model = ConsoleSession
        fields = ["kind", "is_read_only"]


class InstanceWorkFilterSet(WorkFilterSet):
    """Work, also found by the name of its instance."""

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Whatever work is about is an instance or a batch of them."""
        named = Instance.objects.filter(name__icontains=word)
        return super().condition_of(word) | Q(subject__in=named.values("pk"))
