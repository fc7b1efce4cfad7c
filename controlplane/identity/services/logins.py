"""Checking a password, with brakes on guessing and on hashing.

A try is counted first and judged afterwards, so that tries which are under way at the same time see each other;
the right password takes its count back. See `domain.throttle` for what is counted and who waits.
"""

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.identity.conf import identity_options
from controlplane.identity.domain import LoginRefused, LoginThrottled
from controlplane.identity.domain.throttle import FORGOTTEN_AFTER_S, FREE, KNOWN_FOR_S, Bucket, login_wait_s
from controlplane.identity.models import KnownAddress, LoginFailure, User
from controlplane.identity.services.hashing_gate import hashing_gate
from controlplane.infra.db import db_now, now_plus

MAX_FORGOTTEN_AT_ONCE = 1000


def credentials_check(*, username: str, password: str, address: str) -> User:
    """The active user with this password.

    Raises LoginRefused, LoginThrottled after too many wrong ones, or LoginsBusy while many others are judged. An
    unknown name, and a user who is switched off, take as long and get the same answer as a wrong password.
    """
    _forget_old()
    with hashing_gate(identity_options().login_hashes):
        user = User.objects.filter(username=username).first()
        buckets = _buckets(user, username[:150], address[:64])
        _count(buckets)
        if user is None:
            make_password(password)  # costs what a check costs
        is_right = user is not None and user.check_password(password)
    if user is None or not is_right or not user.is_active:
        raise LoginRefused
    _count_back(buckets)
    _address_keep(user, address[:64])
    return user


def _buckets(user: User | None, username: str, address: str) -> dict[Bucket, tuple[str, str]]:
    """What this try counts in, as username and address: where the user is known at this address, in its own only."""
    pair = {Bucket.PAIR: (username, address)}
    known = KnownAddress.objects.filter(user=user, address=address, last_login_at__gte=now_plus(-KNOWN_FOR_S))
    if user is not None and known.exists():
        return pair
    return {Bucket.ADDRESS: ("", address), Bucket.NAME: (username, ""), **pair}


@transaction.atomic
def _count(buckets: dict[Bucket, tuple[str, str]]) -> None:
    """One more failure in each, as long as it is not known better. A try that has to wait is not counted."""
    fresh = [
        LoginFailure(bucket=bucket, username=name, address=address, failures=0, last_failed_at=Now())
        for bucket, (name, address) in buckets.items()
    ]
    LoginFailure.objects.bulk_create(fresh, ignore_conflicts=True)
    rows = list(LoginFailure.objects.select_for_update().filter(_any_of(buckets)).order_by("pk"))
    now = db_now()
    for row in rows:
        bucket = Bucket(row.bucket)
        since_last_s = (now - row.last_failed_at).total_seconds()
        wait = login_wait_s(failures=row.failures, since_last_s=since_last_s, free=FREE[bucket])
        if wait:
            raise LoginThrottled(wait, bucket)
    LoginFailure.objects.filter(_any_of(buckets)).update(failures=F("failures") + 1, last_failed_at=Now())


def _count_back(buckets: dict[Bucket, tuple[str, str]]) -> None:
    """The password was right: the pair starts anew, the others lose this one try and keep those of strangers."""
    LoginFailure.objects.filter(_any_of({Bucket.PAIR: buckets[Bucket.PAIR]})).delete()
    others: dict[Bucket, tuple[str, str]] = {
        bucket: key for bucket, key in buckets.items() if bucket is not Bucket.PAIR
    }
    if others:
        LoginFailure.objects.filter(_any_of(others), failures__gt=0).update(failures=F("failures") - 1)


def _any_of(buckets: dict[Bucket, tuple[str, str]]) -> Q:
    found = Q()
    for bucket, (username, address) in buckets.items():
        found |= Q(bucket=bucket, username=username, address=address)
    return found


def _address_keep(user: User, address: str) -> None:
    """Remember where the user logs in from, and forget where it did long ago."""
    KnownAddress.objects.filter(user=user, last_login_at__lt=now_plus(-KNOWN_FOR_S)).delete()
    KnownAddress.objects.bulk_create(
        [KnownAddress(user=user, address=address, last_login_at=Now())],
        update_conflicts=True,
        unique_fields=["user", "address"],
        update_fields=["last_login_at"],
    )


@transaction.atomic
def _forget_old() -> None:
    """Old counts go, whoever's they are: a forgotten one starts anew, and the table stays small.

    Rows that somebody counts in now are passed over: two that wait for each other's rows would be a deadlock.
    """
    old = LoginFailure.objects.filter(last_failed_at__lt=now_plus(-FORGOTTEN_AFTER_S))
    keys = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:MAX_FORGOTTEN_AT_ONCE])
    if keys:
        LoginFailure.objects.filter(pk__in=keys).delete()
