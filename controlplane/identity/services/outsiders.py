"""People from a directory or a provider as users: made when they first come, with the roles of their groups.

A user who is kept here is never taken over: a person from outside is known by the id that the source gave, and a name
that somebody has here is refused to everybody else, in whatever case it is written.
"""

import logging
import uuid

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import CONTROL_PLANE, SYSTEM
from controlplane.audit_log.recording.record import AuditChange, change_record, changes_record, target_of
from controlplane.identity.conf import ldap_options, oidc_options
from controlplane.identity.domain import LoginRefused, OutsiderRefused, Role
from controlplane.identity.domain.outside import (
    OutsideGroupRule,
    OutsidePerson,
    Source,
    group_rules,
    is_superuser_by_groups,
    roles_of_groups,
)
from controlplane.identity.models import ExternalIdentity, Project, RoleAssignment, User
from controlplane.identity.services.application_credentials import application_credentials_end
from controlplane.identity.services.last_superuser import is_last_superuser
from controlplane.kernel.texts import phrase as _

log = logging.getLogger(__name__)
NAME_TAKEN = _("A user of this name exists here already, who is somebody else. An administrator can rename one of you.")
NO_SUCH_NAME = _("Your name there cannot be one here: at most 150 letters, digits and @ . + - _")


def outsider_admit(person: OutsidePerson) -> User:
    """The active user that this person is, made now where there was none, with the roles of the groups as they are.

    The source has just vouched for the person. Raises LoginRefused for a user who was switched off here, and
    OutsiderRefused for a name that another user has, or that cannot be one.
    """
    try:
        user = _admit(person)
    except IntegrityError:
        # Somebody made the same user, or one of the same name, at the same moment.
        user = _admit(person)
    if not user.is_active:
        raise LoginRefused
    return user


@transaction.atomic
def _admit(person: OutsidePerson) -> User:
    identity = _identity(person)
    if identity is None:
        identity = _user_make(person)
    elif identity.ended_at is not None:
        _switch_on(identity)
    groups_follow(identity, person)
    return identity.user


def _identity(person: OutsidePerson) -> ExternalIdentity | None:
    rows = ExternalIdentity.objects.select_for_update(of=("self",)).select_related("user")
    return rows.filter(source=person.source, issuer=person.issuer, subject=person.subject).first()


def _user_make(person: OutsidePerson) -> ExternalIdentity:
    name = User.objects.model.normalize_username(person.username)
    if User.objects.filter(username__iexact=name).exists():
        log.warning("%s from %s is refused: a user has this name", name, person.source)
        raise OutsiderRefused(NAME_TAKEN)
    user = User(username=name, email=person.email[:254])
    user.set_unusable_password()
    try:
        user.clean_fields(exclude=["email"])
        user.save()
    except ValidationError as error:
        raise OutsiderRefused(NO_SUCH_NAME) from error
    facts = {"source": person.source.value, "username": name}
    change_record(AuditChange("user.admit", target_of("user", user), after=facts), actor=CONTROL_PLANE, door=SYSTEM)
    return ExternalIdentity.objects.create(
        user=user, source=person.source, issuer=person.issuer, subject=person.subject, last_seen_at=Now()
    )


def _switch_on(identity: ExternalIdentity) -> None:
    """The directory has the person again. Only what the absence took is given back: see `outsiders_end`."""
    identity.ended_at = None
    identity.save(update_fields=["ended_at", "updated_at"])
    User.objects.filter(pk=identity.user_id).update(is_active=True)
    identity.user.is_active = True
    _note("user.update", identity.user, {"is_active": False}, {"is_active": True})


