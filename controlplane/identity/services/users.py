"""Users."""

import uuid
from collections.abc import Collection
from typing import TypedDict, Unpack

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import LoginRefused
from controlplane.identity.models import ExternalIdentity, Project, User
from controlplane.identity.services.last_superuser import is_last_superuser
from controlplane.identity.services.logins import credentials_check
from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.texts import phrase as _

ELSEWHERE = _("This user logs in by a directory or a provider, which keeps the password.")


@audited("user.create", User)
def user_create(
    *,
    username: str,
    password: str = "",
    email: str = "",
    is_superuser: bool = False,
    is_staff: bool = False,
    is_active: bool = True,
    default_project: Project | None = None,
) -> User:
    """A new user. Raises InvalidFields for a bad name or password, Conflict for a name that is taken."""
    user = User(
        username=username,
        email=email,
        is_superuser=is_superuser,
        is_staff=is_staff or is_superuser,
        is_active=is_active,
        default_project=default_project,
    )
    _password_set(user, password)
    return _user_save(user)


def _user_save(user: User) -> User:
    try:
        user.full_clean(validate_unique=False)
        with transaction.atomic():
            user.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict(_("A user with this name exists already."), field="username") from error
    return user


class UserChanges(TypedDict, total=False):
    """What may change in a user; what is left out stays."""

    username: str
    email: str
    is_active: bool
    is_staff: bool
    is_superuser: bool
    password: str
    time_zone: str
    default_project: Project | None


@audited("user.update", User, by="user")
@transaction.atomic
def user_update(*, user: User, **changes: Unpack[UserChanges]) -> User:
    """Change a user, all of it or nothing; a new password ends the user's tokens.

    Raises InvalidFields, Conflict for a name that is taken, and Conflict for switching off or demoting the last
    active superuser, since nobody could undo it from inside.
    """
    password = changes.pop("password", None)
    was_last = is_last_superuser(user=user)
    for name, value in changes.items():
        setattr(user, name, value)
    if was_last and not (user.is_active and user.is_superuser):
        raise Conflict(_("This is the last active superuser."), field="is_superuser" if user.is_active else "is_active")
    _user_save(user)
    if password is not None:
        user_password_set(user=user, password=password)
    return user


@audited("user.delete", User, by="user_ids")
@transaction.atomic
def users_delete(*, user_ids: Collection[uuid.UUID]) -> int:
    """Delete these users, all or none. Raises Conflict where no active superuser would be left to undo it."""
    rows = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    superusers = set(rows.values_list("pk", flat=True))
    if superusers and superusers <= set(user_ids):
        raise Conflict(_("Nobody was deleted: no active superuser would be left."), field="is_superuser")
    return User.objects.filter(pk__in=user_ids).delete()[1].get(User._meta.label, 0)


@audited("user.password_change", User, by="user", is_apart=True)
def user_password_change(*, user: User, current: str, new: str, address: str) -> None:
    """Somebody's own password, for the one that is in force; tokens and other sessions end with it.

    Raises InvalidFields for a wrong or a weak one, and LoginThrottled after too many wrong ones.
    """
    _refuse_outsider(user)
    try:
        credentials_check(username=user.username, password=current, address=address)
    except LoginRefused as error:
        raise InvalidFields({"current": [_("This is not your password.")]}) from error
    try:
        user_password_set(user=user, password=new)
    except InvalidFields as error:
        raise InvalidFields({"new": error.errors["password"]}) from error


@audited("user.password_set", User, by="user")
def user_password_set(*, user: User, password: str) -> None:
    """Change a password; tokens and other sessions of the user end with it. Raises InvalidFields."""
    _password_set(user, password)
    user.save(update_fields=["password"])


def _password_set(user: User, password: str) -> None:
    if not user._state.adding:
        _refuse_outsider(user)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidFields({"password": list(error.messages)}) from error
    user.set_password(password)


def _refuse_outsider(user: User) -> None:
    """A password here would never be asked for."""
    if ExternalIdentity.objects.filter(user=user).exists():
        raise InvalidFields({"password": [ELSEWHERE]})
