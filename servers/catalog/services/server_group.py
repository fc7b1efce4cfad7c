"""Changing server groups and who is in them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid, QuotaExceeded
from servers.catalog.domain.group_rules import group_problems
from servers.catalog.selectors.server_group import server_group_get
from servers.catalog.services.quota import quota_lock
from servers.conf import server_options
from servers.fields import refuse_if
from servers.models import ServerGroup, ServerGroupMember


def server_group_create(
    *, caller: Caller, name: str, policy: str, rules: Mapping[str, Any] | None = None
) -> ServerGroup:
    """A new, empty group. Raises InvalidFields, QuotaExceeded."""
    refuse_if(group_problems(name=name, policy=policy, rules=rules or {}))
    with transaction.atomic():
        quota_lock(caller.project_id)
        server_group_quota_check(project_id=caller.project_id)
        return ServerGroup.objects.create(
            name=name, policy=policy, rules=dict(rules or {}), project_id=caller.project_id, user_id=caller.user_id
        )


def server_group_delete(*, caller: Caller, group_id: uuid.UUID) -> None:
    """Remove the group. Its instances run on, bound by it no longer. Raises NotFound."""
    server_group_get(caller=caller, group_id=group_id).delete()


def server_group_members_add(*, group_id: uuid.UUID, instance_uuids: Sequence[uuid.UUID]) -> None:
    """Let new instances join, inside the transaction that makes them. Raises QuotaExceeded, Conflict, Invalid."""
    limit = server_options().server_group_members
    with transaction.atomic():
        # The UPDATE holds the group's row, so that two creates cannot both take its last places.
        if not ServerGroup.objects.filter(pk=group_id).update(updated_at=Now()):
            raise Invalid(f"Server group {group_id} does not exist.", field="hints")
        used = ServerGroupMember.objects.filter(group_id=group_id).count()
        if used + len(instance_uuids) > limit:
            raise QuotaExceeded(
                f"The group has {used} of {limit} members; {len(instance_uuids)} more were asked for.",
                field="hints",
                requested=len(instance_uuids),
                used=used,
                limit=limit,
            )
        rows = [ServerGroupMember(group_id=group_id, instance_uuid=one) for one in instance_uuids]
        try:
            with transaction.atomic():
                ServerGroupMember.objects.bulk_create(rows)
        except IntegrityError as error:
            raise Conflict("An instance is in a server group already.", field="hints") from error


def server_group_quota_check(*, project_id: uuid.UUID) -> None:
    """Whether the project may have one more, under its quota lock. Raises QuotaExceeded."""
    limit = server_options().server_groups_per_project
    used = ServerGroup.objects.filter(project_id=project_id).count()
    if used >= limit:
        raise QuotaExceeded(
            f"The project has {used} of {limit} server groups.", field="name", requested=1, used=used, limit=limit
        )
