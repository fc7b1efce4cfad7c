"""Reading identity."""

import uuid
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import cast

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.functional import SimpleLazyObject

from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller, QuotaLimits, Role
from controlplane.identity.domain.quota import DEFAULT_CLASS, narrower
from controlplane.identity.domain.role import BEYOND_PROJECTS
from controlplane.identity.models import Project, QuotaClass, Token, User, UserQuota
from controlplane.identity.selectors.held_roles import holds_anywhere, roles_in
from controlplane.identity.selectors.own_projects import own_project, own_project_default
from controlplane.identity.selectors.token_holder import TokenHolder, token_holder
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.errors import Forbidden, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _

# Each create and each attach asks for these.
_PROJECT = PreparedQuery("identity_project", lambda pk: Project.objects.filter(pk=pk), types=["uuid"])
_DEFAULT_CLASS = PreparedQuery(
    "identity_default_class", lambda: QuotaClass.objects.filter(name=DEFAULT_CLASS), types=[]
)
_USER_QUOTA = PreparedQuery(
    "identity_user_quota",
    lambda project_id, user_id: UserQuota.objects.filter(project_id=project_id, user_id=user_id),
    types=["uuid", "uuid"],
)


def caller_for_token(token: str) -> tuple[User, TokenHolder] | None:
    """Return the user whose token this is (its row is read when it is used) and its holder; None as `token_holder`."""
    holder = token_holder(token)
    if holder is None:
        return None
    user = SimpleLazyObject(lambda: User.objects.get(pk=holder.caller.user_id))
    return cast("User", user), holder


def caller_for_user(*, user: User, project_id: uuid.UUID | None = None) -> Caller:
    """The user in the named project, or in his default one, or in the first by name.

    Raises Forbidden where there is no role at all.
    """
    chosen = own_project(user=user, project_id=project_id) if project_id else own_project_default(user=user)
    if chosen is None or not user.is_active:
        raise Forbidden(
            _("You have no role in any enabled project.") if project_id is None else _("You have no role there.")
        )
    roles = frozenset({Role.ADMIN}) if user.is_superuser else roles_in(user_id=user.pk, project_id=chosen.pk)
    return Caller(user.pk, user.username, chosen.pk, chosen.name, roles)


def tokens_of_user(*, user_id: uuid.UUID) -> QuerySet[Token]:
    """The user's tokens that still work, newest first, each with its project."""
    return Token.objects.select_related("project").filter(user_id=user_id, revoked=False, expires_at__gt=Now())


def project_get(*, project_id: uuid.UUID) -> Project:
    """The project; raises NotFound when there is none of this id."""
    project = next(iter(_PROJECT.run([uuid_value(project_id)])), None)
    if project is None:
        raise NotFound(_("Project {project_id} does not exist.", project_id=project_id))
    return project


def project_list() -> QuerySet[Project]:
    return Project.objects.all()


def project_id_called(text: str) -> uuid.UUID:
    """The id of the project of this id or name; an id goes before another project's name. One query, or two.

    Raises NotFound, of the field `project`. It tells which projects there are: ask it for who may see them all.
    """
    project_id, pks = parse_uuid(text), Project.objects.values_list("pk", flat=True)
    found = (project_id and pks.filter(pk=project_id).first()) or pks.filter(name=text).first()
    if found is None:
        raise NotFound(_("There is no project {project}.", project=text[:80]), field="project")
    return found


def quota_limits(*, project_id: uuid.UUID) -> QuotaLimits:
    """The project's limits, where it has none of its own those of the class `default`. Raises NotFound. Two queries."""
    return limits_of_project(project_get(project_id=project_id), quota_defaults())


def quota_defaults() -> QuotaLimits:
    """What a project has without limits of its own: those of the class `default`, or the installation's settings."""
    settings, row = identity_options().default_quota, next(iter(_DEFAULT_CLASS.run([])), None)
    if row is None:
        return settings
    changed = {field.name: getattr(row, field.name) for field in fields(QuotaLimits)}
    return replace(settings, **{name: limit for name, limit in changed.items() if limit is not None})


def user_quota(*, project_id: uuid.UUID, user_id: uuid.UUID) -> UserQuota | None:
    """The limits that this user has in this project; None for one who has none but the project's."""
    return next(iter(_USER_QUOTA.run([uuid_value(project_id), uuid_value(user_id)])), None)


def limits_of_owner(*, project_id: uuid.UUID | None, user_id: uuid.UUID | None, names: Sequence[str]) -> dict[str, int]:
    """The limits of these names in force for a user in a project: the project's, or less where the user has less. Of no
    project: what each has by default. At most three queries.
    """
    limits = quota_defaults() if project_id is None else quota_limits(project_id=project_id)
    own = user_quota(project_id=project_id, user_id=user_id) if project_id and user_id else None
    return {name: narrower(getattr(limits, name), getattr(own, name, None)) for name in names}


def user_quotas_of(*, project_id: uuid.UUID) -> QuerySet[UserQuota]:
    """All users with limits of their own in this project, by name."""
    return UserQuota.objects.filter(project_id=project_id).select_related("user").order_by("user__username")


def limits_of_project(project: Project, defaults: QuotaLimits) -> QuotaLimits:
    """The same of a row that is at hand, with what `quota_defaults` gave. No query."""
    own = {field.name: getattr(project, f"quota_{field.name}") for field in fields(QuotaLimits)}
    limits = {name: getattr(defaults, name) if value is None else value for name, value in own.items()}
    return QuotaLimits(**limits)


def may_operate(*, user: User) -> bool:
    """Whether the user has power beyond a project: a superuser, one of staff, or one with the role admin."""
    return user.is_superuser or user.is_staff or holds_anywhere(user=user, roles=frozenset({Role.ADMIN}))


def reaches_beyond_projects(*, user: User) -> bool:
    """The same, and one with the role service."""
    return may_operate(user=user) or holds_anywhere(user=user, roles=BEYOND_PROJECTS)
