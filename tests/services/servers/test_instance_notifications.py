"""Instances tell what happens to them: Nova's names and payloads, in the transaction in which it happens."""

import uuid
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from controlplane.notifications.models import Notification, Webhook
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from scheduling.fleet.services.build_failures import build_failure_count
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from servers.agent_api import conductor_connect
from servers.hosts.services.removal import host_remove
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import Port
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def emitted(notifying: Any) -> None:
    notifying(EVENTS=("instance.*", "service.*", "compute_task.*"))


def names(*, but: str = "instance.update") -> list[str]:
    """What was told, in its order."""
    rows = Notification.objects.exclude(event_type=but).order_by("happened_at", "created_at")
    return list(rows.values_list("event_type", flat=True))


def forget() -> None:
    Notification.objects.all().delete()


def only(event_type: str) -> Notification:
    return Notification.objects.get(event_type=event_type)


def data(row: Notification) -> dict[str, Any]:
    found: dict[str, Any] = row.payload["nova_object.data"]
    return found


def object_of(value: dict[str, Any]) -> tuple[str, str]:
    return value["nova_object.name"], value["nova_object.version"]


def test_create_tells_start_and_end_in_its_hosts_name() -> None:
    who = world.cloud()
    forget()
    made = world.create(who.member, tags=["red"], metadata={"a": "b"}, description="first")[0]
    world.pump()
    world.finish_builds()
    assert names() == ["instance.create.start", "instance.create.end"]
    start, end = only("instance.create.start"), only("instance.create.end")
    assert object_of(end.payload) == ("InstanceCreatePayload", "1.13")
    assert {start.publisher_id, end.publisher_id} == {"nova-compute:h1"}
    assert (data(start)["state"], data(end)["state"], data(end)["power_state"]) == ("building", "active", "running")
    assert (end.project_id, end.priority) == (who.member.project_id, "INFO")
    facts = data(end)
    assert (facts["uuid"], facts["display_name"], facts["host"]) == (str(made.pk), "vm", "h1")
    assert (facts["display_description"], facts["tags"], facts["metadata"]) == ("first", ["red"], {"a": "b"})
    assert facts["action_initiator_user"] == str(who.member.user_id)
    assert object_of(facts["flavor"]) == ("FlavorPayload", "1.4")
    assert facts["launched_at"].endswith("Z")
    assert facts["fault"] is None


def test_addresses_are_told_with_the_port_that_has_them() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    lan = nets.network("lan")
    guarded = nets.port(lan, instance_uuid=made.pk, position=1)
    ours = Project.objects.get(pk=who.member.project_id)
    nets.floating(ours, nets.network(cidr="192.0.2.0/24", is_external=True), guarded, nets.router(ours, "h1"))
    port = Port.objects.create(
        instance_uuid=made.pk, mac="52:54:00:00:00:01", network_name="ours", hypervisor_network="default"
    )
    world.finish_builds()
    emitted, carried = data(only("instance.create.end"))["ip_addresses"]
    assert object_of(emitted) == ("IpPayload", "1.0")
    assert emitted["nova_object.data"] == {
        "label": "ours", "mac": port.mac, "meta": {}, "port_uuid": str(port.pk), "version": 4,
        "address": "10.0.0.5", "device_name": None,
    }  # fmt: skip
    own = carried["nova_object.data"]
    assert (own["label"], own["port_uuid"], own["address"]) == ("lan", str(guarded.pk), guarded.addresses[0])


def test_build_that_fails_tells_error_for_each_host_and_the_next_start() -> None:
    who = world.cloud("h1", "h2")
    forget()
    made = world.create(who.member)[0]
    world.pump()
    first = world.instance_of(made.pk).host
    world.fail_build(first, message="no disk left")
    world.pump()
    assert names() == ["instance.create.start", "instance.create.error", "instance.create.start"]
    error = only("instance.create.error")
    fault = data(error)["fault"]
    assert (error.priority, error.publisher_id) == ("ERROR", f"nova-compute:{first}")
    assert object_of(fault) == ("ExceptionPayload", "1.1")
    assert fault["nova_object.data"]["exception_message"] == "no disk left"


