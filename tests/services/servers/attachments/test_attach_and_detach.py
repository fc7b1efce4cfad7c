"""Volumes are attached to instances and detached: the rows, the work, the guest, and how each way ends."""

import uuid
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import PoolAbility
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, InvalidFields, NotFound
from controlplane.notifications.models import Notification
from controlplane.work.models import Work
from controlplane.work.reconcile import reconcile_once
from servers.instances.selectors.block_devices import instance_volumes
from servers.instances.services.act import instance_act
from servers.models import (
    BlockDeviceMapping,
    Instance,
    InstanceAction,
    InstanceFault,
    StoragePool,
    StoragePoolHost,
    Volume,
    VolumeAttachment,
)
from servers.repair.services.audit import audit_findings
from servers.volumes.domain.errors import InvalidVolume, PoolUnreachable, VolumeNotFound
from servers.volumes.domain.states import AttachmentState
from tests.services.servers.attachments.attached_cloud import ATTACH, DETACH, Cloud
from tests.worlds import cloud as world
from tests.worlds.agent_hands import built
from tests.worlds.attachments import volume_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_volume_comes_and_goes(cloud: Cloud) -> None:
    cloud.act(ATTACH, volume=str(cloud.volume.pk), tag="db")
    assert cloud.states() == ("attaching", "attaching", "block_device_mapping")
    root, data = BlockDeviceMapping.objects.order_by("position")
    assert (root.device, root.boot_index, data.device, data.tag, data.boot_index) == ("vda", 0, "vdb", "db", -1)
    cloud.h1.do(WorkKind.ATTACH_VOLUME)
    assert cloud.states() == ("in-use", "attached", "")
    assert cloud.guest_has() == [str(cloud.volume.pk)]
    assert cloud.backend.connected == {str(cloud.volume.pk)}
    assert InstanceAction.objects.get(instance_uuid=cloud.vm.pk, action=ATTACH).result == "success"
    cloud.act("reboot")
    cloud.h1.do(WorkKind.REBOOT)
    assert cloud.guest_has() == [str(cloud.volume.pk)]
    cloud.act(DETACH, volume="data")
    assert cloud.states() == ("detaching", "detaching", "block_device_mapping")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert cloud.states() == ("available", "", "")
    assert (cloud.guest_has(), cloud.backend.connected) == ([], set())
    assert list(BlockDeviceMapping.objects.values_list("device", flat=True)) == ["vda"]
    # The volume of this test was never claimed in Placement.
    assert [one for one in audit_findings() if "of its pool" not in one.message] == []


def test_guest_that_keeps_its_volume_has_it_still_and_the_next_try_works(cloud: Cloud) -> None:
    cloud.attached()
    cloud.h1.fake.unresponsive.add(str(cloud.vm.pk))
    cloud.act(DETACH, volume="data")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert cloud.states() == ("in-use", "attached", "")
    assert cloud.guest_has() == [str(cloud.volume.pk)]
    assert "did not let go of the disk in 120 s" in InstanceFault.objects.get(instance_uuid=cloud.vm.pk).message
    assert "did not let go of the disk in 120 s" in VolumeAttachment.objects.get().problem
    cloud.h1.fake.unresponsive.clear()
    cloud.act(DETACH, volume="data")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert cloud.states() == ("available", "", "")


def test_guest_that_died_has_let_go_of_its_volume(cloud: Cloud) -> None:
    cloud.attached()
    cloud.h1.fake.unresponsive.add(str(cloud.vm.pk))
    cloud.act(DETACH, volume="data")
    held = cloud.h1.take(WorkKind.DETACH_VOLUME)
    cloud.h1.fake.stop(str(cloud.vm.pk), grace_s=0)
    cloud.h1.perform(held)
    assert cloud.states() == ("available", "", "")


def test_volume_that_could_not_be_given_is_free_again(cloud: Cloud) -> None:
    cloud.backend.faults["connect"] = "the pool is away"
    cloud.act(ATTACH, volume="data")
    cloud.h1.do(WorkKind.ATTACH_VOLUME)
    assert cloud.states() == ("available", "", "")
    assert "could not do it" in InstanceFault.objects.get(instance_uuid=cloud.vm.pk).message
    cloud.backend.faults.clear()
    cloud.attached()
    assert cloud.states() == ("in-use", "attached", "")


