"""Images of instances that boot from volumes: snapshots that an image of no bytes names, and instances of it."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, NotFound, QuotaExceeded
from servers.images.services.image_store import image_upload
from servers.instances.services.act import instance_act
from servers.models import BlockDeviceMapping, Image, Instance, InstanceAction, StoragePool, Volume, VolumeSnapshot
from servers.repair.services.volume_heal import stuck_volumes_heal
from servers.volumes.domain.states import VolumeState
from servers.volumes.services.snapshots import snapshot_delete
from tests.services.servers.volumes.test_volumes_of_instances import boot_from, build, create, pool, volume
from tests.worlds import cloud as world
from tests.worlds.volumes import work_done, work_failed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", pools=(pool("net", is_shared=True),))


@pytest.fixture
def vm(who: world.People) -> Instance:
    """It boots from one volume and has another one for its data."""
    of = StoragePool.objects.get()
    root, data = volume(who, of, name="root"), volume(who, of, name="data", is_bootable=False, size_gib=2)
    said = boot_from(root, disk_bus="sata")
    said["block_device_mapping_v2"].append({"source_type": "volume", "uuid": str(data.pk), "tag": "d"})
    made = create(who, **said)
    world.pump()
    build("h1")
    return Instance.objects.get(pk=made.pk)


def snapshot(who: world.People, vm: Instance, name: str = "golden", caller: Any = None) -> Image:
    instance_act(caller=caller or who.member, instance_id=vm.pk, action="snapshot", arguments={"name": name})
    return Image.objects.get(name=name)


def of_image(image: Image) -> list[VolumeSnapshot]:
    return list(VolumeSnapshot.objects.filter(image_id=image.pk).order_by("volume__name"))


def made(image: Image) -> Image:
    for one in of_image(image):
        work_done(one.pk, used_bytes=1)
    image.refresh_from_db()
    return image


def test_image_of_volumes_becomes_instances_with_volumes(who: world.People, vm: Instance) -> None:
    image = snapshot(who, vm)
    data, root = of_image(image)
    assert (image.status, image.size_bytes, root.state, root.name) == ("queued", 0, "creating", "snapshot for golden")
    disks = json.loads(image.properties["block_device_mapping"])
    assert [(one["snapshot_id"], one["boot_index"], one["volume_size"]) for one in disks] == [
        (str(root.pk), 0, 1),
        (str(data.pk), -1, 2),
    ]
    assert (image.properties["bdm_v2"], image.properties["root_device_name"]) == ("True", "/dev/sda")
    assert InstanceAction.objects.get(action="snapshot").result == "success"
    with pytest.raises(InvalidFields, match="is queued"):
        create(who, image=str(image.pk))
    with pytest.raises(Conflict, match="takes no bytes"):
        image_upload(caller=who.member, image_id=image.pk, stream=io.BytesIO(b"x"))
    work_done(root.pk)
    assert Image.objects.get(pk=image.pk).status == "queued"
    work_done(data.pk)
    assert Image.objects.get(pk=image.pk).status == "active"
    again = create(who, image=str(image.pk), name="again")
    world.pump()
    rows = BlockDeviceMapping.objects.filter(instance_uuid=again.pk).order_by("position")
    assert [(one.source_id, one.device, one.boot_index, one.tag, one.disk_bus) for one in rows] == [
        (root.pk, "sda", 0, "", "sata"),
        (data.pk, "vda", -1, "d", "virtio"),
    ]
    order = world.order("h1", WorkKind.BUILD)
    assert not order.guest.has_local_root
    assert [one.make.id for one in order.guest.volumes if one.make] == [str(root.pk), str(data.pk)]
    placed = Instance.objects.get(pk=again.pk)
    assert (placed.image_id, placed.image["name"], placed.root_gib) == (None, "golden", 0)


def test_request_may_name_other_disks_than_the_image(who: world.People, vm: Instance) -> None:
    image = made(snapshot(who, vm))
    _, root = of_image(image)
    blank = {"source_type": "blank", "destination_type": "volume", "volume_size": 3, "device_name": "vda"}
    its_root = {"source_type": "image", "destination_type": "local", "uuid": str(image.pk), "boot_index": 0}
    again = create(who, image=str(image.pk), name="again", block_device_mapping_v2=[its_root, blank])
    world.pump()
    rows = BlockDeviceMapping.objects.filter(instance_uuid=again.pk).order_by("position")
    assert [(one.source_type, one.source_id) for one in rows] == [("snapshot", root.pk), ("blank", None)]
    without = [{"no_device": True, "device_name": "/dev/vda", "source_type": "blank"}]
    alone = create(who, image=str(image.pk), name="alone", block_device_mapping_v2=without)
    world.pump()
    assert [one.source_id for one in BlockDeviceMapping.objects.filter(instance_uuid=alone.pk)] == [root.pk]
    nothing = [{"no_device": True, "device_name": "/dev/vdz", "source_type": "blank"}]
    with pytest.raises(InvalidFields, match="names none of this device name"):
        create(who, image=str(image.pk), name="other", block_device_mapping_v2=nothing)


def test_snapshot_that_cannot_be_made_ends_the_image_and_the_other_snapshots(who: world.People, vm: Instance) -> None:
    image = snapshot(who, vm)
    data, root = of_image(image)
    work_done(data.pk)
    work_failed(root.pk, "The disk is full.")
    image.refresh_from_db()
    assert image.status == "killed"
    assert "The disk is full." in image.status_reason
    assert VolumeSnapshot.objects.get(pk=data.pk).state == "deleting"
    assert Volume.objects.get(name="root").state == VolumeState.IN_USE


def test_snapshot_that_is_removed_before_the_others_are_there_ends_the_image(who: world.People, vm: Instance) -> None:
    image = snapshot(who, vm)
    data, root = of_image(image)
    snapshot_delete(caller=who.admin, snapshot_id=root.pk, is_forced=True)
    work_done(root.pk)
    work_done(data.pk)
    Image.objects.update(updated_at=F("updated_at") - timedelta(hours=1))
    stuck_volumes_heal()
    image.refresh_from_db()
    assert (image.status, "was removed" in image.status_reason) == ("killed", True)
    assert stuck_volumes_heal() == 0


def test_snapshot_that_went_later_is_said_where_the_image_is_used(who: world.People, vm: Instance) -> None:
    image = made(snapshot(who, vm))
    VolumeSnapshot.objects.filter(volume__name="data").delete()
    with pytest.raises(InvalidFields) as refused:
        create(who, image=str(image.pk))
    assert "Its disk 1: There is no snapshot" in str(refused.value)
    Image.objects.filter(pk=image.pk).update(properties={"block_device_mapping": '[{"boot_index": 0}]'})
    with pytest.raises(InvalidFields) as refused:
        create(who, image=str(image.pk))
    assert "the form before bdm_v2" in str(refused.value)


def test_where_its_bytes_are_needed_it_has_none(who: world.People, vm: Instance) -> None:
    image = made(snapshot(who, vm))
    client = world.client_of(who.member)
    for path, body in (
        ("volumes/", {"image": str(image.pk), "size_gib": 1}),
        (f"instances/{vm.pk}/rescue/", {"image": str(image.pk)}),
        (f"instances/{vm.pk}/rebuild/", {"image": str(image.pk), "reimage_boot_volume": True}),
    ):
        answer = client.post(f"/api/{path}", body, format="json")
        assert answer.status_code == 400, answer.json()
        assert "its disks are snapshots of volumes" in str(answer.json())


def test_nothing_is_written_where_one_volume_cannot_have_a_snapshot(who: world.People, vm: Instance) -> None:
    for caller, refusal in ((who.reader, Forbidden), (who.stranger, NotFound)):
        with pytest.raises(refusal):
            snapshot(who, vm, caller=caller)
    Volume.objects.filter(name="data").update(state="extending")
    with pytest.raises(Conflict, match="extending"):
        snapshot(who, vm)
    Volume.objects.filter(name="data").update(state="in-use")
    Project.objects.filter(pk=who.member.project_id).update(quota_volume_snapshots=1)
    with pytest.raises(QuotaExceeded):
        snapshot(who, vm)
    assert not VolumeSnapshot.objects.exists()
    assert not Image.objects.filter(name="golden").exists()
