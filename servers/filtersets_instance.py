"""Filters of instance lists, for the API and the page."""

from collections.abc import Mapping

import django_filters
from django.db.models import Q, QuerySet

from controlplane.kernel.ids import parse_uuid
from servers.models import BuildRequest, Instance
from servers.states import status_states


class InstanceFilterSet(django_filters.FilterSet):
    """?name= (part of it), ?status=, ?vm_state=, ?flavor=, ?image=, ?tag=, ?created_after=, ..."""

    name = django_filters.CharFilter(lookup_expr="icontains")
    status = django_filters.CharFilter(method="by_status")
    flavor = django_filters.CharFilter(field_name="flavor__name")
    image = django_filters.UUIDFilter(field_name="image_id")
    tag = django_filters.CharFilter(field_name="tags__tag")
    created_after = django_filters.IsoDateTimeFilter(field_name="created_at", lookup_expr="gte")
    created_before = django_filters.IsoDateTimeFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = Instance
        fields = ["vm_state", "task_state", "power_state", "availability_zone", "reservation_id", "request_id"]

    def by_status(self, rows: QuerySet[Instance], _name: str, value: str) -> QuerySet[Instance]:
        """The API's status, asked as the pairs of states that show as it."""
        wanted = Q(pk__in=[])
        for vm_state, task_state in status_states(value.upper()):
            wanted |= Q(vm_state=vm_state, task_state=task_state)
        return rows.filter(wanted)

    @classmethod
    def pending(cls, rows: QuerySet[BuildRequest], params: Mapping[str, str]) -> QuerySet[BuildRequest]:
        """The same filters for instances that have no row yet.

        Filters on what only a row has (host, tags, times) hide them; what is no filter hides nothing, as with rows.
        """
        given = {key: value for key, value in params.items() if value and key in cls.base_filters}
        for key, value in given.items():
            if key in _OF_A_BODY:
                rows = rows.filter(**{f"instance_body__{_OF_A_BODY[key]}": value})
            elif key == "status":
                wanted = Q(pk__in=[])
                for vm_state, task_state in status_states(value.upper()):
                    wanted |= Q(instance_body__vm_state=vm_state, instance_body__task_state=task_state)
                rows = rows.filter(wanted)
            elif key == "request_id":
                rows = rows.filter(request_id__iexact=value)
            elif key == "reservation_id" and (reservation := parse_uuid(value)):
                rows = rows.filter(reservation_id=reservation)
            else:
                return rows.none()
        return rows


class OperatorInstanceFilterSet(InstanceFilterSet):
    """The same, and what only operators may ask: ?host="""

    class Meta(InstanceFilterSet.Meta):
        fields = [*InstanceFilterSet.Meta.fields, "host"]


def instance_filters(*, is_admin: bool) -> type[InstanceFilterSet]:
    """The filters that a caller may use: to a tenant the answer to `?host=` would tell where its instances run."""
    return OperatorInstanceFilterSet if is_admin else InstanceFilterSet


_OF_A_BODY = {
    "name": "name__icontains",
    "vm_state": "vm_state__iexact",
    "flavor": "flavor__name__iexact",
    "image": "image_id__iexact",
}
