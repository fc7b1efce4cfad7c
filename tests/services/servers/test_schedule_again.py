"""An instance that found no host is asked for again: same uuid, one transaction, one winner."""

import uuid
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from computeagent.protocol.steps import FailureClass
from controlplane.identity.models import Project, User
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, InvalidFields, NotFound, QuotaExceeded
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from placement.selectors import allocations_by_consumer
from servers.catalog.selectors.quota import quota_usage
from servers.instances.domain.bodies import InstanceBody
from servers.instances.domain.request_changes import RequestChanges
from servers.instances.selectors.instances import instance_get
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import (
    AttemptRecord,
    BuildRequest,
    Image,
    Instance,
    InstanceAction,
    InstanceFault,
    InstanceMapping,
    InstanceTag,
    RequestSpec,
)
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def in_cell0(who: world.People, **more: Any) -> Instance:
    """One that asked for more than the only host has."""
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge", tags=["red", "blue"], metadata={"a": "b"}, **more)[0]
    world.pump()
    return world.instance_of(made.pk)


def again(who: world.People, instance: Instance) -> Work:
    return instance_schedule_again(instance_id=instance.pk, caller=who.member)


def test_instance_in_cell0_becomes_active_once_there_is_a_host() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    world.host("big", vcpus=16)
    again(who, old)
    world.pump()
    assert world.finish_builds() == 1
    new = world.instance_of(old.pk)
    assert (new.vm_state, new.host, new.attempts) == ("active", "big", 1)
    assert InstanceMapping.objects.get(instance_uuid=old.pk).cell_id.int == 1  # type: ignore[union-attr]
    assert audit_findings() == []


def test_what_it_is_stays_and_its_history_goes_on() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    first_decision = old.decision_id
    again(who, old)
    pending = instance_get(caller=who.member, instance_id=old.pk)
    assert (pending.vm_state, pending.task_state, pending.decision_id) == ("building", "scheduling", first_decision)
    assert pending.created_at == old.created_at
    world.host("big", vcpus=16)
    world.pump()
    new = world.instance_of(old.pk)
    kept = (
        "name",
        "hostname",
        "metadata",
        "flavor",
        "image",
        "reservation_id",
        "launch_index",
        "created_at",
        "user_id",
    )
    assert {name: getattr(new, name) for name in kept} == {name: getattr(old, name) for name in kept}
    assert sorted(InstanceTag.objects.filter(instance=new).values_list("tag", flat=True)) == ["blue", "red"]
    reported = InstanceAction.objects.filter(instance_uuid=old.pk).order_by("id").values_list("action", "result")
    assert list(reported) == [("create", "error"), ("schedule_again", ""), ("create", "")]
    clicked = InstanceAction.objects.get(action="schedule_again")
    assert clicked.user_id == who.member.user_id
    assert str(first_decision) in clicked.message
    assert new.decision_id != first_decision
    assert InstanceFault.objects.filter(instance_uuid=old.pk).count() == 1


def test_without_a_host_it_is_moved_to_cell0_again_and_may_be_asked_for_again() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    for _ in range(2):
        again(who, old)
        world.pump()
        assert world.instance_of(old.pk).vm_state == "error"
    assert InstanceFault.objects.filter(instance_uuid=old.pk).count() == 3
    assert (BuildRequest.objects.count(), allocations_by_consumer()) == (0, {})
    assert audit_findings() == []


def test_asking_again_ends_as_the_build_that_was_asked_for() -> None:
    """The newest first: it ran, and before that nobody had room."""
    who = world.cloud("small")
    old = in_cell0(who)
    for _ in range(2):
        again(who, old)
        world.pump()
        world.host("large", memory_mib=65536, vcpus=64, disk_gib=4000)
    world.finish_builds()
    assert world.instance_of(old.pk).vm_state == "active"
    rows = InstanceAction.objects.filter(instance_uuid=old.pk, action="schedule_again").order_by("-id")
    assert list(rows.values_list("result", flat=True)) == ["success", "error"]
    assert all("Asked for again by" in message for message in rows.values_list("message", flat=True))


def test_one_that_used_up_its_attempts_counts_anew_and_numbers_on() -> None:
    who = world.cloud("h1", "h2", "h3", "h4")
    made = world.create(who.member)[0]
    world.pump()
    for _ in range(3):
        world.fail_build(world.instance_of(made.pk).host)
        world.pump()
    again(who, world.instance_of(made.pk))
    world.pump()
    world.fail_build(world.instance_of(made.pk).host)
    world.pump()
    world.finish_builds()
    assert world.instance_of(made.pk).vm_state == "active"
    outcomes = AttemptRecord.objects.order_by("number").values_list("number", "outcome")
    assert list(outcomes) == [(1, "rescheduled"), (2, "rescheduled"), (3, "failed"), (4, "rescheduled"), (5, "active")]
    assert audit_findings() == []


def test_others_of_its_batch_are_asked_for_each_by_itself() -> None:
    who = world.cloud("small")
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge", min_count=2)
    world.pump()
    for one in made:
        again(who, one)
    assert Work.objects.filter(kind="schedule_and_build", state="waiting").count() == 2
    world.host("big", vcpus=16)
    world.pump()
    assert world.finish_builds() == 2


def test_second_click_is_refused_and_changes_nothing() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    again(who, old)
    with pytest.raises(Conflict, match="waits to be scheduled already"):
        again(who, old)
    assert (BuildRequest.objects.count(), Work.objects.filter(state="waiting").count()) == (1, 1)