@transaction.atomic
def groups_follow(identity: ExternalIdentity, person: OutsidePerson) -> None:
    """Roles, power and address as the source tells them now. What was given here by hand stays."""
    rules = rules_of(person.source)
    User.objects.select_for_update().get(pk=identity.user_id)  # one at a time for a person
    _roles_follow(identity.user, roles_of_groups(rules, person.groups))
    _power_follows(identity, is_superuser_by_groups(rules, person.groups))
    email = person.email[:254]
    User.objects.filter(pk=identity.user_id).exclude(email=email).update(email=email)
    ExternalIdentity.objects.filter(pk=identity.pk).update(last_seen_at=Now())


def rules_of(source: Source) -> tuple[OutsideGroupRule, ...]:
    """What the groups of this source may here."""
    words = ldap_options().ldap_group_roles if source is Source.LDAP else oidc_options().oidc_group_roles
    return group_rules(words)


def _roles_follow(user: User, wanted: set[tuple[str, Role]]) -> None:
    projects = {one.name: one for one in Project.objects.filter(name__in={name for name, _ in wanted})}
    for name in sorted({name for name, _rest in wanted} - set(projects)):
        log.warning("a rule for groups names project %s, which does not exist", name)
    due = {(projects[name].pk, role.value) for name, role in wanted if name in projects}
    held = {
        (one.project_id, one.role): one for one in RoleAssignment.objects.filter(user=user).select_related("project")
    }
    over = [one for key, one in held.items() if one.by_group and key not in due]
    RoleAssignment.objects.filter(pk__in=[one.pk for one in over]).delete()
    fresh = [
        RoleAssignment(user=user, project_id=project_id, role=role, by_group=True)
        for project_id, role in sorted(due - set(held), key=str)
    ]
    RoleAssignment.objects.bulk_create(fresh, ignore_conflicts=True)
    changes = [("role.revoke", one) for one in over] + [("role.grant", one) for one in fresh]
    facts = [(action, {"project_id": str(one.project_id), "role": one.role}) for action, one in changes]
    target = target_of("user", user)
    changes_record([AuditChange(action, target, after=one) for action, one in facts], actor=CONTROL_PLANE, door=SYSTEM)


def _power_follows(identity: ExternalIdentity, is_superuser: bool) -> None:
    """A superuser by a group; one that was made by hand is not touched, and neither is the last."""
    user = identity.user
    if is_superuser == identity.made_superuser or (is_superuser and user.is_superuser):
        return
    if not is_superuser and is_last_superuser(user=user):
        log.warning("%s left the group of superusers and stays one: there is no other", user.username)
        return
    identity.made_superuser = user.is_superuser = user.is_staff = is_superuser
    identity.save(update_fields=["made_superuser", "updated_at"])
    User.objects.filter(pk=user.pk).update(is_superuser=is_superuser, is_staff=is_superuser)
    if not is_superuser:
        application_credentials_end(user_ids=[user.pk])
    _note("user.update", user, {"is_superuser": not is_superuser}, {"is_superuser": is_superuser})


@transaction.atomic
def outsider_end(identity_id: uuid.UUID) -> bool:
    """Switch off a user whom the directory no longer has, and revoke the tokens; True when it was on.

    The last active superuser stays: nobody could undo it from inside.
    """
    rows = ExternalIdentity.objects.select_for_update(of=("self",)).select_related("user")
    identity = rows.filter(pk=identity_id, user__is_active=True).first()
    if identity is None:
        return False
    if is_last_superuser(user=identity.user):
        log.warning("%s is no longer in the directory and stays: there is no other superuser", identity.user.username)
        return False
    ExternalIdentity.objects.filter(pk=identity.pk).update(ended_at=Now())
    User.objects.filter(pk=identity.user_id).update(is_active=False)
    identity.user.tokens.filter(revoked=False).update(revoked=True)
    _note("user.update", identity.user, {"is_active": True}, {"is_active": False})
    return True


def _note(action: str, user: User, before: dict[str, object], after: dict[str, object]) -> None:
    change = AuditChange(action, target_of("user", user), before, after)
    change_record(change, actor=CONTROL_PLANE, door=SYSTEM)
