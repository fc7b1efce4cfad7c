"""Users and roles as pages list them. For admins."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from controlplane.identity.models import ExternalIdentity, Project, RoleAssignment, User
from controlplane.infra.related_count import related_count
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _

OFFERED = 200
"""How many names a form offers; others can be typed."""


def projects_listed() -> QuerySet[Project]:
    """Projects by name, each with how many users have a role in it (`people`)."""
    # No join: it would make each expression that projects are sorted by once for every role.
    held = RoleAssignment.objects.filter(project=OuterRef("pk")).order_by().values("project")
    people = held.annotate(found=Count("user", distinct=True)).values("found")
    counted = Coalesce(Subquery(people, output_field=IntegerField()), 0)
    return Project.objects.annotate(people=counted).order_by("name")


def users_listed() -> QuerySet[User]:
    """Users by name, each with the number of its roles (`roles`)."""
    return User.objects.annotate(roles=related_count(RoleAssignment.objects.all(), "user")).order_by("username")


def user_get(*, user_id: uuid.UUID) -> User:
    """The user; raises NotFound when there is none of this id."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise NotFound(_("User {user_id} does not exist.", user_id=user_id))
    return user


def user_named(*, username: str) -> User:
    """The user; raises NotFound for the field `username`."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(_("There is no user {username:.80}.", username=username), field="username")
    return user


def source_of(*, user: User) -> str:
    """Where the user logs in: `ldap`, `oidc`, or nothing for one who is kept here."""
    return ExternalIdentity.objects.filter(user=user).values_list("source", flat=True).first() or ""


def roles_in(*, project: Project) -> QuerySet[RoleAssignment]:
    """Who has which role in a project, by name of the user."""
    return RoleAssignment.objects.filter(project=project).select_related("user").order_by("user__username", "role")


def roles_of(*, user: User) -> QuerySet[RoleAssignment]:
    """Which roles a user has, by name of the project."""
    return RoleAssignment.objects.filter(user=user).select_related("project").order_by("project__name", "role")


def usernames_offered() -> list[str]:
    """The first active users by name."""
    return list(User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)[:OFFERED])


def user_names(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The names of these users, for lists; who was deleted has none. One query."""
    return dict(User.objects.filter(pk__in=ids).values_list("pk", "username")) if ids else {}


def project_names(ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The names of these projects, for lists. One query."""
    return dict(Project.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}


def user_ids_like(part: str) -> QuerySet[User, Any]:
    """Ids of the users of whose name this is a part, for another query to ask within."""
    return User.objects.filter(username__icontains=part).order_by().values("pk")


def project_ids_like(part: str) -> QuerySet[Project, Any]:
    """The same of projects."""
    return Project.objects.filter(name__icontains=part).order_by().values("pk")
