"""Which roles a user has, in a project or in the system: those of the user, and those of the user's groups.

The one place that knows where roles stand: as text for the statements that read tokens, which have a row `token`, and
as queries for everything else. What a superuser has is not here: it is admin everywhere.
"""

import uuid
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Role
from controlplane.identity.models import GroupMember, GroupRole, Project, RoleAssignment, SystemRole, User

ROLES_SQL = {
    "role_columns": "COALESCE(own_role.role, system_role.role), COALESCE(group_role.role, group_system_role.role)",
    "role_joins": """
  LEFT JOIN identity_roleassignment AS own_role
         ON own_role.user_id = token.user_id AND own_role.project_id = token.project_id
  LEFT JOIN identity_systemrole AS system_role ON token.is_system AND system_role.user_id = token.user_id
  LEFT JOIN identity_groupmember AS member ON member.user_id = token.user_id
  LEFT JOIN identity_grouprole AS group_role
         ON group_role.group_id = member.group_id AND group_role.project_id = token.project_id
  LEFT JOIN identity_grouprole AS group_system_role
         ON token.is_system AND group_system_role.group_id = member.group_id AND group_system_role.project_id IS NULL
""",
}
"""What a statement with a row `token` reads and joins: in each row of it a role of the holder's own and one by a group,
either of which may be missing. It selects DISTINCT rows, since groups without a role there make none of their own.

Plain joins and no EXISTS: of that PostgreSQL may make a table of all members of all groups, at each request.
"""


def roles_in(*, user_id: uuid.UUID, project_id: uuid.UUID | None) -> frozenset[Role]:
    """The roles in a project; in the system for None. One query."""
    by_group = _group_roles(user_id).filter(Q(project_id=project_id)).order_by().values_list("role")
    own: QuerySet[Any, Any] = (
        SystemRole.objects.filter(user_id=user_id)
        if project_id is None
        else RoleAssignment.objects.filter(user_id=user_id, project_id=project_id)
    )
    return frozenset(Role(role) for (role,) in own.order_by().values_list("role").union(by_group))


def has_role_in_system(*, user: User) -> bool:
    """Whether the user may call as a person of the system. One query, none for a superuser."""
    return user.is_superuser or bool(roles_in(user_id=user.pk, project_id=None))


def projects_with_role(user_id: uuid.UUID) -> QuerySet[Project]:
    """Projects where the user has a role of either kind, each once."""
    own = RoleAssignment.objects.filter(user_id=user_id).order_by().values("project_id")
    by_group = _group_roles(user_id).filter(project__isnull=False).order_by().values("project_id")
    return Project.objects.filter(Q(pk__in=own) | Q(pk__in=by_group))


def holds_anywhere(*, user: User, roles: frozenset[Role]) -> bool:
    """Whether the user has one of these roles in any project or in the system. One query."""
    words = [role.value for role in roles]
    own: QuerySet[Any, Any] = RoleAssignment.objects.filter(user=user, role__in=words).order_by().values_list("role")
    in_system = SystemRole.objects.filter(user=user, role__in=words).order_by().values_list("role")
    return own.union(in_system, _group_roles(user.pk).filter(role__in=words).order_by().values_list("role")).exists()


def _group_roles(user_id: uuid.UUID) -> QuerySet[GroupRole]:
    mine = GroupMember.objects.filter(user_id=user_id).order_by().values("group_id")
    return GroupRole.objects.filter(group_id__in=mine)
