"""Checking a password, with brakes on guessing and on hashing: here, or in the directory that knows the person.

Who is kept here is judged here alone: a directory that fails, or has somebody of the same name, changes nothing for
them. Who came from a directory is judged there alone. A name that nobody has here is asked for in the directory, and
becomes a user when it knows the password.
"""

from django.contrib.auth.hashers import make_password
from django.db.models.functions import Now

from controlplane.identity.conf import identity_options, ldap_options
from controlplane.identity.domain import DirectoryUnavailable, LoginRefused
from controlplane.identity.domain.outside import Source
from controlplane.identity.domain.throttle import KNOWN_FOR_S, Bucket
from controlplane.identity.models import ExternalIdentity, KnownAddress, User
from controlplane.identity.services.hashing_gate import hashing_gate
from controlplane.identity.services.login_brakes import (
    Tries,
    tries_count,
    tries_forget_old,
    tries_forgive,
    tries_take_back,
)
from controlplane.identity.services.outsiders import outsider_admit
from controlplane.infra.db import now_plus


def credentials_check(*, username: str, password: str, address: str) -> User:
    """The active user with this password. Whether a second factor is wanted too is the next question: `login_steps`.

    Raises LoginRefused, LoginThrottled after too many wrong ones, LoginsBusy while many others are judged,
    DirectoryUnavailable, or OutsiderRefused for a person of the directory whose name somebody has here. A user who is
    switched off takes as long and gets the same answer as a wrong password; so does an unknown name where there is no
    directory.
    """
    tries_forget_old()
    user = User.objects.filter(username=username).first()
    if ldap_options().ldap_url and (user is None or _is_from_directory(user)):
        found = _by_directory(user, username, password, address)
    else:
        found = _by_hash(user, username, password, address)
    address_keep(found, address[:64])
    return found


def _is_from_directory(user: User) -> bool:
    return ExternalIdentity.objects.filter(user=user, source=Source.LDAP).exists()


def _by_hash(user: User | None, username: str, password: str, address: str) -> User:
    with hashing_gate(identity_options().login_hashes):
        buckets = buckets_of(user, username[:150], address[:64])
        tries_count(buckets)
        if user is None:
            make_password(password)  # costs what a check costs
        is_right = user is not None and user.check_password(password)
    if user is None or not is_right or not user.is_active:
        raise LoginRefused
    tries_forgive(buckets, anew=Bucket.PAIR)
    return user


def _by_directory(user: User | None, username: str, password: str, address: str) -> User:
    """Through a gate of its own: a directory that is slow must not take the places of those who are kept here."""
    # The library takes a tenth of a second to load, which each process would pay where there is no directory.
    from controlplane.identity.outside.ldap_directory import ldap_person  # noqa: PLC0415

    with hashing_gate(ldap_options().ldap_logins, what="directory"):
        buckets = buckets_of(user, username[:150], address[:64])
        tries_count(buckets)
        try:
            person = ldap_person(username=username, password=password)
        except DirectoryUnavailable:
            tries_take_back(buckets)
            raise
    if person is None:
        raise LoginRefused
    found = outsider_admit(person)
    tries_forgive(buckets, anew=Bucket.PAIR)
    return found


def buckets_of(user: User | None, username: str, address: str) -> Tries:
    """What this try counts in: where the user is known at this address, in its own only."""
    pair = {Bucket.PAIR: (username, address)}
    known = KnownAddress.objects.filter(user=user, address=address, last_login_at__gte=now_plus(-KNOWN_FOR_S))
    if user is not None and known.exists():
        return pair
    return {Bucket.ADDRESS: ("", address), Bucket.NAME: (username, ""), **pair}


def address_keep(user: User, address: str) -> None:
    """Remember where the user logs in from, and forget where it did long ago."""
    KnownAddress.objects.filter(user=user, last_login_at__lt=now_plus(-KNOWN_FOR_S)).delete()
    KnownAddress.objects.bulk_create(
        [KnownAddress(user=user, address=address, last_login_at=Now())],
        update_conflicts=True,
        unique_fields=["user", "address"],
        update_fields=["last_login_at"],
    )
