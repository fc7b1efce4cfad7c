"""Reading server groups: those of the caller's project; all for an admin."""

import uuid

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from servers.models import ServerGroup


def server_groups_visible(*, caller: Caller) -> QuerySet[ServerGroup]:
    """With their members, in two queries."""
    rows = ServerGroup.objects.prefetch_related("members")
    return rows if caller.is_admin else rows.filter(project_id=caller.project_id)


def server_group_get(*, caller: Caller, group_id: uuid.UUID) -> ServerGroup:
    """Raises NotFound, also for one that the caller may not know of."""
    group = server_groups_visible(caller=caller).filter(pk=group_id).first()
    if group is None:
        raise NotFound(f"Server group {group_id} does not exist.")
    return group


def server_group_for_instance(*, caller: Caller, reference: str) -> ServerGroup:
    """The caller's own project's group that the hint `group` names by id. Raises Invalid for the field `hints`."""
    pk = parse_uuid(reference)
    group = ServerGroup.objects.filter(pk=pk, project_id=caller.project_id).first() if pk else None
    if group is None:
        raise Invalid(f"Server group {reference:.80} does not exist.", field="hints")
    return group
