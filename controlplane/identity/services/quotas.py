"""Limits of the default class and of users are set and removed here."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from django.core.exceptions import ValidationError

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import QuotaLimits
from controlplane.identity.domain.quota import DEFAULT_CLASS, USER_LIMITS, user_limit_problems
from controlplane.identity.models import Project, QuotaClass, User, UserQuota
from controlplane.identity.selectors import limits_of_project, project_get, quota_defaults
from controlplane.kernel.errors import InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _


@audited("quota_class.update", QuotaClass, by="name", key="name")
def quota_class_set(*, name: str, limits: Mapping[str, int | None]) -> QuotaLimits:
    """Change limits of the class; what is left out stays, and None is the installation's setting again.

    Raises NotFound for another class than `default`, since none is ever in force, and InvalidFields.
    """
    _default_required(name)
    row = QuotaClass.objects.filter(name=name).first() or QuotaClass(name=name)
    _limits_put(row, limits, [field.name for field in fields(QuotaLimits)])
    row.save()
    return quota_defaults()


@audited("quota_class.reset", QuotaClass, by="name", key="name")
def quota_class_reset(*, name: str) -> None:
    """The installation's settings are in force again. Raises NotFound as `quota_class_set`."""
    _default_required(name)
    QuotaClass.objects.filter(name=name).delete()


@audited("user_quota.update", User, by="user_id", also=("project_id", "limits"))
def user_quota_set(
    *, project_id: uuid.UUID, user_id: uuid.UUID, limits: Mapping[str, int | None], used: Mapping[str, int], force: bool
) -> UserQuota:
    """Change what this user may have in this project; what is left out stays.

    As in Nova a limit is neither above the project's nor, unless `force`, below what the user has (`used`).
    Raises NotFound and InvalidFields.
    """
    project, user = project_get(project_id=project_id), User.objects.filter(pk=user_id).first()
    if user is None:
        raise NotFound(_("User {user_id} does not exist.", user_id=user_id))
    row = UserQuota.objects.filter(project=project, user=user).first() or UserQuota(project=project, user=user)
    _limits_put(row, limits, USER_LIMITS)
    if problems := user_limits_refused(project, limits, {} if force else used):
        raise InvalidFields(problems)
    row.save()
    return row


def user_limits_refused(
    project: Project, limits: Mapping[str, int | None], used: Mapping[str, int]
) -> dict[str, list[str]]:
    """What is against these limits of a user, by field."""
    return user_limit_problems(limits, of_project=asdict(limits_of_project(project, quota_defaults())), used=used)


@audited("user_quota.reset", User, by="user_id", also=("project_id",))
def user_quota_reset(*, project_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """The project's limits are the only ones for this user again. Doing it twice is doing it once."""
    UserQuota.objects.filter(project_id=project_id, user_id=user_id).delete()


def _default_required(name: str) -> None:
    if name != DEFAULT_CLASS:
        raise NotFound(
            _(
                "There is no quota class {name!r:.80}; the one that is in force is {default_class}.",
                name=name,
                default_class=DEFAULT_CLASS,
            )
        )


def _limits_put(row: QuotaClass | UserQuota, limits: Mapping[str, int | None], known: Sequence[str]) -> None:
    unknown = {name: [_("There is no such limit.")] for name in limits if name not in known}
    if unknown:
        raise InvalidFields(unknown)
    for name, limit in limits.items():
        setattr(row, name, limit)
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
