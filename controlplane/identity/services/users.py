"""Users."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.identity.models import User
from controlplane.kernel.errors import Conflict, InvalidFields


def user_create(
    *, username: str, password: str, email: str = "", is_superuser: bool = False, is_staff: bool = False
) -> User:
    """A new user. Raises InvalidFields for a bad name or password, Conflict for a name that is taken."""
    user = User(username=username, email=email, is_superuser=is_superuser, is_staff=is_staff or is_superuser)
    _password_set(user, password)
    try:
        user.full_clean(validate_unique=False)
        with transaction.atomic():
            user.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict("A user with this name exists already.", field="username") from error
    return user


def user_password_set(*, user: User, password: str) -> None:
    """Change a password; tokens and other sessions of the user end with it."""
    _password_set(user, password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        user.tokens.all().delete()


def _password_set(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidFields({"password": list(error.messages)}) from error
    user.set_password(password)
