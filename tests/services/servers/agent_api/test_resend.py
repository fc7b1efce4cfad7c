"""Wake-ups of hosts are sent again until what they are about is done, and to nobody else."""

import uuid
from typing import Any

import pytest

from controlplane.infra.db import now_plus
from controlplane.work.jobs import PERIODIC_TASKS
from controlplane.work.models import Wakeup
from scheduling.models import Service
from servers.agent_api.resend import QUIET_S, RESEND_EVERY_S, host_wakeups_resend
from servers.models import HostNetworkState, Image, ImageCacheRequest
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO, NOW = -QUIET_S - 1, 0.0


@pytest.fixture(autouse=True)
def who() -> world.People:
    found = world.cloud("h1", "h2")
    Wakeup.objects.all().delete()
    return found


def behind(host: str, *, since_s: float = LONG_AGO, applied: int = 1) -> None:
    HostNetworkState.objects.update_or_create(
        host=host,
        defaults={"wanted_revision": 2, "applied_revision": applied, "behind_since": now_plus(since_s)},
    )


def fetching(host: str, state: str, *, told_s: float = LONG_AGO) -> None:
    image = Image.objects.create(name=str(uuid.uuid4()), status="active", checksum_sha256="a" * 64, size_bytes=9)
    ImageCacheRequest.objects.create(
        host=host, image=image, state=state, asked_at=now_plus(told_s), updated_at=now_plus(told_s)
    )


def woken() -> set[tuple[str, str]]:
    return set(Wakeup.objects.values_list("queue", "code"))


def test_host_whose_networks_are_behind_is_woken_again() -> None:
    behind("h1")
    assert host_wakeups_resend() == 1
    assert woken() == {("compute.h1", "networks")}
    assert host_wakeups_resend() == 1
    assert Wakeup.objects.count() == 1


@pytest.mark.parametrize(("since_s", "applied"), [(NOW, 1), (LONG_AGO, 2)])
def test_host_that_has_its_networks_or_was_told_just_now_is_left(since_s: float, applied: int) -> None:
    behind("h1", since_s=since_s, applied=applied)
    assert host_wakeups_resend() == 0
    assert woken() == set()


@pytest.mark.parametrize("state", ["waiting", "fetching"])
def test_host_that_is_silent_about_images_it_is_to_fetch_is_woken(state: str) -> None:
    fetching("h1", state)
    fetching("h1", state)
    assert host_wakeups_resend() == 1
    assert woken() == {("compute.h1", "images")}


@pytest.mark.parametrize(("state", "told_s"), [("fetching", NOW), ("cached", LONG_AGO), ("failed", LONG_AGO)])
def test_host_that_fetches_or_has_ended_is_left(state: str, told_s: float) -> None:
    fetching("h1", state, told_s=told_s)
    assert host_wakeups_resend() == 0


def test_host_that_is_down_is_left_until_it_asks_itself() -> None:
    for host in ("h1", "h2"):
        behind(host)
        fetching(host, "waiting")
    Service.objects.filter(host="h1").update(last_seen_up=now_plus(-3600.0))
    assert host_wakeups_resend() == 2
    assert {queue for queue, _ in woken()} == {"compute.h2"}


def test_resending_costs_as_much_for_many_hosts(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        host_wakeups_resend()
    for host in ("h1", "h2"):
        behind(host)
        fetching(host, "waiting")
    with django_assert_num_queries(4):
        host_wakeups_resend()


def test_conductor_does_it_now_and_then() -> None:
    assert PERIODIC_TASKS["wake-ups of hosts"].every_s == RESEND_EVERY_S
