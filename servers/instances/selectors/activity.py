"""What goes on: the newest requests, and what came of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q

from controlplane.identity.domain import Caller
from controlplane.identity.selectors.people import user_names
from servers.models import Instance, InstanceAction

LOOKED_AT = 400
"""Of the newest actions: enough for a few requests, each for many instances."""


@dataclass(frozen=True, slots=True)
class RequestActivity:
    """What one request did to how many instances. `by` is who asked, empty where the control plane began it.

    `instance_id` and `name` are one of them; `message` is what the newest that failed says.
    """

    action: str
    by: str
    request_id: str
    started_at: datetime
    instance_id: UUID
    name: str
    is_gone: bool
    instances: int
    failed: int
    under_way: int
    message: str

    @property
    def others(self) -> int:
        """How many instances besides the one that is named."""
        return self.instances - 1


def request_activity(*, caller: Caller, limit: int) -> list[RequestActivity]:
    """The newest requests the caller may see, one line each, however many instances they are about. Four queries."""
    rows = InstanceAction.objects.order_by("-started_at", "-id")
    if not caller.sees_all:
        rows = rows.filter(project_id=caller.project_id)
    newest: dict[tuple[str, str], InstanceAction] = {}
    messages: dict[tuple[str, str], str] = {}
    for one in rows[:LOOKED_AT]:
        key = (one.request_id or f"action {one.pk}", one.action)
        if len(newest) < limit:
            newest.setdefault(key, one)
        if one.result == "error" and key in newest:
            messages.setdefault(key, one.message)
    counts = _counts(newest)
    ids = {one.instance_uuid for one in newest.values()}
    names = {
        pk: (name, deleted)
        for pk, name, deleted in Instance.objects.filter(pk__in=ids).values_list("pk", "name", "deleted_at")
    }
    people = user_names({one.user_id for one in newest.values() if one.user_id})
    return [
        RequestActivity(
            action=one.action,
            by=people.get(one.user_id, "") if one.user_id else "",
            request_id=one.request_id,
            started_at=one.started_at,
            instance_id=one.instance_uuid,
            name=names.get(one.instance_uuid, ("", None))[0],
            is_gone=names.get(one.instance_uuid, ("", 1))[1] is not None,
            instances=max(1, counts.get(key, (1, 0, 0))[0]),
            failed=counts.get(key, (1, int(one.result == "error"), 0))[1],
            under_way=counts.get(key, (1, 0, int(not one.result)))[2],
            message=messages.get(key, ""),
        )
        for key, one in newest.items()
    ]


def _counts(newest: dict[tuple[str, str], InstanceAction]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """{(request, action): how many instances, how many failed, how many are under way}."""
    requests = {one.request_id for one in newest.values() if one.request_id}
    rows = InstanceAction.objects.filter(request_id__in=requests).order_by()
    grouped = rows.values_list("request_id", "action").annotate(
        many=Count("pk"), failed=Count("pk", filter=Q(result="error")), under_way=Count("pk", filter=Q(result=""))
    )
    return {(request, action): (many, failed, open_) for request, action, many, failed, open_ in grouped}
