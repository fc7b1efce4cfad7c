"""Failed builds of a host: counted by its own fault only, disabling it at the limit, forgotten by and by."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from computeagent.protocol.steps import FailureClass
from controlplane.work.models import Heal
from placement.selectors.providers import provider_traits_by_uuid
from scheduling.fleet.services.build_failures import build_failure_count, build_failure_reset, build_failures_round
from scheduling.fleet.services.lockout import service_let_in, service_lock_out
from scheduling.fleet.services.service_states import service_disable, service_enable
from scheduling.models import BuildFailures, ComputeNode, Service
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

HALF_LIFE_S = 600.0


@pytest.fixture(autouse=True)
def _rule(settings: Any) -> None:
    settings.KILONOVA = {
        **settings.KILONOVA,
        "BUILD_FAILURES_DISABLE": 4,
        "BUILD_FAILURES_HALF_LIFE_S": HALF_LIFE_S,
    }


def fail(times: int) -> None:
    for number in range(times):
        with transaction.atomic():
            build_failure_count(host="h1", reason=f"spawning: no disk {number + 1}")


def quiet(half_lives: float) -> None:
    """As if the last failure had been so much longer ago."""
    BuildFailures.objects.update(decayed_at=F("decayed_at") - timedelta(seconds=half_lives * HALF_LIFE_S + 1))


def traits() -> frozenset[str]:
    return provider_traits_by_uuid().get(ComputeNode.objects.get().pk, frozenset())


def result() -> tuple[int, bool]:
    return ComputeNode.objects.get().failed_builds, Service.objects.get().disabled


def test_fewer_failures_than_the_limit_leave_the_host_enabled() -> None:
    world.host("h1")
    fail(3)
    assert result() == (3, False)


def test_limit_disables_the_host_with_numbers_and_the_last_reason() -> None:
    world.host("h1")
    fail(4)
    service = Service.objects.get()
    assert result() == (4, True)
    assert service.disabled_reason.startswith("Failed 4 builds in a row by its own fault (limit 4), the last at ")
    assert service.disabled_reason.endswith("spawning: no disk 4")
    assert "COMPUTE_STATUS_DISABLED" in traits()
    heal = Heal.objects.get(kind="host_disabled")
    assert heal.subject == service.pk
    assert (heal.evidence["failed_builds"], heal.evidence["limit"], heal.evidence["total"]) == (4, 4, 4)


def test_last_failures_are_remembered_and_no_more_than_twenty() -> None:
    world.host("h1")
    fail(25)
    recent = BuildFailures.objects.get().recent
    assert [one["reason"] for one in recent] == [f"spawning: no disk {number}" for number in range(6, 26)]


def test_failures_that_are_not_the_hosts_fault_are_not_counted() -> None:
    who = world.cloud()
    for failure in (FailureClass.NETWORK, FailureClass.POLICY, FailureClass.USER):
        world.create(who.member, failure.value)
        world.pump()
        world.fail_build("h1", failure)
    assert result() == (0, False)
    assert not BuildFailures.objects.exists()


def test_failures_count_half_after_a_half_life_and_the_host_is_enabled_again() -> None:
    world.host("h1")
    fail(5)
    quiet(1)
    assert build_failures_round() == 1
    assert result() == (2, False)
    assert Service.objects.get().disabled_reason == ""
    assert "COMPUTE_STATUS_DISABLED" not in traits()
    assert Heal.objects.filter(kind="host_enabled").count() == 1


def test_second_round_changes_nothing() -> None:
    world.host("h1")
    fail(5)
    quiet(1)
    build_failures_round()
    assert build_failures_round() == 0
    assert result() == (2, False)


def test_failures_of_several_half_lives_ago_are_forgotten() -> None:
    world.host("h1")
    fail(3)
    quiet(2.5)
    build_failures_round()
    assert result() == (0, False)


def test_host_that_an_operator_disabled_is_not_enabled_by_decay() -> None:
    world.host("h1")
    fail(4)
    service_disable(host="h1", reason="disks on order")
    quiet(5)
    build_failures_round()
    assert result() == (0, True)
    assert Service.objects.get().disabled_reason == "disks on order"


def test_operators_word_enables_the_host_and_forgets_its_failures() -> None:
    world.host("h1")
    fail(4)
    service_enable(host="h1")
    build_failures_round()
    assert result() == (0, False)


def test_build_that_works_after_the_limit_enables_the_host() -> None:
    world.host("h1")
    fail(4)
    build_failure_reset(host="h1")
    build_failures_round()
    assert result() == (0, False)


def test_limit_of_zero_never_disables(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "BUILD_FAILURES_DISABLE": 0}
    world.host("h1")
    fail(20)
    assert result() == (20, False)


def test_host_that_is_locked_out_meanwhile_is_not_enabled_when_its_failures_are_forgotten() -> None:
    world.host("h1")
    fail(5)
    assert service_lock_out(host="h1", reason="revoked")
    quiet(1)
    assert build_failures_round() == 0
    assert (result(), Service.objects.get().disabled_reason) == ((2, True), "AUTO: locked out: revoked")
    assert service_let_in(host="h1")
    assert result() == (2, False)


def test_host_in_safe_mode_is_enabled_by_that_alone_and_judged_anew_afterwards() -> None:
    world.host("h1")
    fail(4)
    world.host("h1", safe_mode="no guest is there")
    assert Service.objects.get().disabled_reason == "AUTO: safe mode: no guest is there"
    world.host("h1")
    assert result() == (4, False)
    assert build_failures_round() == 1
    assert (result()[1], Service.objects.get().disabled_reason[:15]) == (True, "Failed 4 builds")


def test_failures_of_a_host_that_an_operator_disabled_give_way_to_nothing() -> None:
    world.host("h1")
    fail(4)
    service_disable(host="h1", reason="new disks")
    assert not service_lock_out(host="h1", reason="revoked")
    assert Service.objects.get().disabled_reason == "new disks"
