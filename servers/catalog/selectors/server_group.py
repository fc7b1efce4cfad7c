"""Reading server groups: those of the caller's project; all for an admin."""

import uuid

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from controlplane.identity.domain import Caller
from controlplane.infra.related_count import related_count
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.models import ServerGroup, ServerGroupMember


def server_groups_visible(*, caller: Caller) -> QuerySet[ServerGroup]:
    """With their members, in two queries."""
    rows = ServerGroup.objects.prefetch_related("members")
    return rows if caller.sees_all else rows.filter(project_id=caller.project_id)


def server_group_get(*, caller: Caller, group_id: uuid.UUID) -> ServerGroup:
    """Raises NotFound, also for one that the caller may not know of."""
    group = server_groups_visible(caller=caller).filter(pk=group_id).first()
    if group is None:
        raise NotFound(_("Server group {group_id} does not exist.", group_id=group_id))
    return group


def server_group_for_instance(*, caller: Caller, reference: str) -> ServerGroup:
    """The caller's own project's group that the hint `group` names by id. Raises Invalid for the field `hints`."""
    pk = parse_uuid(reference)
    group = ServerGroup.objects.filter(pk=pk, project_id=caller.project_id).first() if pk else None
    if group is None:
        raise Invalid(_("Server group {reference:.80} does not exist.", reference=reference), field="hints")
    return group


def member_count() -> Coalesce:
    """Of the members of each group; to sort groups by."""
    return related_count(ServerGroupMember.objects.all(), "group")


def group_ids_of_instance(*, instance_id: uuid.UUID) -> list[uuid.UUID]:
    """The group that it is in, as a list of none or one. One query."""
    return list(ServerGroupMember.objects.filter(instance_uuid=instance_id).values_list("group_id", flat=True))
