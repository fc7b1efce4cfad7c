"""From request to ACTIVE, to ERROR, to gone: the conductor's part, with agents that answer by hand."""

from uuid import uuid4

import pytest

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced, InvalidFields, QuotaExceeded
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from placement.domain import ConsumerState
from placement.models import Consumer
from placement.selectors import allocations_by_consumer, provider_views
from placement.services import allocations_replace
from scheduling.fleet.services.aggregates import aggregate_create_whole
from scheduling.fleet.services.service_states import service_disable
from servers.agent_api import conductor_connect
from servers.instances.domain.bodies import InstanceBody
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import (
    AttemptRecord,
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceFault,
    InstanceMapping,
    RequestSpec,
    ServerGroup,
)
from servers.repair.services.audit import audit_findings
from servers.repair.services.claim_sweep import orphan_claims_free
from servers.repair.services.placement_audit import placement_audit
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_request_becomes_active_on_a_host_with_its_allocation() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    assert (made.vm_state, made.host) == ("building", "")
    world.pump()
    world.finish_builds()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.task_state, instance.power_state) == ("active", "", "running")
    assert instance.host == "h1"
    assert instance.launched_at
    assert instance.addresses == {"default": ["10.0.0.5"]}
    held = {one.resource_class: one.used for one in allocations_by_consumer([made.pk])[made.pk]}
    assert held == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    assert not BuildRequest.objects.exists()
    assert audit_findings() == []


def test_no_host_is_moved_to_cell0_with_verdict_and_decision() -> None:
    who = world.cloud()
    world.flavor("huge", vcpus=32, memory_mib=512)
    made = world.create(who.member, flavor="huge")[0]
    world.pump()
    instance = world.instance_of(made.pk)
    fault = InstanceFault.objects.get(instance_uuid=made.pk)
    assert (instance.vm_state, instance.host) == ("error", "")
    assert instance.decision_id
    assert "No host fits: the only one " in fault.message
    assert InstanceMapping.objects.get(instance_uuid=made.pk).cell_id.int == 0  # type: ignore[union-attr]
    assert allocations_by_consumer() == {}
    assert audit_findings() == []


def test_batch_is_all_or_nothing() -> None:
    who = world.cloud("h1", vcpus=1, memory_mib=2048)  # 1536 MiB after the reserve: three of 512
    world.create(who.member, min_count=4)
    world.pump()
    assert set(Instance.objects.values_list("vm_state", flat=True)) == {"error"}
    assert allocations_by_consumer() == {}
    world.create(who.member, "fits", min_count=3)
    world.pump()
    assert world.finish_builds() == 3
    assert sorted(Instance.objects.filter(vm_state="active").values_list("name", flat=True)) == [
        "fits-1",
        "fits-2",
        "fits-3",
    ]


def test_build_that_fails_on_its_host_goes_to_an_alternate() -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member)[0]
    world.pump()
    first = world.instance_of(made.pk).host
    world.fail_build(first)
    assert world.instance_of(made.pk).host == ""
    world.pump()
    assert world.instance_of(made.pk).host not in {"", first}
    world.finish_builds()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.attempts) == ("active", 2)
    outcomes = list(AttemptRecord.objects.values_list("number", "outcome"))
    assert outcomes == [(1, "rescheduled"), (2, "active")]
    assert audit_findings() == []


def test_build_that_fails_everywhere_ends_in_error_with_the_last_reason() -> None:
    who = world.cloud("h1", "h2", "h3", "h4")
    made = world.create(who.member)[0]
    world.pump()
    for _ in range(3):
        world.fail_build(world.instance_of(made.pk).host, message="disk full")
        world.pump()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.host, instance.attempts) == ("error", "", 3)
    assert InstanceFault.objects.get().details == "disk full"
    assert allocations_by_consumer() == {}
    assert audit_findings() == []


def test_users_mistake_is_not_tried_elsewhere() -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.member)[0]
    world.pump()
    world.fail_build(world.instance_of(made.pk).host, FailureClass.USER, "the image is no disk")
    assert world.pump() == 0
    assert world.instance_of(made.pk).vm_state == "error"


def test_forced_host_is_used_and_never_left() -> None:
    who = world.cloud("h1", "h2")
    made = world.create(who.admin, availability_zone="nova:h2")[0]
    world.pump()
    assert world.instance_of(made.pk).host == "h2"
    world.fail_build("h2")
    assert world.pump() == 0
    assert world.instance_of(made.pk).vm_state == "error"


