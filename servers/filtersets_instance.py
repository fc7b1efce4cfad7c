"""Filters of instance lists, for the API and the page."""

from collections.abc import Callable, Mapping

import django_filters
from django.db.models import Q, QuerySet

from servers.models import Instance
from servers.states import api_status, status_states


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
    def keeper(cls, params: Mapping[str, str]) -> Callable[[Instance], bool]:
        """The same filters for instances that have no row yet: which of them to show.

        Filters on what only a row has (host, tags, times) hide them; what is no filter hides nothing, as with rows.
        """
        known = {"name", "status", "vm_state", "flavor", "image", "reservation_id", "request_id"}
        given = {key: value for key, value in params.items() if value and key in cls.base_filters}

        def keep(instance: Instance) -> bool:
            shown = {
                "status": api_status(instance.vm_state, instance.task_state),
                "vm_state": instance.vm_state,
                "flavor": instance.flavor.get("name", ""),
                "image": str(instance.image_id),
                "reservation_id": str(instance.reservation_id),
                "request_id": instance.request_id,
            }
            if set(given) - known:
                return False
            if given.get("name", "").lower() not in instance.name.lower():
                return False
            return all(shown[key].lower() == value.lower() for key, value in given.items() if key != "name")

        return keep


class OperatorInstanceFilterSet(InstanceFilterSet):
    """The same, and what only operators may ask: ?host="""

    class Meta(InstanceFilterSet.Meta):
        fields = [*InstanceFilterSet.Meta.fields, "host"]


def instance_filters(*, is_admin: bool) -> type[InstanceFilterSet]:
    """The filters that a caller may use: to a tenant the answer to `?host=` would tell where its instances run."""
    return OperatorInstanceFilterSet if is_admin else InstanceFilterSet