def test_no_host_tells_that_the_conductor_gave_up_with_the_request() -> None:
    who = world.cloud()
    world.flavor("huge", vcpus=16)
    forget()
    made = world.create(who.member, flavor="huge", min_count=2)
    world.pump()
    rows = list(Notification.objects.filter(event_type="compute_task.build_instances.error"))
    assert {data(row)["instance_uuid"] for row in rows} == {str(one.pk) for one in made}
    assert object_of(rows[0].payload) == ("ComputeTaskPayload", "1.0")
    assert (rows[0].priority, data(rows[0])["state"]) == ("ERROR", "error")
    assert data(rows[0])["reason"]["nova_object.data"]["exception"] == "NoValidHost"
    assert data(rows[0])["request_spec"]["nova_object.data"]["num_instances"] == 2
    assert rows[0].publisher_id.startswith("nova-conductor:")


def test_attempts_used_up_tell_error_and_no_start() -> None:
    who = world.cloud()
    world.create(who.member)
    world.pump()
    forget()
    world.fail_build("h1")
    world.pump()
    assert names() == ["instance.create.error", "compute_task.build_instances.error"]
    last = only("compute_task.build_instances.error")
    assert data(last)["reason"]["nova_object.data"]["exception"] == "MaxRetriesExceeded"


def test_build_past_its_deadline_tells_error() -> None:
    who = world.cloud()
    world.create(who.member)
    world.pump()
    world.order("h1")
    forget()
    Work.objects.filter(kind="build").update(deadline_at=now_plus(-1))
    reconcile_once()
    assert names() == ["instance.create.error"]


def test_every_change_of_state_is_an_update_with_both_sides() -> None:
    who = world.cloud()
    forget()
    made = world.create(who.member)[0]
    world.pump()
    world.finish_builds()
    changes = [
        data(row)["state_update"]["nova_object.data"]
        for row in Notification.objects.filter(event_type="instance.update").order_by("happened_at")
    ]
    assert [(one["old_state"], one["state"]) for one in changes] == [(None, "building"), ("building", "active")]
    assert [(one["old_task_state"], one["new_task_state"]) for one in changes] == [
        (None, "scheduling"),
        ("scheduling", None),
    ]
    row = Notification.objects.filter(event_type="instance.update").first()
    assert row is not None
    assert object_of(row.payload) == ("InstanceUpdatePayload", "2.1")
    assert data(row)["uuid"] == str(made.pk)
    assert data(row)["audit_period"]["nova_object.data"]["audit_period_beginning"].endswith("-01T00:00:00Z")


@pytest.mark.parametrize(
    ("action", "kind", "verb", "facts"),
    [
        ("stop", WorkKind.STOP, "power_off", world.OFF),
        ("reboot", WorkKind.REBOOT, "reboot", world.RUNNING),
        ("reboot_soft", WorkKind.REBOOT_SOFT, "reboot", world.RUNNING),
        ("pause", WorkKind.PAUSE, "pause", GuestFacts(power_state=PowerState.PAUSED)),
        ("suspend", WorkKind.SUSPEND, "suspend", world.OFF),
    ],
)
def test_power_action_tells_start_and_end(action: str, kind: WorkKind, verb: str, facts: Any) -> None:
    who = world.cloud()
    instance = world.active(who.member)
    forget()
    instance_act(caller=who.member, instance_id=instance.pk, action=action)
    conductor_connect().action_done(lease=world.order("h1", kind).lease, facts=facts)
    assert names() == [f"instance.{verb}.start", f"instance.{verb}.end"]
    assert object_of(only(f"instance.{verb}.end").payload) == ("InstanceActionPayload", "1.9")


def test_power_action_that_fails_tells_error_with_its_fault() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    forget()
    conductor_connect().action_failed(lease=world.order("h1").lease, step="stop", message="libvirt is away")
    assert names() == ["instance.power_off.error"]
    fault = data(only("instance.power_off.error"))["fault"]["nova_object.data"]
    assert (fault["exception"], fault["exception_message"]) == ("stop", "libvirt is away")


def test_deletion_on_a_host_tells_start_at_once_and_end_when_it_is_gone() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    forget()
    instance_delete(caller=who.admin, instance_id=instance.pk)
    assert names() == ["instance.delete.start"]
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert names() == ["instance.delete.start", "instance.delete.end"]
    end = data(only("instance.delete.end"))
    assert (end["state"], end["deleted_at"] is None) == ("deleted", False)
    assert end["action_initiator_user"] == str(who.admin.user_id)


