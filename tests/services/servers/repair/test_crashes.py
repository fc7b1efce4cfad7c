"""A guest that crashed, stands still or hangs: what its instance says, and how often it is started again."""

import pytest
from django.conf import settings as django_settings
from django.test import override_settings

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState, StateReason
from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields
from servers.agent_api import conductor_connect
from servers.instances.actions.crash_policy import CrashOutcome, CrashPolicy, crash_outcome
from servers.instances.selectors.failed_instances import crashed, standing_still
from servers.instances.services.act import instance_act
from servers.models import Instance, InstanceAction, InstanceFault
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_find
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
PANICKED = GuestFacts(PowerState.CRASHED, reason=StateReason.PANICKED)
HANGS = GuestFacts(PowerState.PAUSED, reason=StateReason.WATCHDOG, watchdog_fired=1)
HUNG = "The guest stands still, for its watchdog fired: the system inside hangs."


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def told(instance: Instance, facts: GuestFacts) -> Instance:
    conductor_connect().power_states(host="h1", facts={str(instance.pk): facts})
    return world.instance_of(instance.pk)


def entries(instance: Instance, action: str) -> list[str]:
    rows = InstanceAction.objects.filter(instance_uuid=instance.pk, action=action).order_by("id")
    return [row.message for row in rows]


def started_again() -> None:
    """The host's agent does what it was asked for."""
    conductor_connect().action_done(lease=world.order("h1", WorkKind.START).lease, facts=world.RUNNING)


@pytest.mark.parametrize(
    ("policy", "restarts", "limit", "outcome"),
    [
        (CrashPolicy.STOP, 0, 3, CrashOutcome.STAY_OFF),
        (CrashPolicy.RESTART, 0, 3, CrashOutcome.RESTART),
        (CrashPolicy.RESTART, 2, 3, CrashOutcome.RESTART),
        (CrashPolicy.RESTART, 3, 3, CrashOutcome.GIVE_UP),
        (CrashPolicy.RESTART, 0, 0, CrashOutcome.GIVE_UP),
    ],
)
def test_policy_and_number_decide(policy: str, restarts: int, limit: int, outcome: CrashOutcome) -> None:
    assert crash_outcome(policy, restarts=restarts, limit=limit) is outcome


def test_without_a_policy_the_instance_stops_and_its_fault_says_why(who: world.People) -> None:
    instance = world.active(who.member)
    row = told(instance, PANICKED)
    assert (row.vm_state, row.task_state, row.power_state, row.power_reason) == ("stopped", "", "crashed", "panicked")
    assert entries(instance, "crash") == ["The system inside crashed. The instance is stopped since."]
    shown = world.client_of(who.member).get(f"/api/instances/{instance.pk}/").json()
    assert shown["status"] == "SHUTOFF"
    assert shown["power_reason"] == "panicked"
    assert shown["fault"]["message"] == entries(instance, "crash")[0]
    assert "h1" not in str(shown)


def test_told_twice_it_is_one_crash(who: world.People) -> None:
    instance = world.active(who.member)
    told(instance, PANICKED)
    told(instance, PANICKED)
    assert len(entries(instance, "crash")) == 1
    assert InstanceFault.objects.filter(instance_uuid=instance.pk).count() == 1


def test_one_that_is_to_be_restarted_is_as_often_as_the_setting_says_and_then_stays_off(who: world.People) -> None:
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="on_crash", arguments={"policy": "restart"})
    for number in range(3):
        row = told(instance, PANICKED)
        assert (row.vm_state, row.task_state) == ("active", "powering-on"), number
        started_again()
        row = world.instance_of(instance.pk)
        assert (row.vm_state, row.power_state, row.power_reason) == ("active", "running", "")
        assert world.client_of(who.member).get(f"/api/instances/{instance.pk}/").json()["fault"] is None
    row = told(instance, PANICKED)
    assert (row.vm_state, row.task_state) == ("stopped", "")
    assert len(entries(instance, "start")) == 3
    assert "for the 1. of at most 3 times within 60 min" in entries(instance, "crash")[0]
    assert "It was started again 3 times within 60 min, and is not any more" in entries(instance, "crash")[3]


