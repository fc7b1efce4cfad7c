"""Failed attempts count against their hosts at once where the fault is theirs, else when another host builds it."""

from typing import Any

import pytest

from computeagent.protocol.steps import FailureClass, HostBlame
from scheduling.fleet.services.build_failures import build_failure_reset
from scheduling.models import BuildFailures, ComputeNode
from servers.instances.domain.host_blame import AttemptBlame
from servers.instances.services.host_blame import blame_round
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import AttemptRecord, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

LATER, NEVER, AT_ONCE = HostBlame.IF_BUILT_ELSEWHERE, HostBlame.NEVER, HostBlame.AT_ONCE


def counts() -> dict[str, int]:
    """Hosts whose counter is not 0."""
    return dict(BuildFailures.objects.values_list("host", "total"))


def fail_once(instance: Instance, blame: HostBlame) -> str:
    """Where it is; the host gives it back, and the next one is chosen."""
    host = world.instance_of(instance.pk).host
    world.fail_build(host, FailureClass.HOST, f"no on {host}", blame)
    world.pump()
    return host


def made(who: world.People, **more: Any) -> Instance:
    one = world.create(who.member, **more)[0]
    world.pump()
    return one


def blames() -> list[str]:
    return list(AttemptRecord.objects.order_by("number").values_list("host_blame", flat=True))


def test_failure_that_could_be_the_requests_counts_once_another_host_built_it() -> None:
    who = world.cloud("h1", "h2", "h3")
    one = made(who)
    first = fail_once(one, LATER)
    second = fail_once(one, LATER)
    assert counts() == {}
    assert world.finish_builds() == 1
    assert counts() == {first: 1, second: 1}
    assert set(ComputeNode.objects.filter(failed_builds=1).values_list("host", flat=True)) == {first, second}
    assert f"no on {first}" in BuildFailures.objects.get(host=first).last_reason
    assert blames() == ["counted", "counted", ""]


def test_request_that_no_host_builds_counts_against_none() -> None:
    who = world.cloud("h1", "h2", "h3")
    one = made(who)
    for _ in range(3):
        fail_once(one, LATER)
    assert world.instance_of(one.pk).vm_state == "error"
    assert counts() == {}


def test_what_a_host_lacks_counts_never_and_another_is_tried() -> None:
    who = world.cloud("h1", "h2")
    one = made(who)
    fail_once(one, NEVER)
    assert world.finish_builds() == 1
    assert (counts(), blames()) == ({}, ["", ""])


def test_what_is_the_hosts_own_counts_at_once() -> None:
    who = world.cloud("h1", "h2")
    one = made(who)
    first = fail_once(one, AT_ONCE)
    assert counts() == {first: 1}
    world.finish_builds()
    assert (counts(), blames()) == ({first: 1}, ["counted", ""])


def test_what_failed_before_it_was_asked_for_again_counts_against_none() -> None:
    who = world.cloud("h1")
    one = made(who)
    fail_once(one, LATER)
    assert blames() == ["pending"]
    world.host("h2")
    world.create(who.member, "other")
    instance_schedule_again(instance_id=one.pk, caller=who.member)
    world.pump()
    world.finish_builds()
    assert counts() == {}
    assert "pending" not in blames()


def test_round_counts_what_a_process_that_died_left_and_counts_it_once() -> None:
    who = world.cloud("h1", "h2")
    one = made(who)
    first = fail_once(one, LATER)
    AttemptRecord.objects.filter(host=first).update(host_blame=AttemptBlame.DUE)
    assert blame_round() == 1
    assert (blame_round(), counts()) == (0, {first: 1})
    world.finish_builds()
    assert counts() == {first: 1}


def test_build_that_works_is_trusted_though_an_earlier_one_is_counted_late() -> None:
    who = world.cloud("h1", "h2")
    first = fail_once(made(who), LATER)
    world.finish_builds()
    build_failure_reset(host=first)
    assert blame_round() == 0
    assert ComputeNode.objects.get(host=first).failed_builds == 0