def test_silent_host_leaves_the_volume_with_the_instance(cloud: Cloud) -> None:
    for action, kind, states in (
        (ATTACH, WorkKind.ATTACH_VOLUME, ("in-use", "error", "")),
        (DETACH, WorkKind.DETACH_VOLUME, ("in-use", "attached", "")),
    ):
        cloud.act(action, volume="data")
        Work.objects.filter(kind=kind).update(deadline_at="2000-01-01T00:00:00Z")
        reconcile_once()
        assert cloud.states() == states
        assert "did not say" in VolumeAttachment.objects.get().problem
    cloud.act(DETACH, volume="data")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert cloud.states() == ("available", "", "")


def test_instance_that_is_off_gets_it_for_its_next_start(cloud: Cloud) -> None:
    cloud.act("stop")
    cloud.h1.do(WorkKind.STOP)
    cloud.attached(device="/dev/vdf", read_only="true", delete_on_termination="true")
    assert cloud.states() == ("in-use", "attached", "")
    mapping = BlockDeviceMapping.objects.get(volume_id=cloud.volume.pk)
    assert (mapping.device, mapping.delete_on_termination) == ("vdf", True)
    assert VolumeAttachment.objects.get().is_read_only
    cloud.act("start")
    (volume,) = cloud.h1.take(WorkKind.START).guest.volumes
    assert (volume.device, volume.is_read_only, volume.boot_index) == ("vdf", True, -1)


def test_instance_on_no_host_gets_and_loses_volumes_by_rows_alone(cloud: Cloud) -> None:
    Instance.objects.update(vm_state="shelved_offloaded", host="", node="")
    cloud.act(ATTACH, volume="data")
    assert cloud.states() == ("in-use", "attached", "")
    assert InstanceAction.objects.get(instance_uuid=cloud.vm.pk, action=ATTACH).result == "success"
    assert not Work.objects.filter(kind=WorkKind.ATTACH_VOLUME).exists()
    cloud.act(DETACH, volume="data")
    assert cloud.states() == ("available", "", "")


@pytest.mark.parametrize("vm_state", ["paused", "shelved", "soft-delete", "resized"])
def test_states_in_which_nova_allows_it(cloud: Cloud, vm_state: str) -> None:
    Instance.objects.update(vm_state=vm_state)
    cloud.attached()
    assert cloud.states() == ("in-use", "attached", "")
    assert Instance.objects.get().vm_state == vm_state


@pytest.mark.parametrize("vm_state", ["suspended", "error", "building", "rescued"])
def test_states_in_which_it_is_refused(cloud: Cloud, vm_state: str) -> None:
    Instance.objects.update(vm_state=vm_state)
    with pytest.raises(Conflict, match=f"The instance is {vm_state}"):
        cloud.act(ATTACH, volume="data")
    assert cloud.states()[:2] == ("available", "")


@pytest.mark.parametrize(
    ("action", "arguments", "error", "words"),
    [
        (ATTACH, {"volume": "none such"}, VolumeNotFound, "There is no volume 'none such'"),
        (ATTACH, {"volume": str(uuid.uuid4())}, VolumeNotFound, "There is no volume"),
        (ATTACH, {"volume": "twin"}, Invalid, "Several volumes are called"),
        (ATTACH, {"volume": "taken"}, InvalidVolume, "is in-use: another instance has it"),
        (ATTACH, {"volume": "broken"}, InvalidVolume, "is error"),
        (ATTACH, {"volume": "data", "device": "sdb"}, Invalid, "disks are called vdb, vdc"),
        (ATTACH, {"volume": "data", "device": "vda"}, Invalid, "Another disk of the instance is called vda"),
        (ATTACH, {"volume": "data", "device": "../../vdb"}, Invalid, "disks are called"),
        (ATTACH, {"volume": "data", "tag": "a,b"}, Conflict, "comma"),
        (ATTACH, {"volume": "data", "read_only": "perhaps"}, InvalidFields, "there are: false, true"),
        (ATTACH, {}, InvalidFields, "needed"),
        (DETACH, {"volume": "data"}, VolumeNotFound, "The instance has no volume 'data'"),
        (DETACH, {"volume": "x" * 300}, InvalidFields, "255"),
    ],
)
def test_refusals_change_nothing(
    cloud: Cloud, action: str, arguments: dict[str, str], error: type[Exception], words: str
) -> None:
    for name, fields in (("twin", {}), ("twin", {}), ("taken", {"state": "in-use"}), ("broken", {"state": "error"})):
        volume_in(cloud.pool, cloud.who.member.project_id, name=name, **fields)
    before = list(Volume.objects.order_by("pk").values())
    with pytest.raises(error, match=words):
        cloud.act(action, **arguments)
    assert list(Volume.objects.order_by("pk").values()) == before
    assert not VolumeAttachment.objects.exists() and not BlockDeviceMapping.objects.exists()
    assert not Instance.objects.get(pk=cloud.vm.pk).has_block_devices


