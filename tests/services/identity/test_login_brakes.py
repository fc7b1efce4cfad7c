"""What slows a guesser down, whichever way the guesses are spread, and what never keeps the right person out."""

import threading
from typing import Any, ClassVar

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection

from controlplane.identity.domain import LoginRefused, LoginsBusy, LoginThrottled
from controlplane.identity.domain.throttle import FREE, Bucket
from controlplane.identity.models import KnownAddress, LoginFailure, User
from controlplane.identity.services import credentials_check, user_create
from controlplane.identity.services.hashing_gate import HashingGate
from controlplane.infra.db import now_plus
from tests.fixtures.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
WORD = "correct horse battery"


@pytest.fixture
def mary() -> User:
    return user_create(username="mary", password=WORD)


def failed(bucket: Bucket, failures: int, *, username: str = "", address: str = "") -> None:
    LoginFailure.objects.update_or_create(
        bucket=bucket,
        username=username,
        address=address,
        defaults={"failures": failures, "last_failed_at": now_plus(0)},
    )


def refused(kind: type[Exception], *, username: str = "mary", address: str = "10.0.0.1", **given: str) -> Any:
    with pytest.raises(kind) as error:
        credentials_check(username=username, address=address, **{"password": "wrong", **given})
    return error.value


def failures_of(bucket: Bucket) -> int:
    return sum(LoginFailure.objects.filter(bucket=bucket).values_list("failures", flat=True))


def test_many_names_from_one_address_have_to_wait(mary: User) -> None:
    for number in range(FREE[Bucket.ADDRESS]):
        refused(LoginRefused, username=f"name-{number}")
    error = refused(LoginThrottled, password=WORD)
    assert "from this address" in error.message
    assert credentials_check(username="mary", password=WORD, address="10.0.0.2") == mary


def test_one_name_from_many_addresses_has_to_wait(mary: User) -> None:
    for number in range(FREE[Bucket.NAME]):
        refused(LoginRefused, address=f"10.1.0.{number}")
    error = refused(LoginThrottled, address="10.2.0.1")
    assert "for this username" in error.message


def test_limits_grow_from_the_pair_to_the_address_and_the_name() -> None:
    assert FREE[Bucket.PAIR] < FREE[Bucket.ADDRESS] <= FREE[Bucket.NAME]


def test_strangers_do_not_lock_out_who_logged_in_from_there_before(mary: User) -> None:
    credentials_check(username="mary", password=WORD, address="10.0.0.1")
    failed(Bucket.NAME, 1000, username="mary")
    failed(Bucket.ADDRESS, 1000, address="10.0.0.1")
    refused(LoginRefused)
    assert credentials_check(username="mary", password=WORD, address="10.0.0.1") == mary
    refused(LoginThrottled, address="10.0.0.9", password=WORD)


def test_address_is_forgotten_a_month_after_the_last_login(mary: User) -> None:
    credentials_check(username="mary", password=WORD, address="10.0.0.1")
    KnownAddress.objects.update(last_login_at=now_plus(-31 * 86400))
    failed(Bucket.NAME, 1000, username="mary")
    refused(LoginThrottled, password=WORD)


class WatchingHasher(MD5PasswordHasher):
    """Notes what was counted by the time that a password is looked at."""

    counted: ClassVar[list[int]] = []

    def verify(self, password: str, encoded: str) -> bool:
        self.counted.append(failures_of(Bucket.PAIR))
        return super().verify(password, encoded)


def test_try_is_counted_before_the_password_is_hashed(mary: User, settings: Any) -> None:
    """So tries in flight at the same time see each other."""
    settings.PASSWORD_HASHERS = [f"{__name__}.WatchingHasher"]
    WatchingHasher.counted.clear()
    refused(LoginRefused)
    assert WatchingHasher.counted == [1]


def test_right_password_takes_back_its_own_count_and_nobody_elses(mary: User) -> None:
    refused(LoginRefused, username="nobody")
    refused(LoginRefused)
    credentials_check(username="mary", password=WORD, address="10.0.0.1")
    assert not LoginFailure.objects.filter(bucket=Bucket.PAIR, username="mary").exists()
    assert (failures_of(Bucket.ADDRESS), failures_of(Bucket.NAME)) == (2, 2)


def test_disabled_user_costs_a_hash_as_well(mary: User) -> None:
    User.objects.update(is_active=False)
    refused(LoginRefused, password=WORD)


def test_gate_lets_few_hash_and_few_wait_and_refuses_the_rest_at_once() -> None:
    gate = HashingGate(at_once=1, waiting=1)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with gate:
            inside.set()
            leave.wait(PATIENCE_S)

    def queue() -> None:
        with gate:
            pass

    first = threading.Thread(target=hold)
    first.start()
    assert inside.wait(PATIENCE_S)
    second = threading.Thread(target=queue)
    second.start()
    while gate.free_places:
        pass
    with pytest.raises(LoginsBusy), gate:
        pass
    leave.set()
    first.join(PATIENCE_S)
    second.join(PATIENCE_S)
    with gate:
        assert gate.free_places == 1


@pytest.mark.django_db(transaction=True)
def test_tries_in_flight_count_together(settings: Any) -> None:
    """Twenty at once from one address: no more than the free ones are looked at."""
    if connection.vendor == "sqlite":
        pytest.skip("threads do not share the in-memory database")
    user_create(username="mary", password=WORD)
    answers: list[str] = []

    def attempt() -> None:
        try:
            credentials_check(username="mary", password="wrong", address="10.0.0.1")
        except (LoginRefused, LoginThrottled, LoginsBusy) as error:
            answers.append(type(error).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=attempt) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(answers) == 20
    assert 1 <= answers.count("LoginRefused") <= FREE[Bucket.PAIR]
