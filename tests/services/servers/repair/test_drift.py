"""Drift between instance, guest, allocation and host: listed with evidence, put right once it lasts or when asked."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.guests import GuestFacts, GuestOnHypervisor, GuestReturn
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.work.models import Heal, Work, WorkState
from placement.domain import ConsumerState, InventorySpec
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.selectors.allocations import consumer_holdings
from placement.services import allocations_replace, inventory_set
from scheduling.models import ComputeNode, Service
from servers.agent_api import conductor_connect
from servers.instances.services.act import instance_act
from servers.models import DriftSighting, Instance, InstanceAction, InstanceFault
from servers.models import OrphanGuest as StrangeRow
from servers.repair.domain.drift import KIND_LABELS, Drift, DriftKind
from servers.repair.selectors.drift import drift_checks, drift_list, drift_of, drift_rows
from servers.repair.services.audit import audit_findings
from servers.repair.services.drift import (
    GUESTS,
    LOOKS,
    DriftHealed,
    drift_check_request,
    drift_check_run,
    guest_drift_round,
    placement_drift_round,
)
from servers.repair.services.drift import drift_heal as heal_of_what_was_seen
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

GUEST = str(uuid4())
SEEN = GuestOnHypervisor(GUEST, "i-abc", PowerState.RUNNING)


def kinds() -> list[DriftKind]:
    return [one.kind for one in drift_list()]


def one_drift() -> Drift:
    (found,) = drift_list()
    return found


def look() -> None:
    for name in LOOKS:
        drift_check_run(name)


def drift_heal(*, key: str, actor: str) -> DriftHealed:
    """As an operator does it, after a look."""
    look()
    return heal_of_what_was_seen(key=key, actor=actor)


def lasted(seconds: float = 1000.0) -> None:
    """As if everything that was seen had been seen so much earlier."""
    earlier = timedelta(seconds=seconds)
    DriftSighting.objects.update(first_seen_at=F("first_seen_at") - earlier)
    StrangeRow.objects.update(first_seen_at=F("first_seen_at") - earlier)


def report_power(instance: Instance, power_state: PowerState) -> None:
    conductor_connect().power_states(host=instance.host, facts={str(instance.pk): GuestFacts(power_state)})


def report(*guests: GuestOnHypervisor, not_removed_because: str = "") -> list[str]:
    return conductor_connect().orphan_guests(host="h1", guests=guests, not_removed_because=not_removed_because)


def open_kinds(instance: Instance) -> list[str]:
    rows = Work.objects.filter(subject=instance.pk, state__in=[WorkState.WAITING, WorkState.RUNNING])
    return list(rows.values_list("kind", flat=True))


def test_cloud_at_rest_has_no_drift_in_a_constant_number_of_queries(django_assert_max_num_queries: Any) -> None:
    who = world.cloud()
    world.create(who.member, min_count=3)
    world.pump()
    assert world.finish_builds() == 3
    with django_assert_max_num_queries(48):
        assert drift_list() == []


def test_every_kind_has_words() -> None:
    assert set(KIND_LABELS) == set(DriftKind)


# ---- guests without instance -----------------------------------------------------------------------------------


def test_orphan_guest_is_listed_before_it_may_go() -> None:
    world.host("h1")
    assert report(SEEN) == []
    drift = one_drift()
    assert (drift.kind, drift.host, drift.can_heal) == (DriftKind.ORPHAN_GUEST, "h1", True)
    assert drift.since is not None and drift.heals_at == drift.since + timedelta(seconds=60)
    assert not conductor_connect().release_guest(host="h1", guest_uuid=GUEST)


def test_orphan_guest_may_go_after_the_grace_period_and_is_booked_when_gone() -> None:
    world.host("h1")
    report(SEEN)
    lasted()
    assert report(SEEN) == [GUEST]
    assert conductor_connect().release_guest(host="h1", guest_uuid=GUEST)
    report()
    assert drift_list() == []
    heal = Heal.objects.get(kind="orphan_guest")
    assert heal.subject == UUID(GUEST)
    assert heal.evidence["whose"] == "nobody known here"


def test_orphan_guest_that_was_never_released_goes_without_a_heal() -> None:
    world.host("h1")
    report(SEEN)
    report()
    assert drift_list() == []
    assert not Heal.objects.exists()


def test_operator_lets_a_orphan_guest_go_at_once() -> None:
    world.host("h1")
    report(SEEN)
    assert drift_heal(key=one_drift().key, actor="root").is_done
    assert one_drift().asked_by == "root"
    with pytest.raises(Conflict, match="root asked for it already"):
        drift_heal(key=one_drift().key, actor="other")
    assert report(SEEN) == [GUEST]
    assert conductor_connect().release_guest(host="h1", guest_uuid=GUEST)


def test_orphan_guest_that_its_agent_keeps_says_why_and_cannot_be_healed() -> None:
    world.host("h1")
    report(SEEN, not_removed_because="The agent was started with --keep-orphans")
    lasted()
    assert report(SEEN, not_removed_because="The agent was started with --keep-orphans") == []
    assert one_drift().obstacle == "The agent was started with --keep-orphans."
    with pytest.raises(Conflict, match="--keep-orphans"):
        drift_heal(key=one_drift().key, actor="root")


def test_guest_of_an_instance_that_lives_on_this_host_is_never_released() -> None:
    instance = world.active(world.cloud().member)
    mine = GuestOnHypervisor(str(instance.pk), "i-mine", PowerState.RUNNING)
    report(mine)
    lasted()
    assert report(mine) == []
    assert not conductor_connect().release_guest(host="h1", guest_uuid=str(instance.pk))


# ---- instances and their guests --------------------------------------------------------------------------------


def test_active_instance_without_guest_is_started_once_it_lasts() -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.NOSTATE)
    assert (one_drift().kind, one_drift().since) == (DriftKind.GUEST_MISSING, None)
    assert guest_drift_round() == 0
    assert one_drift().heals_at is not None
    lasted()
    assert guest_drift_round() == 1
    assert open_kinds(instance) == ["start"]
    assert drift_list() == []
    conductor_connect().action_done(lease=world.order("h1", WorkKind.START).lease, facts=world.RUNNING)
    assert Heal.objects.get(kind="guest_missing").evidence["power_state"] == "nostate"
    assert (world.instance_of(instance.pk).vm_state, audit_findings()) == ("active", [])


def test_heal_that_did_not_help_is_not_tried_again_within_the_hour() -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.NOSTATE)
    guest_drift_round()
    lasted()
    guest_drift_round()
    lease = world.order("h1", WorkKind.START).lease
    conductor_connect().action_failed(lease=lease, step="powering-on", message="no disk")
    assert guest_drift_round() == 0
    assert open_kinds(instance) == []
    assert "tried_at" in one_drift().evidence


def test_guest_that_is_lost_again_after_a_heal_that_helped_is_brought_back_again() -> None:
    instance = world.active(world.cloud().member)
    for times in (1, 2):
        report_power(instance, PowerState.NOSTATE)
        assert guest_drift_round() == 0
        lasted()
        assert guest_drift_round() == 1
        assert guest_drift_round() == 0  # under way: nobody knows yet that it helps
        assert DriftSighting.objects.filter(tried_at__isnull=False).count() == 1
        conductor_connect().action_done(lease=world.order("h1", WorkKind.START).lease, facts=world.RUNNING)
        drift_check_run(GUESTS)
        DriftSighting.objects.update(tried_at=now_plus(-600))
        Work.objects.update(finished_at=now_plus(-600))
        drift_check_run(GUESTS)
        assert not DriftSighting.objects.exists()
        assert Heal.objects.filter(kind="guest_missing").count() == times


def test_check_that_was_cut_forgets_no_heal(settings: Any) -> None:
    member = world.cloud().member
    for name in ("a", "b"):
        report_power(world.active(member, name), PowerState.NOSTATE)
    guest_drift_round()
    DriftSighting.objects.update(tried_at=now_plus(0))
    settings.KILONOVA = {**settings.KILONOVA, "DRIFT_MAX_FINDINGS": 1}
    assert drift_check_run(GUESTS).is_cut
    assert DriftSighting.objects.filter(tried_at__isnull=False).count() == 2
    assert DriftSighting.objects.filter(seen_at__isnull=True).count() == 1  # listed no more


# ---- guests that are gone when something is to be done to them -------------------------------------------------


def fail(member: Caller, instance: Instance, action: str, kind: WorkKind) -> None:
    """The host cannot do it, for it has no guest."""
    instance_act(caller=member, instance_id=instance.pk, action=action)
    lease = world.order(instance.host, kind).lease
    conductor_connect().action_failed(lease=lease, step="step", message="no such guest", is_guest_gone=True)


@pytest.mark.parametrize(("action", "kind"), [("pause", WorkKind.PAUSE), ("stop", WorkKind.STOP)])
def test_guest_that_is_gone_when_something_is_done_to_it_comes_back_at_once(action: str, kind: WorkKind) -> None:
    member = world.cloud().member
    instance = world.active(member)
    fail(member, instance, action, kind)
    assert open_kinds(instance) == ["start"]
    assert Heal.objects.get(kind="guest_missing").subject == instance.pk
    conductor_connect().action_done(lease=world.order("h1", WorkKind.START).lease, facts=world.RUNNING)
    assert (world.instance_of(instance.pk).vm_state, audit_findings()) == ("active", [])


def test_start_that_fails_without_a_guest_is_left_to_drift() -> None:
    member = world.cloud().member
    instance = world.active(member)
    fail(member, instance, "pause", WorkKind.PAUSE)
    lease = world.order("h1", WorkKind.START).lease
    conductor_connect().action_failed(lease=lease, step="step", message="no disk", is_guest_gone=True)
    assert open_kinds(instance) == []
    assert world.instance_of(instance.pk).vm_state == "active"
    assert one_drift().kind is DriftKind.GUEST_MISSING


def test_guest_that_is_gone_stays_gone_where_none_is_to_run() -> None:
    member = world.cloud().member
    instance = world.active(member)
    Instance.objects.filter(pk=instance.pk).update(vm_state="stopped")
    fail(member, instance, "start", WorkKind.START)
    Instance.objects.filter(pk=instance.pk).update(vm_state="suspended")
    fail(member, instance, "resume", WorkKind.RESUME)
    assert open_kinds(instance) == []
    assert not Heal.objects.exists()


def test_failure_is_told_once_and_brings_back_once() -> None:
    member = world.cloud().member
    instance = world.active(member)
    instance_act(caller=member, instance_id=instance.pk, action="pause")
    lease = world.order("h1", WorkKind.PAUSE).lease
    said: dict[str, Any] = {"lease": lease, "step": "pausing", "message": "no such guest", "is_guest_gone": True}
    conductor_connect().action_failed(**said)
    with pytest.raises(Fenced):
        conductor_connect().action_failed(**said)
    assert open_kinds(instance) == ["start"]
    assert Heal.objects.count() == 1


def test_host_that_was_removed_is_not_asked_and_the_failure_stands() -> None:
    member = world.cloud().member
    instance = world.active(member)
    instance_act(caller=member, instance_id=instance.pk, action="pause")
    lease = world.order("h1", WorkKind.PAUSE).lease
    conductor = conductor_connect()
    ComputeNode.objects.all().delete()
    Service.objects.all().delete()
    conductor.action_failed(lease=lease, step="pausing", message="no such guest", is_guest_gone=True)
    assert open_kinds(instance) == []
    assert (world.instance_of(instance.pk).task_state, Heal.objects.count()) == ("", 0)


def test_instance_whose_agent_is_silent_waits_for_it() -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.NOSTATE)
    Service.objects.update(last_seen_up=now_plus(-3600))
    guest_drift_round()
    lasted()
    assert guest_drift_round() == 0
    assert "The agent of h1 is not heard of" in one_drift().obstacle


def test_crashed_guest_stops_its_instance_and_is_a_problem_until_somebody_starts_it() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    report_power(instance, PowerState.CRASHED)
    assert world.instance_of(instance.pk).vm_state == "stopped"
    assert not Heal.objects.exists()
    fault = InstanceFault.objects.get(instance_uuid=instance.pk)
    assert "The guest crashed" in fault.message
    assert "h1" not in fault.message
    assert fault.details == "On h1."
    drift = one_drift()
    assert (drift.kind, drift.can_heal, drift.host) == (DriftKind.GUEST_CRASHED, False, "h1")
    lasted()
    assert guest_drift_round() == 0
    Instance.objects.update(vm_state="active", power_state="running")
    assert drift_list() == []


def test_guest_that_went_off_by_itself_stops_its_instance_with_a_heal() -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.SHUTDOWN)
    assert world.instance_of(instance.pk).vm_state == "stopped"
    assert Heal.objects.get().kind == "guest_off"
    assert drift_list() == []


@pytest.mark.parametrize("power_state", [PowerState.RUNNING, PowerState.PAUSED, PowerState.SUSPENDED])
def test_guest_that_is_on_though_stopped_is_stopped_as_an_action(power_state: PowerState) -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.SHUTDOWN)
    report_power(instance, power_state)
    assert open_kinds(instance) == ["stop"]
    assert InstanceAction.objects.filter(instance_uuid=instance.pk, action="stop", user_id=None).count() == 1
    assert Heal.objects.filter(kind="guest_runs").count() == 1


def test_power_states_of_a_host_that_does_not_have_the_instance_change_nothing() -> None:
    instance = world.active(world.cloud().member)
    conductor_connect().power_states(host="h2", facts={str(instance.pk): GuestFacts(PowerState.SHUTDOWN)})
    assert world.instance_of(instance.pk).vm_state == "active"


def test_operator_heals_a_guest_that_runs_where_the_row_says_stopped() -> None:
    instance = world.active(world.cloud().member)
    Instance.objects.update(vm_state="stopped")
    assert drift_heal(key=one_drift().key, actor="root").is_done
    assert open_kinds(instance) == ["stop"]
    assert Heal.objects.get().evidence["asked_by"] == "root"


def test_drift_that_went_by_itself_is_not_found() -> None:
    instance = world.active(world.cloud().member)
    report_power(instance, PowerState.NOSTATE)
    key = one_drift().key
    report_power(instance, PowerState.RUNNING)
    with pytest.raises(NotFound):
        drift_heal(key=key, actor="root")


def test_guest_that_an_agent_brought_back_is_booked_and_one_it_could_not_has_a_fault() -> None:
    who = world.cloud()
    back, lost, ran = (world.active(who.member, name) for name in ("a", "b", "c"))
    returns = [
        GuestReturn(str(back.pk), PowerState.SHUTDOWN),
        GuestReturn(str(ran.pk), PowerState.RUNNING),
        GuestReturn(str(lost.pk), PowerState.NOSTATE, "the root disk is gone"),
    ]
    conductor_connect().guests_returned(host="h1", returns=returns)
    assert Heal.objects.get(subject=back.pk).done == "The guest was started again."
    assert "root disk is gone" in Heal.objects.get(subject=lost.pk).done
    heal = Heal.objects.get(subject=ran.pk)
    assert (heal.kind, heal.done) == (DriftKind.GUEST_RUNS, "The guest was paused.")
    assert InstanceFault.objects.get().instance_uuid == lost.pk


def test_task_without_work_is_listed_and_ended_on_request() -> None:
    instance = world.active(world.cloud().member)
    Instance.objects.update(task_state="pausing", task_since=now_plus(-5))
    drift = one_drift()
    assert (drift.kind, drift.evidence["deadline_s"]) == (DriftKind.LOST_TASK, 900.0)
    assert drift_heal(key=drift.key, actor="root").is_done
    assert world.instance_of(instance.pk).task_state == ""


def test_instance_on_a_host_that_is_not_registered_is_listed_for_a_person() -> None:
    world.active(world.cloud().member)
    Service.objects.all().delete()
    found = next(one for one in drift_list() if one.kind is DriftKind.UNKNOWN_HOST)
    assert not found.can_heal
    assert "delete the instance" in found.obstacle


# ---- allocations and inventories -------------------------------------------------------------------------------


def test_instance_without_allocations_holds_them_again_once_it_lasts() -> None:
    instance = world.active(world.cloud().member)
    held = allocations_by_consumer([instance.pk])[instance.pk]
    allocations_replace([_holding(instance, {})])
    assert kinds() == [DriftKind.NO_ALLOCATIONS]
    assert placement_drift_round() == 0
    lasted()
    assert placement_drift_round() == 1
    again = allocations_by_consumer([instance.pk])[instance.pk]
    assert {one.resource_class: one.used for one in again} == {one.resource_class: one.used for one in held}
    heal = Heal.objects.get(kind="instance_without_allocations")
    assert heal.subject == instance.pk
    assert audit_findings() == []


def test_allocations_on_another_host_move_to_the_instances_own() -> None:
    who = world.cloud("h1", "h2")
    instance = world.active(who.member)
    other = ComputeNode.objects.exclude(host=instance.host).get()
    amounts = {one.resource_class: one.used for one in allocations_by_consumer([instance.pk])[instance.pk]}
    allocations_replace([_holding(instance, {other.pk: amounts})])
    drift = one_drift()
    assert (drift.kind, drift.instance_id) == (DriftKind.OTHER_HOST, instance.pk)
    assert drift_heal(key=drift.key, actor="root").is_done
    assert {one.provider_uuid for one in allocations_by_consumer([instance.pk])[instance.pk]} == {
        instance.compute_node_uuid
    }


def test_inventory_that_is_not_what_the_host_reported_is_stated_again() -> None:
    world.host("h1")
    node = ComputeNode.objects.get()
    stated = {name: each.spec for name, each in fleet_usage({node.pk})[node.pk].items()}
    inventory_set(node.pk, {**stated, "VCPU": InventorySpec(total=64)})
    drift = one_drift()
    assert drift.kind is DriftKind.INVENTORY
    assert "VCPU: total 64, should be 4" in drift.found
    assert drift_heal(key=drift.key, actor="root").is_done
    assert drift_list() == []
    assert fleet_usage({node.pk})[node.pk]["VCPU"].spec.total == 4


def test_second_round_changes_nothing() -> None:
    instance = world.active(world.cloud().member)
    allocations_replace([_holding(instance, {})])
    placement_drift_round()
    lasted()
    placement_drift_round()
    assert placement_drift_round() == 0
    assert (Heal.objects.count(), DriftSighting.objects.filter(tried_at=None).count()) == (1, 0)


# ---- work that an agent gives back -----------------------------------------------------------------------------


def test_work_given_back_costs_no_attempt_and_is_taken_at_once() -> None:
    who = world.cloud()
    world.create(who.member)
    world.pump()
    for _ in range(7):
        lease = world.order("h1").lease
        conductor_connect().give_back(lease=lease, reason="The agent was stopped.")
    with pytest.raises(Fenced):
        conductor_connect().renew(lease=lease)
    assert world.order("h1").lease.attempt == 8
    assert world.finish_builds() == 0


def test_work_of_another_attempt_cannot_be_given_back() -> None:
    who = world.cloud()
    world.create(who.member)
    world.pump()
    lease = world.order("h1").lease
    Work.objects.update(attempt=F("attempt") + 1)
    with pytest.raises(Fenced):
        conductor_connect().give_back(lease=lease, reason="The agent was stopped.")


def _holding(instance: Instance, resources: dict[UUID, dict[str, int]]) -> ConsumerState:
    now = consumer_holdings(instance.pk)
    return ConsumerState(
        consumer_uuid=instance.pk,
        project_id=str(instance.project_id),
        user_id=str(instance.user_id),
        consumer_type="INSTANCE",
        resources=resources,
        generation=now.generation if now is not None else None,
    )


# ---- what a look leaves in rows ----------------------------------------------------------------------------------


def drifting(many: int) -> world.People:
    """So many active instances whose guests are off."""
    who = world.cloud()
    world.create(who.member, min_count=many)
    world.pump()
    assert world.finish_builds() == many
    Instance.objects.update(power_state="shutdown")
    return who


def test_rows_tell_the_same_as_a_look_at_everything() -> None:
    drifting(3)
    report(SEEN)
    look()
    seen, now = {row.key: drift_of(row) for row in drift_rows()}, {one.key: one for one in drift_list()}
    assert seen == now
    assert drift_checks()["guests"].counts == {"guest_off": 3, "orphan_guest": 1}


def test_what_is_right_again_is_listed_no_more_after_the_next_look() -> None:
    drifting(2)
    look()
    Instance.objects.update(power_state="running")
    assert drift_rows().count() == 2
    look()
    assert drift_rows().count() == 0
    assert drift_checks()["guests"].counts == {}


def test_look_stops_at_the_limit_and_says_so(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DRIFT_MAX_FINDINGS": 2}
    drifting(3)
    look()
    assert drift_rows().count() == 2
    assert (drift_checks()["guests"].is_cut, drift_checks()["allocations"].is_cut) == (True, False)


def test_look_costs_the_same_queries_for_many_as_for_few() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            look()
        return len(seen)

    drifting(6)
    Instance.objects.filter(pk__in=Instance.objects.values_list("pk", flat=True)[:4]).update(power_state="running")
    look()
    few = queries()
    Instance.objects.update(power_state="shutdown")
    assert drift_checks()["guests"].counts == {"guest_off": 2}
    assert queries() == few
    assert drift_checks()["guests"].counts == {"guest_off": 6}


def test_look_that_is_asked_for_is_work_of_the_conductor_and_two_at_once_are_one() -> None:
    drifting(1)
    assert (drift_check_request(), drift_check_request()) == (True, False)
    world.pump()
    work = Work.objects.get(kind="drift_check")
    assert (work.state, work.outcome) == (WorkState.DONE, {"found": 1})
    assert drift_rows().count() == 1
    assert Instance.objects.get().vm_state == "active"
    assert drift_check_request()
