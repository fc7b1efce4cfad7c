"""Application credentials: made and deleted by their owners, and by what takes away the roles that they rest on."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models.signals import post_delete, post_save

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.application_credential import (
    DESCRIPTION_MAX,
    MIN_SECRET_CHARS,
    NAME_MAX,
    SECRET_MAX,
    new_secret,
    roles_in_force,
    roles_of_text,
    roles_text,
    secret_digest,
)
from controlplane.identity.models import ApplicationCredential, GroupMember, GroupRole, RoleAssignment, User
from controlplane.identity.selectors.held_roles import roles_in
from controlplane.kernel.clock import utc_now
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NotFound
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class IssuedCredential:
    """The row, and the secret itself: it is shown once and stored nowhere."""

    row: ApplicationCredential
    secret: str


@audited("application_credential.create", ApplicationCredential, row=lambda issued: issued.row)
@transaction.atomic
def application_credential_create(
    *,
    caller: Caller,
    name: str,
    description: str = "",
    roles: Collection[Role] = (),
    expires_at: datetime | None = None,
    unrestricted: bool = False,
    secret: str | None = None,
) -> IssuedCredential:
    """A credential of the caller for the project of the call, with `roles` (none named: those of the caller there).

    Raises Forbidden for a caller who came by a restricted credential; Invalid, naming the field, for a role that the
    caller does not have, an end that is past or too far away, a secret that is too short, and beyond the number that a
    user may have; Conflict for a name that the user gave to another one.
    """
    _refuse_restricted(caller)
    _text_require("name", name, NAME_MAX, is_needed=True)
    _text_require("description", description, DESCRIPTION_MAX)
    named = frozenset(roles) or caller.roles
    if not roles_in_force(held=caller.roles, named=named):
        lacking = ", ".join(role.value for role in sorted(named) if not caller.holds(role))
        raise Invalid(
            _(
                "You do not have the role {lacking} in project {project_name}.",
                lacking=lacking,
                project_name=caller.project_name,
            ),
            field="roles",
        )
    ends = _end(expires_at)
    text = new_secret() if secret is None else secret
    if not MIN_SECRET_CHARS <= len(text) <= SECRET_MAX:
        raise Invalid(
            _(
                "A secret that you bring along has {min_secret_chars} to {secret_max} characters. "
                "One is made without it.",
                min_secret_chars=MIN_SECRET_CHARS,
                secret_max=SECRET_MAX,
            ),
            field="secret",
        )
    _number_require(caller)
    row = ApplicationCredential(
        user_id=caller.user_id,
        project_id=caller.project_id,
        name=name,
        description=description,
        roles=roles_text(named),
        expires_at=ends,
        unrestricted=unrestricted,
        digest=secret_digest(text),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(_("You have an application credential of this name already."), field="name") from error
    return IssuedCredential(row, text)


@audited("application_credential.delete", ApplicationCredential, by="credential_id")
def application_credential_delete(*, caller: Caller, user_id: uuid.UUID, credential_id: uuid.UUID) -> None:
    """Delete one of this user's; its tokens end with it. Raises NotFound; Forbidden as for the making.

    That the user is the caller, or that the caller may delete other people's, is judged by the door.
    """
    _refuse_restricted(caller)
    if not ApplicationCredential.objects.filter(pk=credential_id, user_id=user_id).delete()[0]:
        raise NotFound(_("Application credential {credential_id} does not exist.", credential_id=credential_id))


@audited("application_credential.delete", ApplicationCredential, by="credential_ids")
def application_credentials_remove(*, credential_ids: Collection[uuid.UUID]) -> int:
    """Delete these, whoever's they are, with their tokens. Returns how many there were."""
    deleted = ApplicationCredential.objects.filter(pk__in=list(credential_ids)).delete()[1]
    return deleted.get(ApplicationCredential._meta.label, 0)


def application_credentials_end(*, user_ids: Collection[uuid.UUID], project_id: uuid.UUID | None = None) -> None:
    """Delete those of these users, in this project or in all, that name a role which their owner has no longer there,
    so that none of them comes back to life when the role does. A superuser has every role.

    One query where they have none, and one more for each owner and project.
    """
    rows = ApplicationCredential.objects.filter(user_id__in=user_ids, user__is_superuser=False)
    held: dict[tuple[uuid.UUID, uuid.UUID], frozenset[Role]] = {}
    over = []
    for one in rows if project_id is None else rows.filter(project_id=project_id):
        key = (one.user_id, one.project_id)
        if key not in held:
            held[key] = roles_in(user_id=one.user_id, project_id=one.project_id)
        if not roles_in_force(held=held[key], named=roles_of_text(one.roles)):
            over.append(one.pk)
    if over:
        ApplicationCredential.objects.filter(pk__in=over).delete()


def application_credentials_follow_roles() -> None:
    """Whoever takes a role away, a person, a group outside or the Django admin, of the user's own or by a group, or
    makes an ordinary user of a superuser: what rests on it ends too.
    """
    for receiver, sender in (
        (_role_deleted, RoleAssignment),
        (_member_deleted, GroupMember),
        (_grant_deleted, GroupRole),
    ):
        post_delete.connect(receiver, sender=sender, dispatch_uid="application_credentials")
    post_save.connect(_user_saved, sender=User, dispatch_uid="application_credentials")


def _role_deleted(instance: RoleAssignment, **_: object) -> None:
    application_credentials_end(user_ids=[instance.user_id], project_id=instance.project_id)


def _member_deleted(instance: GroupMember, **_: object) -> None:
    application_credentials_end(user_ids=[instance.user_id])


def _grant_deleted(instance: GroupRole, **_: object) -> None:
    if instance.project_id is not None:
        members = GroupMember.objects.filter(group_id=instance.group_id).values_list("user_id", flat=True)
        application_credentials_end(user_ids=list(members), project_id=instance.project_id)


def _user_saved(instance: User, created: bool, update_fields: Collection[str] | None, **_: object) -> None:
    if not created and not instance.is_superuser and (update_fields is None or "is_superuser" in update_fields):
        application_credentials_end(user_ids=[instance.pk])


def _refuse_restricted(caller: Caller) -> None:
    if caller.is_restricted:
        raise Forbidden(_("A restricted application credential neither makes nor deletes application credentials."))


def _text_require(name: str, value: str, longest: int, *, is_needed: bool = False) -> None:
    if (is_needed and not value.strip()) or len(value) > longest or "\x00" in value:
        raise Invalid(
            _("It has {shortest} to {longest} characters.", shortest="1" if is_needed else "0", longest=longest),
            field=name,
        )


def _end(asked: datetime | None) -> datetime | None:
    """When the credential ends: as asked for, and never later than the installation allows."""
    now, days = utc_now(), identity_options().application_credential_max_days
    latest = now + timedelta(days=days) if days else None
    if asked is None:
        return latest
    if asked <= now:
        raise Invalid(_("It is past."), field="expires_at")
    if latest is not None and asked > latest:
        raise Invalid(
            _("No application credential lives longer than {days:g} day(s) here.", days=days), field="expires_at"
        )
    return asked


def _number_require(caller: Caller) -> None:
    """One at a time for a user, so that two requests do not both find room for one more."""
    User.objects.select_for_update().get(pk=caller.user_id)
    limit = identity_options().application_credentials_per_user
    if ApplicationCredential.objects.filter(user_id=caller.user_id).count() >= limit:
        raise Invalid(_("You have {limit} application credentials; delete one first.", limit=limit), field="name")