def test_volume_that_the_host_does_not_reach_is_refused_with_who_does(cloud: Cloud) -> None:
    StoragePoolHost.objects.update(problem="not mounted")
    world.host("h2")
    StoragePoolHost.objects.create(pool=cloud.pool, host="h2", reported_at="2026-01-01T00:00:00Z")
    with pytest.raises(PoolUnreachable) as refused:
        cloud.act(ATTACH, volume="data")
    assert "one other host does" in refused.value.message and "h2" not in refused.value.message
    with pytest.raises(PoolUnreachable) as seen:
        cloud.act(ATTACH, cloud.who.admin, volume="data")
    assert seen.value.message == ("Host h1 of the instance cannot use pool shared: not mounted; it is reached from h2.")
    assert (seen.value.extra["host"], seen.value.extra["hosts"]) == ("h1", ["h2"])
    assert cloud.states() == ("available", "", "")


def test_root_volume_stays_and_an_instance_has_a_volume_once(cloud: Cloud) -> None:
    cloud.attached()
    with pytest.raises(InvalidVolume, match="has volume data already"):
        cloud.act(ATTACH, volume="data")
    BlockDeviceMapping.objects.filter(boot_index=0).delete()
    BlockDeviceMapping.objects.update(boot_index=0)
    with pytest.raises(Conflict, match="boots from this volume"):
        cloud.act(DETACH, volume="data")


@pytest.mark.parametrize("change", [{"disk_bus": "sata"}, {"device_type": "cdrom"}])
def test_disk_that_leaves_no_guest_that_runs_is_refused_at_the_request(cloud: Cloud, change: dict[str, str]) -> None:
    cloud.attached()
    BlockDeviceMapping.objects.filter(volume_id__isnull=False).update(**change)
    with pytest.raises(Conflict, match="leaves an instance only while it is off: stop it first") as refused:
        cloud.act(DETACH, volume="data")
    assert refused.value.field == "volume"
    assert VolumeAttachment.objects.get().state == AttachmentState.ATTACHED
    assert not Work.objects.filter(kind=WorkKind.DETACH_VOLUME).exists()
    Instance.objects.update(power_state="shutdown", vm_state="stopped")
    cloud.act(DETACH, volume="data")
    assert VolumeAttachment.objects.get().state == AttachmentState.DETACHING


def test_volume_of_several_instances(cloud: Cloud) -> None:
    other = built(cloud.who.member, cloud.h1, name="second")
    shared = cloud.made("both", is_multiattach=True)
    for vm in (cloud.vm, other):
        instance_act(caller=cloud.who.member, instance_id=vm.pk, action=ATTACH, arguments={"volume": "both"})
        cloud.h1.do(WorkKind.ATTACH_VOLUME)
    assert Volume.objects.get(pk=shared.pk).state == "in-use"
    assert all(one.is_shared for one in VolumeAttachment.objects.all())
    cloud.act(DETACH, volume="both")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert Volume.objects.get(pk=shared.pk).state == "in-use"
    assert cloud.backend.connected == {str(shared.pk)}
    StoragePool.objects.update(abilities=[PoolAbility.CLONE.value])
    with pytest.raises(Conflict, match="lets one instance alone have it"):
        cloud.act(ATTACH, volume="both")


def test_who_may(cloud: Cloud) -> None:
    with pytest.raises(Forbidden):
        cloud.act(ATTACH, cloud.who.reader, volume="data")
    with pytest.raises(NotFound):
        cloud.act(ATTACH, cloud.who.stranger, volume="data")
    foreign = volume_in(cloud.pool, Project.objects.exclude(pk=cloud.who.member.project_id)[0].pk, name="theirs")
    with pytest.raises(VolumeNotFound):
        cloud.act(ATTACH, volume=str(foreign.pk))
    cloud.act(ATTACH, cloud.who.admin, volume="data")
    with pytest.raises(InvalidVolume, match=r"has volume .* already"):
        cloud.act(ATTACH, volume="data")


