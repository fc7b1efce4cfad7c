"""Groups, as doors show them."""

import uuid

from django.db.models import QuerySet

from controlplane.identity.models import GroupMember, GroupRole, Project, SystemRole, User, UserGroup
from controlplane.infra.related_count import related_count
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _


def groups_listed() -> QuerySet[UserGroup]:
    """Groups by name, each with how many members (`people`) and roles (`grants`) it has."""
    return UserGroup.objects.annotate(
        people=related_count(GroupMember.objects.all(), "group"),
        grants=related_count(GroupRole.objects.all(), "group"),
    ).order_by("name")


def group_get(*, group_id: uuid.UUID) -> UserGroup:
    """The group; raises NotFound when there is none of this id."""
    group = UserGroup.objects.filter(pk=group_id).first()
    if group is None:
        raise NotFound(_("Group {group_id} does not exist.", group_id=group_id))
    return group


def members_of(*, group: UserGroup) -> QuerySet[User]:
    """Who is in a group, by name."""
    return User.objects.filter(group_memberships__group=group).order_by("username")


def groups_of(*, user: User) -> QuerySet[UserGroup]:
    """The groups that a user is in, by name."""
    return UserGroup.objects.filter(memberships__user=user).order_by("name")


def roles_of_group(*, group: UserGroup) -> QuerySet[GroupRole]:
    """Which roles a group gives, by name of the project; those in the system have none."""
    return GroupRole.objects.filter(group=group).select_related("project").order_by("project__name", "role")


def roles_by_groups(*, user: User) -> QuerySet[GroupRole]:
    """Which roles a user has by groups, each with group and project."""
    rows = GroupRole.objects.filter(group__memberships__user=user).select_related("group", "project")
    return rows.order_by("project__name", "role", "group__name")


def system_roles_of(*, user: User) -> QuerySet[SystemRole]:
    """Which roles a user has of his own in the system."""
    return SystemRole.objects.filter(user=user).order_by("role")


def group_roles_in(*, project: Project) -> QuerySet[GroupRole]:
    """Which groups have which role in a project, by name of the group."""
    return GroupRole.objects.filter(project=project).select_related("group").order_by("group__name", "role")
