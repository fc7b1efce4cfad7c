"""Who has which volume: promises, what hosts say of them, and what hosts are told."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.volumes import (
    LocalDisk,
    LocalDiskKind,
    PoolAbility,
    VolumeQos,
    VolumeSource,
    VolumeSourceKind,
)
from controlplane.identity.models import Project
from servers.models import BlockDeviceMapping, Instance, Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.attachments import AttachmentRequest
from servers.volumes.domain.errors import InvalidVolume, PoolCannot, VolumeAttached, VolumeNotFound
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.selectors.guest_volumes import guest_disks, guest_volumes
from servers.volumes.services.attachments import (
    attachment_begin,
    attachment_keep,
    attachment_release,
    attachments_activate,
    attachments_promise,
    attachments_release,
    volumes_reserve,
)
from tests.worlds.attachments import pool_row, volume_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="p")


def instance_row(project: Project) -> Instance:
    return Instance.objects.create(
        project_id=project.pk, user_id=uuid.uuid4(), name="vm", flavor={}, vcpus=1, memory_mib=64
    )


def reserve(volume: Volume, instance_uuid: uuid.UUID, **more: Any) -> VolumeAttachment:
    (made,) = volumes_reserve(
        project_id=volume.project_id, instance_uuid=instance_uuid, wanted=[AttachmentRequest(volume.pk, **more)]
    )
    return made


def state(volume: Volume) -> str:
    return Volume.objects.get(pk=volume.pk).state


def test_volume_is_promised_given_and_taken_back(project: Project) -> None:
    volume, vm = volume_in(pool_row(), project.pk), uuid.uuid4()
    attachment = reserve(volume, vm, device="vdb")
    assert (attachment.state, attachment.device, state(volume)) == ("reserved", "vdb", "reserved")
    assert reserve(volume, vm).pk == attachment.pk
    attachment_begin(attachment.pk, AttachmentState.ATTACHING)
    assert state(volume) == "attaching"
    attachments_activate(instance_uuid=vm)
    attachment.refresh_from_db()
    assert (attachment.state, state(volume)) == ("attached", "in-use") and attachment.attached_at is not None
    attachment_begin(attachment.pk, AttachmentState.DETACHING)
    assert state(volume) == "detaching"
    attachment_keep(attachment.pk, problem="the guest did not let go", state=AttachmentState.ATTACHED)
    attachment.refresh_from_db()
    assert (attachment.problem, state(volume)) == ("the guest did not let go", "in-use")
    attachments_promise(instance_uuid=vm)
    assert state(volume) == "reserved"
    attachment_release(attachment_id=attachment.pk)
    attachment_release(attachment_id=attachment.pk)
    assert state(volume) == "available" and not VolumeAttachment.objects.exists()


@pytest.mark.parametrize(
    ("fields", "more", "error", "words"),
    [
        ({"state": "error"}, {}, InvalidVolume, "is error; only one that is available"),
        ({"state": "extending"}, {}, InvalidVolume, "is extending"),
        ({"state": "creating"}, {}, InvalidVolume, "is creating"),
        ({}, {"is_being_made": True}, InvalidVolume, "was to be made for this instance"),
        ({"pool": None}, {}, InvalidVolume, "in no pool"),
    ],
)
def test_volume_that_cannot_be_promised(
    project: Project, fields: dict[str, Any], more: dict[str, Any], error: type[Exception], words: str
) -> None:
    volume = volume_in(pool_row(), project.pk, **{k: v for k, v in fields.items() if k != "pool"})
    if "pool" in fields:
        Volume.objects.update(pool=None)
    before = state(volume)
    with pytest.raises(error, match=words):
        reserve(volume, uuid.uuid4(), **more)
    assert state(volume) == before and not VolumeAttachment.objects.exists()


def test_attachments_of_a_volume_that_can_only_be_read_are_read_only(project: Project) -> None:
    pool = pool_row()
    for volume_is, asked, found in ((True, False, True), (False, True, True), (False, False, False)):
        volume = volume_in(pool, project.pk, is_read_only=volume_is)
        assert reserve(volume, uuid.uuid4(), is_read_only=asked).is_read_only is found


def test_volume_of_another_project_does_not_exist(project: Project) -> None:
    volume = volume_in(pool_row(), project.pk)
    with pytest.raises(VolumeNotFound):
        volumes_reserve(
            project_id=Project.objects.create(name="q").pk,
            instance_uuid=uuid.uuid4(),
            wanted=[AttachmentRequest(volume.pk)],
        )


def test_volume_is_one_instances_alone_by_state_and_by_constraint(project: Project) -> None:
    volume, vm = volume_in(pool_row(), project.pk), uuid.uuid4()
    reserve(volume, vm)
    with pytest.raises(InvalidVolume, match="another instance has it"):
        reserve(volume, uuid.uuid4())
    # An administrator wrote over the state, which the constraint does not believe.
    Volume.objects.update(state=VolumeState.AVAILABLE)
    with pytest.raises(VolumeAttached) as refused:
        reserve(volume, uuid.uuid4())
    assert refused.value.extra["instances"] == [str(vm)]


def test_volume_of_several_is_theirs_where_type_and_pool_can(project: Project) -> None:
    volume, one, two = volume_in(pool_row(), project.pk, is_multiattach=True), uuid.uuid4(), uuid.uuid4()
    first = reserve(volume, one)
    attachments_activate(instance_uuid=one)
    second = reserve(volume, two)
    assert first.is_shared and second.is_shared and state(volume) == "in-use"
    attachment_begin(first.pk, AttachmentState.DETACHING)
    assert state(volume) == "detaching"
    attachment_release(attachment_id=first.pk)
    assert state(volume) == "reserved"
    alone = pool_row("alone", abilities=[PoolAbility.CLONE.value])
    volume = volume_in(alone, project.pk, is_multiattach=True)
    assert not reserve(volume, one).is_shared
    with pytest.raises(PoolCannot, match="lets one instance alone have it"):
        reserve(volume, two)


def test_state_of_a_volume_that_something_else_is_done_to_is_left_alone(project: Project) -> None:
    volume, vm = volume_in(pool_row(), project.pk), uuid.uuid4()
    reserve(volume, vm)
    attachments_activate(instance_uuid=vm)
    Volume.objects.update(state=VolumeState.EXTENDING)
    attachments_release(instance_uuid=vm)
    assert state(volume) == "extending"


def test_volumes_that_go_with_their_instance_are_named_and_the_rest_is_free(project: Project) -> None:
    pool, vm = pool_row(), uuid.uuid4()
    stays, goes, shared = (volume_in(pool, project.pk, is_multiattach=number == 2) for number in range(3))
    for number, volume in enumerate((stays, goes, shared)):
        attachment = reserve(volume, vm)
        BlockDeviceMapping.objects.create(
            instance_uuid=vm,
            position=number,
            source_type="volume",
            destination_type="volume",
            volume_id=volume.pk,
            attachment_id=attachment.pk,
            delete_on_termination=volume is not stays,
        )
    reserve(shared, uuid.uuid4())
    assert attachments_release(instance_uuid=vm) == [goes.pk]
    assert attachments_release(instance_uuid=vm) == []
    assert [state(one) for one in (stays, goes, shared)] == ["available", "available", "reserved"]
    assert not BlockDeviceMapping.objects.exists()


def mapping(vm: Instance, position: int, **fields: Any) -> BlockDeviceMapping:
    return BlockDeviceMapping.objects.create(
        instance_uuid=vm.pk,
        position=position,
        **{"source_type": "blank", "destination_type": "local", **fields},
    )


def test_host_is_told_of_disks_with_two_queries_and_with_none_where_nobody_named_any(
    project: Project, django_assert_num_queries: Any
) -> None:
    plain, named = (instance_row(project) for _ in range(2))
    pool = pool_row("ceph")
    Instance.objects.filter(pk=named.pk).update(has_block_devices=True, image={"properties": {"hw_disk_bus": "scsi"}})
    named.refresh_from_db()
    root = volume_in(
        pool,
        project.pk,
        state="creating",
        instance_uuid=named.pk,
        source_kind="image",
        source_id=uuid.uuid4(),
        image={"checksum_sha256": "ab", "size_bytes": 5, "disk_format": "raw"},
        size_gib=3,
    )
    data = volume_in(pool, project.pk, qos={"total_iops": 100}, location={"format": "raw"}, is_encrypted=True)
    own = reserve(root, named.pk, is_being_made=True)
    other = reserve(data, named.pk, is_read_only=True)
    mapping(named, 0, source_type="image", destination_type="volume", volume_id=root.pk, boot_index=0, device="sda")
    mapping(named, 1, source_type="volume", destination_type="volume", volume_id=data.pk, disk_bus="virtio", tag="db")
    mapping(named, 2, guest_format="ext4", size_gib=2, device="sdb")
    mapping(named, 3, guest_format="swap", size_mib=64)
    with django_assert_num_queries(0):
        assert guest_disks([plain]) == {}
    with django_assert_num_queries(2):
        disks = guest_disks([plain, named])[named.pk]
    assert not disks.has_local_root
    assert disks.local_disks == (
        LocalDisk(LocalDiskKind.EPHEMERAL, 2048, device="sdb", disk_format="ext4"),
        LocalDisk(LocalDiskKind.SWAP, 64),
    )
    first, second = disks.volumes
    assert (first.attachment_id, first.bus, first.boot_index, first.volume.size_gib) == (str(own.pk), "scsi", 0, 3)
    assert first.make == VolumeSource(
        VolumeSourceKind.IMAGE, str(root.source_id), checksum="ab", size_bytes=5, disk_format="raw"
    )
    assert (second.attachment_id, second.bus, second.tag, second.is_read_only) == (str(other.pk), "virtio", "db", True)
    assert (second.qos, second.make) == (VolumeQos(total_iops=100), None)
    assert (second.volume.pool, second.volume.location, second.volume.is_encrypted) == ("ceph", {"format": "raw"}, True)
    assert guest_volumes(named.pk) == disks.volumes


def test_volume_to_be_made_of_a_snapshot_names_the_volume_that_it_is_of(project: Project) -> None:
    vm, pool = instance_row(project), pool_row()
    Instance.objects.update(has_block_devices=True)
    origin = volume_in(pool, project.pk, is_encrypted=True)
    snapshot = VolumeSnapshot.objects.create(volume=origin, project=project, user_id=uuid.uuid4(), size_gib=1)
    made = volume_in(
        pool, project.pk, state="creating", instance_uuid=vm.pk, source_kind="snapshot", source_id=snapshot.pk
    )
    reserve(made, vm.pk, is_being_made=True)
    mapping(vm, 0, source_type="snapshot", destination_type="volume", volume_id=made.pk, boot_index=0)
    (volume,) = guest_volumes(vm.pk)
    assert volume.make == VolumeSource(
        VolumeSourceKind.SNAPSHOT, str(snapshot.pk), volume_id=str(origin.pk), is_encrypted=True
    )
    assert guest_volumes(uuid.uuid4()) == ()


def test_volume_that_its_build_made_is_in_use(project: Project) -> None:
    vm = uuid.uuid4()
    volume = volume_in(pool_row(), project.pk, state="creating", instance_uuid=vm)
    reserve(volume, vm, is_being_made=True)
    assert state(volume) == "creating"
    attachments_activate(instance_uuid=vm)
    assert state(volume) == "in-use"
