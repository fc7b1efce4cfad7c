"""Reading identity."""

import uuid
from dataclasses import fields
from typing import cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.functional import SimpleLazyObject

from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller, QuotaLimits, Role
from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.selectors.token_holder import TokenHolder, token_holder
from controlplane.kernel.errors import Forbidden, NotFound


def caller_for_token(token: str) -> tuple[User, TokenHolder] | None:
    """Return the user whose token this is (its row is read when it is used) and its holder; None as `token_holder`."""
    holder = token_holder(token)
    if holder is None:
        return None
    user = SimpleLazyObject(lambda: User.objects.get(pk=holder.caller.user_id))
    return cast("User", user), holder


def caller_for_user(*, user: User, project_id: uuid.UUID | None = None) -> Caller:
    """The user in the named project, or in the first by name. Raises Forbidden where there is no role at all."""
    projects = projects_of_user(user=user)
    chosen = next((project for project in projects if project.pk == project_id), None)
    if chosen is None and projects and project_id is None:
        chosen = projects[0]
    if chosen is None or not user.is_active:
        raise Forbidden("You have no role in any enabled project." if project_id is None else "You have no role there.")
    if user.is_superuser:
        roles = frozenset({Role.ADMIN})
    else:
        rows = RoleAssignment.objects.filter(user=user, project=chosen).values_list("role", flat=True)
        roles = frozenset(Role(role) for role in rows)
    return Caller(user.pk, user.username, chosen.pk, chosen.name, roles)


def projects_of_user(*, user: User | AnonymousUser) -> list[Project]:
    """Enabled projects where the user has a role, by name; all of them for a superuser."""
    if isinstance(user, AnonymousUser):
        return []
    rows = Project.objects.filter(enabled=True).order_by("name")
    return list(rows if user.is_superuser else rows.filter(role_assignments__user=user).distinct())


def tokens_of_user(*, user_id: uuid.UUID) -> QuerySet[Token]:
    """The user's tokens that still work, newest first, each with its project."""
    return Token.objects.select_related("project").filter(user_id=user_id, revoked=False, expires_at__gt=Now())


def project_get(*, project_id: uuid.UUID) -> Project:
    """The project; raises NotFound when there is none of this id."""
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise NotFound(f"Project {project_id} does not exist.")
    return project


def project_list() -> QuerySet[Project]:
    return Project.objects.all()


def quota_limits(*, project_id: uuid.UUID) -> QuotaLimits:
    """The project's limits, where it has none of its own the installation's. Raises NotFound."""
    project = project_get(project_id=project_id)
    defaults = identity_options().default_quota
    own = {field.name: getattr(project, f"quota_{field.name}") for field in fields(QuotaLimits)}
    limits = {name: getattr(defaults, name) if value is None else value for name, value in own.items()}
    return QuotaLimits(**limits)


def may_operate(*, user: User) -> bool:
    """Whether the user has power beyond a project: a superuser, one of staff, or one with the role admin."""
    return user.is_superuser or user.is_staff or user.role_assignments.filter(role=Role.ADMIN.value).exists()
