"""Who lives on hosts or is on the way there, for claims that depend on it."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from scheduling.domain.neighbours import Neighbour
from servers.instances.selectors.scheduling_facts import is_busy
from servers.models import BuildRequest, Instance


def instance_neighbours(hosts: Collection[str], uuids: Collection[UUID]) -> list[Neighbour]:
    """Instances on these hosts, and those of `uuids` that are on none yet. Three queries at most.

    A build request and then its row is looked for, as one becomes the other: who is no row in the first query, and no
    request in the second, is a row in the third.
    """
    living = Instance.objects.filter(deleted_at__isnull=True)
    found = _rows(living.filter(host__in=hosts).exclude(host=""))
    missing = set(uuids) - found.keys()
    if missing:
        waiting = BuildRequest.objects.filter(instance_uuid__in=missing)
        for pk, flavor_id in waiting.values_list("instance_uuid", "instance_body__flavor_id"):
            found[pk] = Neighbour(str(pk), flavor_id=str(flavor_id), is_busy=True)
        missing -= found.keys()
    if missing:
        found |= _rows(living.filter(pk__in=missing))
    return list(found.values())


def _rows(rows: QuerySet[Instance]) -> dict[UUID, Neighbour]:
    return {
        pk: Neighbour(str(pk), host, str(flavor_id), is_busy(vm_state, task_state))
        for pk, host, flavor_id, vm_state, task_state in rows.order_by().values_list(
            "pk", "host", "flavor_id", "vm_state", "task_state"
        )
    }
