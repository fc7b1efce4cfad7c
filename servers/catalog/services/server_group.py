"""Changing server groups and who is in them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.group_rules import group_problems
from servers.catalog.selectors.quota import owner_quota_usage
from servers.catalog.selectors.server_group import server_group_get
from servers.catalog.services.quota import owner_quota_check, quota_lock
from servers.fields import refuse_if
from servers.models import ServerGroup, ServerGroupMember


@audited("server_group.create", ServerGroup)
def server_group_create(
    *, caller: Caller, name: str, policy: str, rules: Mapping[str, Any] | None = None
) -> ServerGroup:
    """A new, empty group. Raises InvalidFields, QuotaExceeded."""
    refuse_if(group_problems(name=name, policy=policy, rules=rules or {}))
    with transaction.atomic():
        quota_lock(caller.project_id)
        server_group_quota_check(project_id=caller.project_id, user_id=caller.user_id)
        return ServerGroup.objects.create(
            name=name, policy=policy, rules=dict(rules or {}), project_id=caller.project_id, user_id=caller.user_id
        )


@audited("server_group.delete", ServerGroup, by="group_id")
def server_group_delete(*, caller: Caller, group_id: uuid.UUID) -> None:
    """Remove the group. Its instances run on, bound by it no longer. Raises NotFound."""
    server_group_get(caller=caller, group_id=group_id).delete()


def server_group_members_add(
    *,
    group_id: uuid.UUID,
    instance_uuids: Sequence[uuid.UUID],
    project_id: uuid.UUID,
    user_id: uuid.UUID | None = None,
) -> None:
    """Let new instances join, inside the transaction that makes them. Raises QuotaExceeded, Conflict, Invalid."""
    with transaction.atomic():
        # The UPDATE holds the group's row, so that two creates cannot both take its last places.
        if not ServerGroup.objects.filter(pk=group_id).update(updated_at=Now()):
            raise Invalid(_("Server group {group_id} does not exist.", group_id=group_id), field="hints")
        owner_quota_check(
            project_id=project_id,
            user_id=user_id,
            asked={"server_group_members": len(instance_uuids)},
            used={"server_group_members": ServerGroupMember.objects.filter(group_id=group_id).count()},
            field="hints",
        )
        rows = [ServerGroupMember(group_id=group_id, instance_uuid=one) for one in instance_uuids]
        try:
            with transaction.atomic():
                ServerGroupMember.objects.bulk_create(rows)
        except IntegrityError as error:
            raise Conflict(_("An instance is in a server group already."), field="hints") from error


def server_group_quota_check(*, project_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """Whether the project and its user may have one more, under the quota lock. Raises QuotaExceeded."""
    for of in (None, user_id):
        used = owner_quota_usage(project_id=project_id, user_id=of)
        owner_quota_check(project_id=project_id, user_id=of, asked={"server_groups": 1}, used=used, field="name")