def test_three_at_once_come_and_go_one_after_the_other(cloud: Cloud) -> None:
    names = ("data", "b", "c")
    made = [cloud.volume, cloud.made("b"), cloud.made("c")]
    for name in names:
        cloud.act(ATTACH, volume=name)
    with pytest.raises(Conflict, match="just being added or taken away"):
        cloud.act(DETACH, volume="c")
    assert {one.state for one in VolumeAttachment.objects.all()} == {"attaching"}
    for count in (1, 2, 3):
        cloud.h1.do(WorkKind.ATTACH_VOLUME)
        assert set(cloud.guest_has()) == {str(one.pk) for one in made[:count]}
    assert cloud.states() == ("in-use", "attached", "")
    devices = BlockDeviceMapping.objects.filter(instance_uuid=cloud.vm.pk).order_by("position")
    assert [one.device for one in devices] == ["vda", "vdb", "vdc", "vdd"]
    for name in names:
        cloud.act(DETACH, volume=name)
    assert {one.state for one in VolumeAttachment.objects.all()} == {"detaching"}
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    Instance.objects.update(vm_state="suspended")  # the last one is not begun any more
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    (left,) = VolumeAttachment.objects.all()
    assert (left.volume_id, left.state) == (made[2].pk, "attached")
    assert "was not begun" in left.problem
    assert "waiting behind nothing" not in str(audit_findings())


def test_hypervisor_that_fails_tells_operators_and_not_the_owner(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_named: object) -> None:
        raise DriverError("libvirtd is gone", failure_class=FailureClass.HOST)

    cloud.attached()
    monkeypatch.setattr(cloud.h1.fake, DETACH, refuse)
    cloud.act(DETACH, volume="data")
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    fault = InstanceFault.objects.get(instance_uuid=cloud.vm.pk)
    assert "libvirtd" not in fault.message and "libvirtd is gone" in fault.details
    assert cloud.states() == ("in-use", "attached", "")


def test_api(cloud: Cloud, django_assert_num_queries: Any) -> None:
    client = world.client_of(cloud.who.member)
    path = f"/api/instances/{cloud.vm.pk}/volumes/"
    body = {"volume": "data", "tag": "db", "delete_on_termination": True}
    answer = client.post(path, body, format="json")
    assert answer.status_code == 202, answer.json()
    (one,) = answer.json()
    assert (one["volume_id"], one["state"], one["device"], one["tag"]) == (
        str(cloud.volume.pk),
        "attaching",
        "vdb",
        "db",
    )
    assert (one["delete_on_termination"], one["is_read_only"]) == (True, False)
    cloud.h1.do(WorkKind.ATTACH_VOLUME)
    assert [each["state"] for each in client.get(path).json()] == ["attached"]
    assert client.delete(f"{path}{cloud.volume.pk}/").status_code == 202
    cloud.h1.do(WorkKind.DETACH_VOLUME)
    assert client.get(path).json() == []
    assert client.delete(f"{path}{cloud.volume.pk}/").status_code == 404
    refused = client.post(path, {"volume": "x"}, format="json")
    assert (refused.status_code, refused.json()["error"]["field"]) == (404, "volume")
    strange_field = client.post(path, {"volume": "data", "colour": "red"}, format="json")
    assert strange_field.status_code == 400
    row = Instance.objects.get(pk=cloud.vm.pk)
    with django_assert_num_queries(2):
        instance_volumes(row)


def test_notifications_name_the_volumes(cloud: Cloud, notifying: Any) -> None:
    notifying(EVENTS=("instance.volume_attach.*", "instance.reboot.*"))
    cloud.attached(tag="db", delete_on_termination="true")
    told = Notification.objects.get(event_type="instance.volume_attach.end").payload["nova_object.data"]
    (disk,) = told["block_devices"]
    assert (disk["nova_object.name"], disk["nova_object.version"]) == ("BlockDevicePayload", "1.0")
    assert disk["nova_object.data"] == {
        "device_name": "/dev/vdb",
        "boot_index": None,
        "delete_on_termination": True,
        "volume_id": str(cloud.volume.pk),
        "tag": "db",
    }
    other = built(cloud.who.member, cloud.h1, name="other")
    instance_act(caller=cloud.who.member, instance_id=other.pk, action="reboot")
    start = Notification.objects.get(event_type="instance.reboot.start")
    assert start.payload["nova_object.data"]["block_devices"] == []


def test_api_by_role(cloud: Cloud) -> None:
    path = f"/api/instances/{cloud.vm.pk}/volumes/"
    for caller, listed, attached in (
        (cloud.who.reader, 200, 403),
        (cloud.who.stranger, 404, 404),
    ):
        client = world.client_of(caller)
        assert client.get(path).status_code == listed
        assert client.post(path, {"volume": "data"}, format="json").status_code == attached
        assert client.delete(f"{path}{cloud.volume.pk}/").status_code == attached
    assert cloud.states() == ("available", "", "")