def test_deletion_without_a_host_is_told_by_the_api() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    forget()
    instance_delete(caller=who.member, instance_id=made.pk)
    assert names() == ["instance.delete.start", "instance.delete.end"]
    row = only("instance.delete.end")
    assert (data(row)["uuid"], row.publisher_id.partition(":")[0]) == (str(made.pk), "nova-api")


def test_scheduling_again_is_an_update_from_error_to_building() -> None:
    who = world.cloud()
    made = world.create(who.member)[0]
    world.pump()
    world.fail_build("h1")
    world.pump()
    forget()
    instance_schedule_again(instance_id=made.pk, caller=who.member)
    change = data(only("instance.update"))["state_update"]["nova_object.data"]
    assert change == {
        "old_state": "error", "state": "building", "old_task_state": None, "new_task_state": "scheduling",
    }  # fmt: skip


def test_service_tells_that_it_came_and_what_operators_say_of_it() -> None:
    world.cloud("h1")
    assert names() == ["service.create"]
    conductor_connect().heartbeat(host="h1")
    world.host("h1")
    assert names() == ["service.create"]
    service_disable(host="h1", reason="repairs")
    service_enable(host="h1")
    service_force_down(host="h1", forced_down=True)
    assert names() == ["service.create", *["service.update"] * 3]
    emitted = Notification.objects.filter(event_type="service.update").order_by("happened_at")
    assert [(data(row)["disabled"], data(row)["disabled_reason"], data(row)["forced_down"]) for row in emitted] == [
        (True, "repairs", False),
        (False, None, False),
        (False, None, True),
    ]
    assert object_of(emitted[0].payload) == ("ServiceStatusPayload", "1.1")
    assert emitted[0].publisher_id == "nova-compute:h1"
    host_remove(host="h1", force=True)
    assert data(only("service.delete"))["host"] == "h1"


def test_service_that_its_failed_builds_disabled_is_told_of(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "BUILD_FAILURES_DISABLE": 1}
    world.cloud("h1")
    with transaction.atomic():
        build_failure_count(host="h1", reason="spawning: no disk")
    change = data(only("service.update"))
    assert change["disabled"] is True
    assert "limit 1" in change["disabled_reason"]


def test_builds_that_disabled_a_host_are_told(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "BUILD_FAILURES_DISABLE": 2}
    world.cloud("h1")
    ids = [uuid.uuid4() for _ in range(3)]
    for number, one in enumerate(ids):
        with transaction.atomic():
            build_failure_count(host="h1", reason=f"spawning: no disk {number}\ntraceback", instance_uuid=one)
    row = only("service.build_failures")
    assert (row.priority, object_of(row.payload)) == ("ERROR", ("ServiceBuildFailuresPayload", "1.0"))
    told = data(row)
    assert (told["host"], told["failed_builds"], told["limit"]) == ("h1", 2, 2)
    assert [(one["instance_uuid"], one["reason"]) for one in told["builds"]] == [
        (str(ids[0]), "spawning: no disk 0"),
        (str(ids[1]), "spawning: no disk 1"),
    ]


def test_what_is_rolled_back_is_never_told() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    forget()
    with pytest.raises(RuntimeError), transaction.atomic():
        instance_act(caller=who.member, instance_id=instance.pk, action="stop")
        raise RuntimeError
    assert names(but="") == []


def test_telling_nobody_costs_no_statement(notifying: Any) -> None:
    """Twice around: with notifications switched off altogether, and with them on and nobody who wants them."""
    who = world.cloud()
    instance = world.active(who.member)
    statements = []
    for form in ("none", "versioned"):
        notifying(EVENTS=(), FORMAT=form)
        with CaptureQueriesContext(connection) as asked:
            instance_act(caller=who.member, instance_id=instance.pk, action="reboot")
            conductor_connect().action_done(lease=world.order("h1").lease, facts=world.RUNNING)
        # Who wants what is looked up now and then, however much happens.
        sql = [one["sql"] for one in asked.captured_queries if Webhook._meta.db_table not in one["sql"]]
        statements.append([one.partition(" ")[0] for one in sql])
    assert statements[0] == statements[1]