def test_conductor_cut_off_after_its_claim_does_not_double_it() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    # As if the run had died between claim and dispatch: put the request back and run it again.
    Instance.objects.all().delete()
    InstanceAction.objects.all().delete()
    AttemptRecord.objects.all().delete()
    Work.objects.filter(queue="compute.h1").delete()
    body = RequestSpec.objects.get().body
    assert body["flavor"]["name"] == "m1.tiny"
    BuildRequest.objects.create(
        instance_uuid=made.pk,
        project_id=who.member.project_id,
        user_id=who.member.user_id,
        reservation_id=made.reservation_id,
        vcpus=1,
        memory_mib=512,
        instance_body=_body_of(made),
    )
    work = Work.objects.get(kind="schedule_and_build")
    Work.objects.filter(pk=work.pk).update(state="running", lease_until=now_plus(-1), woken_at=now_plus(-9))
    reconcile_once()
    world.pump()
    assert world.finish_builds() == 1
    held = allocations_by_consumer()
    assert {one.used for one in held[made.pk] if one.resource_class == "VCPU"} == {1}
    assert audit_findings() == []


def _body_of(made: Instance) -> dict[str, object]:
    names = ("id", "project_id", "user_id", "reservation_id", "flavor_id", "image_id")
    plain = ("name", "hostname", "flavor", "vcpus", "memory_mib", "root_gib", "image")
    return InstanceBody(**{name: getattr(made, name) for name in (*names, *plain)}).to_dict()


def test_delete_before_scheduling_leaves_nothing() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    instance_delete(caller=who.member, instance_id=made.pk)
    world.pump()
    assert not Instance.objects.exists()
    assert not (BuildRequest.objects.exists() or RequestSpec.objects.exists() or InstanceMapping.objects.exists())
    assert allocations_by_consumer() == {}


def test_delete_during_a_build_fences_the_builder_and_the_host_confirms() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    building = world.order("h1", WorkKind.BUILD)
    instance_delete(caller=who.member, instance_id=made.pk)
    with pytest.raises(Fenced):
        conductor_connect().build_done(lease=building.lease, facts=world.RUNNING)
    assert world.instance_of(made.pk).task_state == "deleting"
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert world.instance_of(made.pk).deleted_at
    assert allocations_by_consumer() == {}
    assert audit_findings() == []


def test_delete_of_an_instance_in_cell0_needs_no_host() -> None:
    who = world.cloud()
    world.flavor("huge", vcpus=32)
    made = world.create(who.member, flavor="huge")[0]
    world.pump()
    instance_delete(caller=who.member, instance_id=made.pk)
    assert world.instance_of(made.pk).deleted_at
    assert audit_findings() == []


def test_stop_and_start_pass_through_their_tasks() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    assert instance_act(caller=who.member, instance_id=instance.pk, action="stop").task_state == "powering-off"
    with pytest.raises(Conflict):
        instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    conductor_connect().action_done(lease=world.order("h1", WorkKind.STOP).lease, facts=world.OFF)
    assert world.instance_of(instance.pk).vm_state == "stopped"
    instance_act(caller=who.member, instance_id=instance.pk, action="start")
    conductor_connect().action_done(lease=world.order("h1", WorkKind.START).lease, facts=world.RUNNING)
    assert (world.instance_of(instance.pk).vm_state, world.instance_of(instance.pk).task_state) == ("active", "")


def test_action_that_fails_frees_the_task_and_says_why() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
    lease = world.order("h1", WorkKind.REBOOT).lease
    conductor_connect().action_failed(lease=lease, step="reboot", message="libvirt is away")
    assert (world.instance_of(instance.pk).vm_state, world.instance_of(instance.pk).task_state) == ("active", "")
    assert InstanceFault.objects.get().details == "libvirt is away"


def test_guest_that_powered_itself_off_is_shown_as_stopped() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    conductor_connect().power_states(host="h1", facts={str(instance.pk): world.OFF})
    assert world.instance_of(instance.pk).vm_state == "stopped"


def test_power_state_from_another_host_is_ignored() -> None:
    who = world.cloud("h1", "h2")
    instance = world.active(who.member)
    other = "h2" if instance.host == "h1" else "h1"
    conductor_connect().power_states(host=other, facts={str(instance.pk): world.OFF})
    assert world.instance_of(instance.pk).vm_state == "active"


def test_build_past_its_deadline_is_an_error_that_keeps_its_host() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    world.order("h1")
    Work.objects.filter(kind="build").update(deadline_at=now_plus(-1))
    reconcile_once()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.host) == ("error", "h1")
    assert "deadline" in InstanceFault.objects.get().message
    assert audit_findings() == []


