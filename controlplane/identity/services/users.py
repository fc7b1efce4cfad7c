"""Users."""

import uuid
from collections.abc import Collection
from typing import TypedDict, Unpack

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.identity.models import User
from controlplane.kernel.errors import Conflict, InvalidFields


def user_create(
    *,
    username: str,
    password: str = "",
    email: str = "",
    is_superuser: bool = False,
    is_staff: bool = False,
    is_active: bool = True,
) -> User:
    """A new user. Raises InvalidFields for a bad name or password, Conflict for a name that is taken."""
    user = User(
        username=username,
        email=email,
        is_superuser=is_superuser,
        is_staff=is_staff or is_superuser,
        is_active=is_active,
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
        raise Conflict("A user with this name exists already.", field="username") from error
    return user


class UserChanges(TypedDict, total=False):
    """What may change in a user; what is left out stays."""

    username: str
    email: str
    is_active: bool
    is_staff: bool
    is_superuser: bool
    password: str


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
        raise Conflict("This is the last active superuser.", field="is_superuser" if user.is_active else "is_active")
    _user_save(user)
    if password is not None:
        user_password_set(user=user, password=password)
    return user


@transaction.atomic
def is_last_superuser(*, user: User) -> bool:
    """Whether nobody else is an active superuser. Locks them all while the caller's transaction lasts."""
    rows = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    return list(rows.values_list("pk", flat=True)) == [user.pk]


@transaction.atomic
def users_delete(*, user_ids: Collection[uuid.UUID]) -> int:
    """Delete these users, all or none. Raises Conflict where no active superuser would be left to undo it."""
    rows = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    superusers = set(rows.values_list("pk", flat=True))
    if superusers and superusers <= set(user_ids):
        raise Conflict("Nobody was deleted: no active superuser would be left.", field="is_superuser")
    return User.objects.filter(pk__in=user_ids).delete()[1].get(User._meta.label, 0)


def user_password_set(*, user: User, password: str) -> None:
    """Change a password; tokens and other sessions of the user end with it. Raises InvalidFields."""
    _password_set(user, password)
    user.save(update_fields=["password"])


def _password_set(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidFields({"password": list(error.messages)}) from error
    user.set_password(password)
