"""Groups of users: made, filled, given roles. A role or a membership that ends counts from the next request on."""

import uuid
from collections.abc import Collection
from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Role
from controlplane.identity.models import GroupMember, GroupRole, Project, User, UserGroup
from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.texts import phrase as _


class GroupFields(TypedDict, total=False):
    """What a group says about itself."""

    name: str
    description: str


@audited("group.create", UserGroup)
def group_create(**fields: Unpack[GroupFields]) -> UserGroup:
    """A new group, without members and roles. Raises InvalidFields, or Conflict for a name that is taken."""
    return _group_save(UserGroup(**fields))


@audited("group.update", UserGroup, by="group")
def group_update(*, group: UserGroup, **changes: Unpack[GroupFields]) -> UserGroup:
    """Change a group; what is left out stays. Raises as `group_create`."""
    for name, value in changes.items():
        setattr(group, name, value)
    return _group_save(group)


def _group_save(group: UserGroup) -> UserGroup:
    try:
        group.full_clean(validate_unique=False)
        with transaction.atomic():
            group.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict(_("A group with this name exists already."), field="name") from error
    return group


@audited("group.delete", UserGroup, by="group_ids")
@transaction.atomic
def groups_delete(*, group_ids: Collection[uuid.UUID]) -> int:
    """Delete these groups. Their members stay users, without the roles that they had by them. Returns how many."""
    deleted = UserGroup.objects.filter(pk__in=list(group_ids)).delete()[1]
    return deleted.get(UserGroup._meta.label, 0)


@audited("group.member_add", UserGroup, by="group", also=("user",))
def group_member_add(*, group: UserGroup, user: User) -> GroupMember:
    """Put a user in a group; who is in it stays in it."""
    return GroupMember.objects.get_or_create(group=group, user=user)[0]


@audited("group.member_remove", UserGroup, by="group", also=("user",))
@transaction.atomic
def group_member_remove(*, group: UserGroup, user: User) -> bool:
    """Take a user out of a group, and with it the roles that are held by it alone. Whether the user was in it."""
    return bool(GroupMember.objects.filter(group=group, user=user).delete()[0])


@audited("group.role_grant", UserGroup, by="group", also=("role", "project"))
def group_role_grant(*, group: UserGroup, project: Project | None, role: Role) -> GroupRole:
    """Give all members a role in a project, in the system for None; giving it again changes nothing."""
    return GroupRole.objects.get_or_create(group=group, project=project, role=role.value)[0]


@audited("group.role_revoke", UserGroup, by="group", also=("role", "project"))
@transaction.atomic
def group_role_revoke(*, group: UserGroup, project: Project | None, role: Role) -> bool:
    """Take it away from all members, but from who has it otherwise too. Whether the group had it."""
    return bool(GroupRole.objects.filter(group=group, project=project, role=role.value).delete()[0])