def test_batch_never_scheduled_is_moved_to_cell0_when_its_deadline_passes() -> None:
    who = world.cloud()
    world.create(who.member, min_count=2)
    Work.objects.update(deadline_at=now_plus(-1))
    reconcile_once()
    assert set(Instance.objects.values_list("vm_state", flat=True)) == {"error"}
    assert InstanceFault.objects.count() == 2
    assert audit_findings() == []


def test_claim_without_an_owner_is_found_and_swept_after_its_grace() -> None:
    who = world.cloud()
    made = world.active(who.member)
    Instance.objects.filter(pk=made.pk).delete()
    assert [one.invariant for one in audit_findings()] == [3]
    assert orphan_claims_free() == 0
    Consumer.objects.update(created_at=now_plus(-3600))
    assert orphan_claims_free() == 1
    assert allocations_by_consumer() == {}


def test_claim_made_over_the_placement_api_is_its_clients_business() -> None:
    world.cloud()
    (provider, *_) = provider_views()
    held = {provider.uuid: {"VCPU": 1}}
    allocations_replace([ConsumerState(uuid4(), "p", "u", "INSTANCE", held, by_client=True)])
    Consumer.objects.update(created_at=now_plus(-3600))
    assert orphan_claims_free() == 0
    assert audit_findings() == []
    assert placement_audit() == []


def test_anti_affinity_spreads_and_refuses_the_one_too_many() -> None:
    who = world.cloud("h1", "h2")
    group = ServerGroup.objects.create(
        name="apart", project_id=who.member.project_id, user_id=who.member.user_id, policy="anti-affinity"
    )
    for name in ("a", "b"):
        world.create(who.member, name, hints={"group": str(group.pk)})
        world.pump()
        world.finish_builds()
    assert set(Instance.objects.values_list("host", flat=True)) == {"h1", "h2"}
    third = world.create(who.member, "c", hints={"group": str(group.pk)})[0]
    world.pump()
    assert world.instance_of(third.pk).vm_state == "error"


def test_same_host_and_different_host_hints_are_obeyed() -> None:
    who = world.cloud("h1", "h2")
    first = world.active(who.member)
    near = world.active(who.member, "near", hints={"same_host": [str(first.pk)]})
    far = world.active(who.member, "far", hints={"different_host": str(first.pk)})
    assert near.host == first.host
    assert far.host != first.host


def test_hints_may_name_an_instance_that_waits_to_be_scheduled() -> None:
    who = world.cloud("h1", "h2", "h3")
    first = world.create(who.member)[0]
    assert first.is_pending
    far = world.create(who.member, "far", hints={"different_host": [str(first.pk)]})[0]
    near = world.create(who.member, "near", hints={"same_host": [str(first.pk)]})[0]
    with pytest.raises(InvalidFields, match="no instance"):
        world.create(who.stranger, "strange", hints={"different_host": [str(first.pk)]})
    world.pump()
    world.finish_builds()
    hosts = {one.name: one.host for one in Instance.objects.all()}
    assert hosts[near.name] == hosts[first.name]
    assert hosts[far.name] not in ("", hosts[first.name])


def test_aggregate_without_hosts_that_names_the_default_zone_takes_no_host_out_of_it() -> None:
    who = world.cloud("h1", "h2")
    aggregate_create_whole(name="east", metadata={"availability_zone": "az-east"}, hosts=["h2"])
    aggregate_create_whole(name="empty", metadata={"availability_zone": "nova"})
    assert world.active(who.member, availability_zone="nova").host == "h1"


@pytest.mark.parametrize("zone", ["rack 1", "Halle 2/Süd"])
def test_each_zone_that_can_be_made_can_be_asked_for(zone: str) -> None:
    who = world.cloud("h1", "h2")
    aggregate_create_whole(name="rack", metadata={"availability_zone": zone}, hosts=["h2"])
    assert world.active(who.member, availability_zone=zone).host == "h2"


def test_disabled_host_gets_nothing_new() -> None:
    who = world.cloud("h1", "h2")
    service_disable(host="h1", reason="repairs")
    assert {world.active(who.member, f"vm{number}").host for number in range(3)} == {"h2"}


def test_quota_counts_what_is_only_asked_for_and_max_count_is_cut_to_it() -> None:
    who = world.cloud()
    from controlplane.identity.models import Project

    Project.objects.filter(pk=who.member.project_id).update(quota_instances=3)
    assert len(world.create(who.member, "batch", min_count=1, max_count=2)) == 2
    assert len(world.create(who.member, "more", min_count=1, max_count=5)) == 1
    with pytest.raises(QuotaExceeded) as refused:
        world.create(who.member, "over")
    assert (refused.value.extra["used"], refused.value.extra["limit"]) == (3, 3)
    assert BuildRequest.objects.count() == 3