def test_deleted_at_once_leaves_nothing() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    again(who, old)
    instance_delete(caller=who.member, instance_id=old.pk)
    world.host("big", vcpus=16)
    world.pump()
    assert not Instance.objects.filter(deleted_at__isnull=True).exists()
    assert not (BuildRequest.objects.exists() or RequestSpec.objects.exists() or InstanceMapping.objects.exists())
    assert allocations_by_consumer() == {}
    assert audit_findings() == []


def test_quota_does_not_count_it_twice() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    before = quota_usage(project_id=who.member.project_id)
    again(who, old)
    assert quota_usage(project_id=who.member.project_id) == before


def test_project_over_quota_by_now_is_refused_with_numbers() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    Project.objects.filter(pk=who.member.project_id).update(quota_cores=7)
    with pytest.raises(QuotaExceeded) as refused:
        again(who, old)
    assert (refused.value.extra["used"], refused.value.extra["limit"]) == (8, 7)
    assert world.instance_of(old.pk).vm_state == "error"


def test_never_scheduled_again_ends_at_its_deadline_with_the_decision_it_had() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    again(who, old)
    Work.objects.filter(state="waiting").update(deadline_at=now_plus(-1))
    reconcile_once()
    new = world.instance_of(old.pk)
    assert (new.vm_state, new.decision_id) == ("error", old.decision_id)
    assert audit_findings() == []


def test_image_that_is_gone_is_said_at_once() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    Image.objects.update(status="deactivated")
    with pytest.raises(Conflict, match="'demo' is deactivated"):
        again(who, old)


def test_running_instance_is_refused_with_its_state() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    with pytest.raises(Conflict, match="is active") as refused:
        again(who, instance)
    assert refused.value.extra["vm_state"] == "active"


def test_instance_in_error_that_still_has_its_host_is_refused() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    world.order("h1")
    Work.objects.filter(kind="build").update(deadline_at=now_plus(-1))
    reconcile_once()
    with pytest.raises(Conflict, match="is on a host"):
        again(who, made)


def test_stranger_finds_nothing() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    with pytest.raises(NotFound):
        instance_schedule_again(instance_id=old.pk, caller=who.stranger)
    with pytest.raises(NotFound):
        instance_schedule_again(instance_id=uuid.uuid4(), caller=who.admin)


def test_time_of_its_making_is_kept_through_many_rounds() -> None:
    who = world.cloud("small")
    old = in_cell0(who)
    long_ago = old.created_at - timedelta(days=2)
    Instance.objects.update(created_at=long_ago)
    for _ in range(2):
        again(who, old)
        world.pump()
    assert world.instance_of(old.pk).created_at == long_ago


# What the next try writes anew, or the request has in another form; all other columns come back as they were.
OF_THE_TRY_BEFORE = {
    *("host", "node", "launched_on", "compute_node_uuid", "alternates", "hosts_tried", "failure_class"),
    *("task_since", "power_state", "addresses", "console_socket"),
    *("power_reason", "power_details", "watchdog_fired", "on_crash", "crash_is_seen"),  # what never ran cannot crash
    *("shelved_at", "shelved_image_id", "rescue_image", "rescued_at"),  # nor can it be shelved or rescued
    *("updated_at", "launched_at", "terminated_at", "deleted_at", "soft_deleted_at"),
    "stray_volumes",  # what runs nowhere has none
    "has_block_devices",  # written with its disks, of which the request spec says all
}


def test_no_column_of_an_instance_is_forgotten_when_it_is_scheduled_again() -> None:
    columns = {field.attname for field in Instance._meta.concrete_fields}
    carried = {each.name for each in fields(InstanceBody)} - {"tags"}
    assert columns == carried | OF_THE_TRY_BEFORE


def test_request_that_failed_by_its_own_fault_is_not_asked_for_again_as_it_was() -> None:
    who = world.cloud("h1")
    made = world.create(who.member)[0]
    world.pump()
    world.fail_build("h1", FailureClass.USER, "hw_machine_type=q35, hw_disk_bus=ide")
    with pytest.raises(Conflict, match="No host can build what was asked for"):
        again(who, made)
    client = world.client_of(who.member)
    answer = client.post(f"/api/instances/{made.pk}/schedule-again/", {}, format="json")
    assert (answer.status_code, "No host can build" in answer.content.decode()) == (409, True)
    client.force_login(User.objects.get(pk=who.member.user_id))
    assert "No host can build what was asked for" in client.get(f"/instances/{made.pk}/again/").content.decode()
    world.flavor("other")
    instance_schedule_again(instance_id=made.pk, caller=who.member, changes=RequestChanges(flavor="other"))
    world.pump()
    assert world.finish_builds() == 1
    assert world.instance_of(made.pk).failure_class == ""


def test_flavor_that_the_image_cannot_have_is_refused_by_the_field_of_the_request() -> None:
    who = world.cloud("small")
    made = in_cell0(who)
    Image.objects.filter(name="demo").update(properties={"hw_cpu_policy": "dedicated"}, min_disk_gib=9)
    world.flavor("other", extra_specs={"hw:cpu_policy": "shared"})
    with pytest.raises(InvalidFields) as refused:
        instance_schedule_again(instance_id=made.pk, caller=who.member, changes=RequestChanges(flavor="other"))
    assert list(refused.value.errors) == ["flavor"]
    said = str(refused.value.errors["flavor"])
    assert "contradicts hw:cpu_policy" in said
    assert "at least 9 GiB" in said
