"""Who has which role where, from all the tables that say so: users and groups, in projects and in the system."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.identity.models import GroupRole, Project, RoleAssignment, SystemRole, User, UserGroup


@dataclass(frozen=True, slots=True)
class AssignmentFilter:
    """What is asked for; None: whatever it is. `is_effective`: each member in place of the group."""

    user_id: UUID | None = None
    group_id: UUID | None = None
    project_id: UUID | None = None
    is_in_system: bool = False
    role: str | None = None
    is_effective: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """One role of a user or of a group, in a project or (without one) in the system.

    With both a user and a group, the user has it by being in the group.
    """

    role: str
    user_id: UUID | None = None
    username: str = ""
    group_id: UUID | None = None
    group_name: str = ""
    project_id: UUID | None = None
    project_name: str = ""


@dataclass(frozen=True, slots=True)
class _Source:
    """A table, with its columns by the fields of an assignment."""

    rows: QuerySet[Any, Any]
    columns: dict[str, str] = field(default_factory=dict)

    def found(self, asked: AssignmentFilter) -> Iterable[Assignment]:
        columns, rows = self.columns, self.rows
        where = Q()
        for name in ("user_id", "group_id", "project_id"):
            if (value := getattr(asked, name)) is not None:
                if name not in columns:
                    return ()
                where &= Q(**{columns[name]: value})
        if asked.is_in_system and "project_id" in columns:
            where &= Q(**{columns["project_id"]: None})
        if asked.role is not None:
            where &= Q(role=asked.role)
        wanted = list(columns.values())
        order = [column for name, column in columns.items() if name.endswith("name")]
        found = rows.filter(where).order_by(*order, "role").values_list("role", *wanted)
        return [_assignment(role, dict(zip(columns, values, strict=True))) for role, *values in found]


def _assignment(role: str, found: dict[str, Any]) -> Assignment:
    """A role in the system has neither id nor name of a project."""
    texts = {name: value or "" for name, value in found.items() if name.endswith("name")}
    return Assignment(role, **{**found, **texts})


_USER = {"username": "user__username", "user_id": "user_id"}
_PROJECT = {"project_name": "project__name", "project_id": "project_id"}
_GROUP = {"group_name": "group__name", "group_id": "group_id"}
_MEMBER = {"username": "group__memberships__user__username", "user_id": "group__memberships__user_id"}


def assignments(asked: AssignmentFilter) -> list[Assignment]:
    """Those that are asked for, by project and name. At most three queries, however many there are."""
    by_group = GroupRole.objects.all()
    sources = [
        _Source(SystemRole.objects.all(), _USER),
        _Source(by_group.filter(group__memberships__isnull=False), {**_PROJECT, **_MEMBER, **_GROUP})
        if asked.is_effective
        else _Source(by_group, {**_PROJECT, **_GROUP}),
    ]
    if asked.project_id is not None:
        sources = sources[1:]
    if not asked.is_in_system:
        sources.insert(0, _Source(RoleAssignment.objects.all(), {**_PROJECT, **_USER}))
    return [one for source in sources for one in source.found(asked)]


def roles_granted(*, holder: User | UserGroup, project: Project | None) -> list[str]:
    """The roles that were given to just this user or group, in the project or (for None) in the system, by name."""
    rows: QuerySet[RoleAssignment] | QuerySet[SystemRole] | QuerySet[GroupRole]
    if isinstance(holder, UserGroup):
        rows = GroupRole.objects.filter(group=holder, project=project)
    elif project is None:
        rows = SystemRole.objects.filter(user=holder)
    else:
        rows = RoleAssignment.objects.filter(user=holder, project=project)
    return list(rows.order_by("role").values_list("role", flat=True))
