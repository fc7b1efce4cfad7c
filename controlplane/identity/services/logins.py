"""Checking a password, with a brake on guessing."""

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.identity.domain import LoginRefused, LoginThrottled
from controlplane.identity.domain.throttle import FORGOTTEN_AFTER_S, wait_s
from controlplane.identity.models import LoginFailure, User
from controlplane.infra.db import db_now, now_plus


def credentials_check(*, username: str, password: str, address: str) -> User:
    """The active user with this password. Raises LoginRefused, or LoginThrottled after too many wrong ones.

    An unknown name takes as long and gets the same answer as a wrong password.
    """
    _refuse_when_throttled(username, address)
    user = User.objects.filter(username=username).first()
    if user is None:
        make_password(password)  # costs what a check costs
    if user is None or not user.is_active or not user.check_password(password):
        _count_failure(username, address)
        raise LoginRefused
    LoginFailure.objects.filter(username=username, address=address).delete()
    return user


def _refuse_when_throttled(username: str, address: str) -> None:
    row = LoginFailure.objects.filter(username=username[:150], address=address[:64]).first()
    if row is None:
        return
    wait = wait_s(failures=row.failures, since_last_s=(db_now() - row.last_failed_at).total_seconds())
    if wait:
        raise LoginThrottled(wait)


@transaction.atomic
def _count_failure(username: str, address: str) -> None:
    # Old counts go first, whoever's they are: a forgotten one starts anew, and the table stays small.
    LoginFailure.objects.filter(last_failed_at__lt=now_plus(-FORGOTTEN_AFTER_S)).delete()
    key = {"username": username[:150], "address": address[:64]}
    LoginFailure.objects.bulk_create([LoginFailure(**key, failures=0, last_failed_at=Now())], ignore_conflicts=True)
    LoginFailure.objects.filter(**key).update(failures=F("failures") + 1, last_failed_at=Now())
