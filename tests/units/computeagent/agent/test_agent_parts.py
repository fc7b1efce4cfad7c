"""The small parts, without threads."""

import logging

import pytest

from computeagent.agent.failures import ComputeResourcesUnavailable
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.instance_mutex import InstanceMutex
from computeagent.agent.resource_tracker import ResourceTracker, Usage
from computeagent.agent.retry import JITTER, REFUSED_FIRST_S, REFUSED_MAX_S, Retry
from computeagent.agent.threads import ThreadHeartbeats, ThreadSilent
from computeagent.agent.work_queues import Inbox, WorkQueue
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.power import PowerState
from computeagent.protocol.refusals import SecretUnknown
from computeagent.protocol.work import AgentLease, WorkKind, WorkOrder, WorkWakeup
from controlplane.kernel.errors import Invalid, Unavailable
from tests.units.computeagent.agent.conftest import guest_spec

REPORT = HostReport("h1", "memory", 1, vcpus=2, memory_mib=1024, disk_gib=10)


def hold_on(instance_uuid: str) -> HeldLease:
    lease = AgentLease("w", 1, "me", 30.0)
    return HeldLease(WorkOrder(lease, WorkKind.BUILD, guest_spec(uuid=instance_uuid), "req", PowerState.RUNNING))


def test_claims_over_the_total_are_allowed_since_placement_overcommits() -> None:
    tracker = ResourceTracker()
    for _ in range(3):
        tracker.claim(guest_spec(memory_mib=1024), REPORT)
    assert tracker.used() == Usage(vcpus=3, memory_mib=3072, disk_gib=3)


def test_claim_larger_than_the_machine_names_every_shortage() -> None:
    with pytest.raises(ComputeResourcesUnavailable) as refused:
        ResourceTracker().claim(guest_spec(memory_mib=2048, vcpus=3, root_gib=11), REPORT)
    assert refused.value.message == (
        "memory: wants 2048 MiB, host has 1024 MiB; vcpus: wants 3, host has 2; disk: wants 11 GiB, host has 10 GiB"
    )


def test_claim_over_a_limit_that_came_with_the_choice_names_it() -> None:
    tracker = ResourceTracker()
    tracker.claim(guest_spec(memory_mib=1024), REPORT, {"memory_mb": 1536.0})
    with pytest.raises(ComputeResourcesUnavailable) as refused:
        tracker.claim(guest_spec(memory_mib=1024), REPORT, {"memory_mb": 1536.0, "vcpu": 4.0, "made_up": 0.0})
    assert refused.value.message == "limit memory_mb: 2048 with this instance, at most 1536"
    assert tracker.used().memory_mib == 1024


def test_claim_made_again_is_not_counted_against_its_own_limit() -> None:
    tracker, guest = ResourceTracker(), guest_spec(memory_mib=1024)
    for _ in range(2):
        tracker.claim(guest, REPORT, {"memory_mb": 1024.0})
    assert tracker.used().memory_mib == 1024


def test_claim_of_a_placed_instance_counts_once() -> None:
    tracker, guest = ResourceTracker(), guest_spec()
    tracker.rebuild([guest])
    tracker.claim(guest, REPORT)
    assert tracker.used().memory_mib == 128


def test_aborted_claim_is_given_back() -> None:
    tracker, guest = ResourceTracker(), guest_spec()
    tracker.claim(guest, REPORT)
    tracker.abort(guest.uuid)
    assert tracker.used() == Usage()


def test_instance_lock_refuses_a_second_holder(tmp_path) -> None:  # type: ignore[no-untyped-def]
    guest = guest_spec()
    with instance_lock(tmp_path, guest.uuid), pytest.raises(InstanceBusy), instance_lock(tmp_path, guest.uuid):
        pass


def test_instance_lock_refuses_a_name_that_is_no_uuid(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Invalid), instance_lock(tmp_path, "../x"):
        pass


def test_parked_work_comes_back_when_the_turn_ends() -> None:
    instance_mutex, first, second = InstanceMutex(), hold_on("a"), hold_on("a")
    assert instance_mutex.enter_or_park(first)
    assert not instance_mutex.enter_or_park(second)
    assert instance_mutex.leave("a") == [second]
    assert instance_mutex.try_enter("a")


def test_instance_entered_after_the_checkpoint_is_disturbed() -> None:
    instance_mutex = InstanceMutex()
    checkpoint = instance_mutex.checkpoint()
    instance_mutex.try_enter("a")
    instance_mutex.leave("a")
    assert not instance_mutex.undisturbed_since(checkpoint, "a")
    assert instance_mutex.undisturbed_since(instance_mutex.checkpoint(), "a")


def test_wakeup_for_known_work_is_dropped_until_forgotten() -> None:
    inbox, wakeup = Inbox(), WorkWakeup(WorkKind.DELETE, "w1")
    assert inbox.put(wakeup)
    assert not inbox.put(wakeup)
    assert inbox.next(WorkQueue.ACTIONS) == wakeup
    inbox.forget("w1")
    assert inbox.put(wakeup)


def test_retry_gives_up_when_stopping() -> None:
    calls: list[int] = []

    def verb() -> None:
        calls.append(1)
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        Retry(stopping=lambda: len(calls) == 3, pause=lambda _s: None).call(verb)
    assert len(calls) == 3


def test_agent_that_is_not_let_in_asks_ever_more_seldom_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    pauses: list[float] = []

    def claim() -> str:
        if len(pauses) < 50:
            raise SecretUnknown("Enrol the host again.")
        return "in"

    with caplog.at_level(logging.WARNING):
        assert Retry(stopping=lambda: False, pause=pauses.append).until_let_in(claim) == "in"
    assert REFUSED_FIRST_S * (1 - JITTER) <= pauses[0] < pauses[3] < pauses[-1] <= REFUSED_MAX_S * (1 + JITTER)
    assert caplog.text.count("Enrol the host again.") == 1


def test_agent_that_is_not_let_in_can_be_stopped() -> None:
    def claim() -> None:
        raise SecretUnknown("Enrol the host again.")

    with pytest.raises(Unavailable, match="Enrol the host again"):
        Retry(stopping=lambda: True, pause=lambda _s: None).until_let_in(claim)


def test_overdue_heartbeat_names_the_thread() -> None:
    now = [0.0]
    heartbeats = ThreadHeartbeats(lambda: now[0])
    heartbeats.beat("console", next_within_s=1.0)
    now[0] = 100.0
    heartbeats.check(allowance_s=120.0)
    now[0] = 122.0
    with pytest.raises(ThreadSilent, match="console"):
        heartbeats.check(allowance_s=120.0)
