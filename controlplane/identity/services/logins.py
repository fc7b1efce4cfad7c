"""Checking a password, with a brake on guessing."""

from django.contrib.auth.hashers import make_password
from django.db.models import Q

from controlplane.identity.models import LoginFailure, User
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import KilonovaError

WINDOW_S = 300.0
FAILURES_ALLOWED = 10


class Unauthorized(KilonovaError):
    """Wrong name or password, or too many wrong ones; which of the names exist is not told."""

    code = "unauthorized"


def credentials_check(*, username: str, password: str, address: str) -> User:
    """The active user with this password. Raises Unauthorized, with one message for every reason."""
    failures = LoginFailure.objects.filter(username=username[:150], address=address[:64])
    if failures.filter(failed_at__gt=now_plus(-WINDOW_S)).count() >= FAILURES_ALLOWED:
        raise Unauthorized("Too many failed log-ins; try again in some minutes.")
    user = User.objects.filter(username=username).first()
    if user is None:
        make_password(password)  # takes as long as a check, so that time does not tell which names exist
    if user is None or not user.is_active or not user.check_password(password):
        LoginFailure.objects.create(username=username[:150], address=address[:64])
        raise Unauthorized("The user name or the password is wrong.")
    LoginFailure.objects.filter(Q(username=username, address=address) | Q(failed_at__lt=now_plus(-WINDOW_S))).delete()
    return user