def test_crashes_after_which_a_person_started_it_do_not_count(who: world.People) -> None:
    instance = world.active(who.member)
    for _ in range(3):
        told(instance, PANICKED)
        instance_act(caller=who.member, instance_id=instance.pk, action="start")
        started_again()
    instance_act(caller=who.member, instance_id=instance.pk, action="on_crash", arguments={"policy": "restart"})
    assert told(instance, PANICKED).task_state == "powering-on"
    assert entries(instance, "crash")[-1].endswith("for the 1. of at most 3 times within 60 min.")


def test_guest_that_hangs_is_rebooted_as_often_as_the_setting_says_and_then_stands_still(who: world.People) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash="restart")
    told(instance, PANICKED)
    started_again()
    for number in (2, 3):
        row = told(instance, HANGS)
        assert (row.vm_state, row.task_state, row.power_state) == ("active", "rebooting_hard", "paused")
        said = f"{HUNG} It is rebooted hard, for the {number}. of at most 3 times within 60 min."
        assert entries(instance, "stood_still")[-1] == said
        assert not standing_still(caller=who.member).exists()
        conductor_connect().action_done(lease=world.order("h1", WorkKind.REBOOT).lease, facts=world.RUNNING)
    row = told(instance, HANGS)
    assert (row.vm_state, row.task_state, row.power_state) == ("active", "", "paused")
    gave_up = "It was started again 3 times within 60 min, and is not any more: somebody has to reboot it hard."
    assert entries(instance, "stood_still")[-1] == f"{HUNG} {gave_up}"
    assert [one.pk for one in standing_still(caller=who.member)] == [instance.pk]
    InstanceAction.objects.update(started_at=now_plus(-7200))
    assert told(instance, HANGS).task_state == ""


def test_guest_that_hangs_stands_still_by_the_policy_stop_and_needs_attention(who: world.People) -> None:
    instance = world.active(who.member)
    for _ in range(2):
        row = told(instance, HANGS)
    assert (row.vm_state, row.task_state, row.power_state) == ("active", "", "paused")
    assert entries(instance, "stood_still") == [f"{HUNG} Somebody has to reboot it hard."]
    assert len(entries(instance, "watchdog_fired")) == 1
    assert [one.pk for one in standing_still(caller=who.member)] == [instance.pk]
    assert not standing_still(caller=who.stranger).exists()
    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    assert not standing_still(caller=who.member).exists()


def test_hang_that_the_end_of_an_action_reported_is_followed_too(who: world.People) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash="restart")
    instance_act(caller=who.member, instance_id=instance.pk, action="snapshot", arguments={"name": "copy"})
    lease = world.order("h1", WorkKind.SNAPSHOT).lease
    conductor_connect().action_done(lease=lease, facts=HANGS)
    assert told(instance, HANGS).task_state == "rebooting_hard"


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (GuestFacts(PowerState.RUNNING, watchdog_fired=1), ("active", "", "running")),
        (GuestFacts(PowerState.SHUTDOWN, watchdog_fired=1), ("stopped", "", "shutdown")),
    ],
)
def test_watchdog_that_resets_powers_off_or_does_nothing_is_seen_and_no_more_is_done(
    facts: GuestFacts, state: tuple[str, str, str], who: world.People
) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash="restart")
    row = told(instance, facts)
    assert (row.vm_state, row.task_state, row.power_state) == state
    assert entries(instance, "watchdog_fired") == ["It fired 1 times since the host's agent counts."]
    assert not standing_still(caller=who.member).exists()


def test_guest_that_somebody_paused_has_no_crash_policy(who: world.People) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash="restart", vm_state="paused")
    assert told(instance, HANGS).task_state == ""
    assert entries(instance, "stood_still") == [HUNG]


def test_crashes_of_long_ago_do_not_count(who: world.People) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash="restart")
    for _ in range(3):
        told(instance, PANICKED)
        started_again()
    InstanceAction.objects.filter(action="crash").update(started_at=now_plus(-7200))
    assert told(instance, PANICKED).task_state == "powering-on"


