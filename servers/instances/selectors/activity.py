"""What goes on: instances by status, and the newest actions."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from controlplane.identity.domain import Caller
from servers.models import BuildRequest, Instance, InstanceAction
from servers.states import api_status


@dataclass(frozen=True, slots=True)
class Activity:
    """One action with the name of its instance; `is_gone` when that was deleted."""

    action: InstanceAction
    name: str
    is_gone: bool


def status_counts(*, caller: Caller) -> dict[str, int]:
    """Living instances by API status: of all projects for an admin, else of the caller's. Two queries."""
    rows = Instance.objects.filter(deleted_at__isnull=True)
    pending = BuildRequest.objects.all()
    if not caller.is_admin:
        rows, pending = rows.filter(project_id=caller.project_id), pending.filter(project_id=caller.project_id)
    counts: Counter[str] = Counter()
    for row in rows.values("vm_state", "task_state").annotate(many=Count("pk")).order_by():
        counts[api_status(row["vm_state"], row["task_state"])] += row["many"]
    if waiting := pending.count():
        counts["BUILD"] += waiting
    return dict(sorted(counts.items()))


def recent_activity(*, caller: Caller, limit: int) -> list[Activity]:
    """The newest actions the caller may see. Two queries."""
    rows = InstanceAction.objects.order_by("-started_at", "-id")
    if not caller.is_admin:
        rows = rows.filter(project_id=caller.project_id)
    actions = list(rows[:limit])
    instances = Instance.objects.filter(pk__in=[one.instance_uuid for one in actions])
    named = {pk: (name, deleted) for pk, name, deleted in instances.values_list("pk", "name", "deleted_at")}
    return [
        Activity(one, named.get(one.instance_uuid, ("", None))[0], named.get(one.instance_uuid, ("", 1))[1] is not None)
        for one in actions
    ]