@pytest.mark.parametrize(("own", "restarted"), [("", True), ("stop", False)])
def test_setting_counts_for_who_says_nothing(own: str, restarted: bool, who: world.People) -> None:
    instance = world.active(who.member)
    Instance.objects.filter(pk=instance.pk).update(on_crash=own)
    with override_settings(KILONOVA={**django_settings.KILONOVA, "GUEST_ON_CRASH": "restart"}):
        assert (told(instance, PANICKED).task_state == "powering-on") is restarted


def test_policy_is_one_of_three_words_and_needed(who: world.People) -> None:
    instance = world.active(who.member)

    def ask(**arguments: str) -> None:
        instance_act(caller=who.member, instance_id=instance.pk, action="on_crash", arguments=arguments)

    with pytest.raises(InvalidFields, match="there are: default, stop, restart"):
        ask(policy="again")
    with pytest.raises(InvalidFields, match="Is needed"):
        ask()
    ask(policy="restart")
    assert world.instance_of(instance.pk).on_crash == "restart"
    ask(policy="default")
    assert world.instance_of(instance.pk).on_crash == ""


def test_guest_that_stands_still_for_a_full_disk_stays_active_and_says_so(who: world.People) -> None:
    instance = world.active(who.member)
    facts = GuestFacts(PowerState.PAUSED, reason=StateReason.IO_ERROR, details="vda: no space left")
    row = told(instance, facts)
    assert (row.vm_state, row.power_state, row.power_details) == ("active", "paused", "vda: no space left")
    assert entries(instance, "stood_still") == [
        "The guest stands still, for one of its disks failed (vda: no space left)."
    ]
    page = world.client_of(who.member).get(f"/api/instances/{instance.pk}/").json()
    assert (page["power_reason"], page["power_details"]) == ("io_error", "vda: no space left")
    assert told(instance, world.RUNNING).power_reason == ""


def test_watchdog_that_fires_again_and_again_is_one_entry(who: world.People) -> None:
    instance = world.active(who.member)
    for fired in (1, 2, 3):
        told(instance, GuestFacts(PowerState.RUNNING, watchdog_fired=fired))
    assert entries(instance, "watchdog_fired") == ["It fired 3 times since the host's agent counts."]
    told(instance, GuestFacts(PowerState.RUNNING))  # its agent started again
    assert world.instance_of(instance.pk).watchdog_fired == 0
    assert len(entries(instance, "watchdog_fired")) == 1


def test_texts_of_a_host_are_cut_and_hold_no_nul(who: world.People) -> None:
    instance = world.active(who.member)
    row = told(instance, GuestFacts(PowerState.PAUSED, reason="x\0" * 40, details="y\0" * 400, watchdog_fired=-3))
    assert (row.power_reason, row.power_details, row.watchdog_fired) == ("x" * 20, "y" * 255, 0)


def test_a_crash_is_a_problem_until_somebody_has_seen_it(who: world.People) -> None:
    instance = world.active(who.member)
    with pytest.raises(Conflict):
        instance_act(caller=who.member, instance_id=instance.pk, action="crash_seen", arguments={})
    told(instance, PANICKED)
    assert [one.pk for one in crashed(caller=who.member)] == [instance.pk]
    assert not crashed(caller=who.stranger).exists()
    with pytest.raises(Forbidden):
        instance_act(caller=who.reader, instance_id=instance.pk, action="crash_seen", arguments={})

    for _ in range(2):
        instance_act(caller=who.member, instance_id=instance.pk, action="crash_seen", arguments={})

    assert not crashed(caller=who.admin).exists()
    assert not list(drift_find({DriftKind.GUEST_CRASHED}))
    seen = InstanceAction.objects.get(instance_uuid=instance.pk, action="crash_seen")
    assert (seen.user_id, seen.result) == (who.member.user_id, "success")
    instance_act(caller=who.member, instance_id=instance.pk, action="start", arguments={})
    started_again()
    told(instance, PANICKED)
    assert [one.pk for one in crashed(caller=who.member)] == [instance.pk]
