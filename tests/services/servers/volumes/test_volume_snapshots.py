"""Snapshots of volumes: of one that nobody has, and of one that a guest writes to; going back; what they hold."""

import uuid

import pytest

from computeagent.protocol.volumes import PoolAbility, PoolKind, VolumeSourceKind, VolumeWorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields, NoCapacity, QuotaExceeded
from controlplane.work.models import Work
from servers.models import StoragePool, Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.attachments import AttachmentRequest
from servers.volumes.domain.errors import (
    InvalidSnapshot,
    InvalidVolume,
    PoolCannot,
    SnapshotIsNotLatest,
    SnapshotNotFound,
    VolumeNotFound,
)
from servers.volumes.domain.states import AttachmentState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.attachments import attachment_begin, volumes_reserve
from servers.volumes.services.snapshots import (
    SnapshotRequest,
    snapshot_create,
    snapshot_delete,
    snapshot_reset_state,
    snapshot_update,
)
from servers.volumes.services.volumes import volume_create, volume_extend, volume_revert
from tests.worlds.volumes import promised, snapshot_made, volume_made, work_done, work_failed, work_of

pytestmark = pytest.mark.django_db
NO_CLONES = [one.value for one in PoolAbility if one is not PoolAbility.CLONE]


def given(volume: Volume, *, count: int = 1, state: AttachmentState = AttachmentState.ATTACHED) -> None:
    Volume.objects.filter(pk=volume.pk).update(state=VolumeState.IN_USE)
    for _ in range(count):
        VolumeAttachment.objects.create(volume=volume, instance_uuid=uuid.uuid4(), state=state, is_shared=count > 1)


def test_snapshot_is_asked_for_made_and_removed(people, pool):
    volume = volume_made(people.member, size_gib=5)
    snapshot = snapshot_create(
        caller=people.member, request=SnapshotRequest(volume.pk, name="before", metadata={"a": "b"})
    )
    assert (snapshot.state, snapshot.size_gib) == (VolumeSnapshotState.CREATING, 5)
    assert work_of(snapshot.pk).kind == VolumeWorkKind.VOLUME_SNAPSHOT_CREATE
    work_done(snapshot.pk, is_consistent=True, frozen_ms=12, used_bytes=3)
    snapshot.refresh_from_db()
    assert (snapshot.state, snapshot.is_consistent, snapshot.frozen_ms) == (VolumeSnapshotState.AVAILABLE, True, 12)
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    work_done(snapshot.pk)
    assert not VolumeSnapshot.objects.exists()
    assert promised(pool) == 5


def test_whole_copies_claim_their_room_and_give_it_back_when_they_fail(people, pool):
    StoragePool.objects.update(abilities=NO_CLONES)
    volume = volume_made(people.member, size_gib=40)
    first = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    assert promised(pool) == 80
    with pytest.raises(NoCapacity):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    assert VolumeSnapshot.objects.count() == 1
    work_failed(first.pk, "The disk is full.")
    first.refresh_from_db()
    assert (first.state, first.fault, promised(pool)) == (VolumeSnapshotState.ERROR, "The disk is full.", 40)
    second = snapshot_made(people.member, volume)
    snapshot_delete(caller=people.member, snapshot_id=first.pk)
    work_done(first.pk)
    snapshot_delete(caller=people.member, snapshot_id=second.pk)
    work_done(second.pk)
    assert promised(pool) == 40


@pytest.mark.parametrize("limits", [{"quota_volume_snapshots": 0}, {"quota_volume_gib": 9}])
def test_quota_counts_snapshots_and_their_gib(people, pool, limits):
    volume = volume_made(people.member, size_gib=5)
    Project.objects.filter(pk=people.member.project_id).update(**limits)
    with pytest.raises(QuotaExceeded):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    assert not VolumeSnapshot.objects.exists()


def test_while_a_copy_is_made_the_volume_stays_as_it_is(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    with pytest.raises(InvalidVolume, match="a snapshot is being made of it"):
        volumes_reserve(project_id=volume.project_id, instance_uuid=uuid.uuid4(), wanted=[AttachmentRequest(volume.pk)])
    with pytest.raises(InvalidVolume, match="a snapshot is being made of it"):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    work_done(snapshot.pk)
    volumes_reserve(project_id=volume.project_id, instance_uuid=uuid.uuid4(), wanted=[AttachmentRequest(volume.pk)])
    with pytest.raises(InvalidVolume, match="is reserved"):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))


def test_guest_does_not_lose_what_its_hypervisor_copies(people, pool):
    volume = volume_made(people.member)
    given(volume)
    attachment = VolumeAttachment.objects.get()
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    with pytest.raises(InvalidVolume, match="a snapshot is being made of it"):
        attachment_begin(attachment.pk, AttachmentState.DETACHING)
    work_done(snapshot.pk)
    attachment_begin(attachment.pk, AttachmentState.DETACHING)
    assert Volume.objects.get().state == VolumeState.DETACHING


def test_attached_volume_has_snapshots_where_its_pool_can(people, pool):
    volume = volume_made(people.member)
    given(volume)
    StoragePool.objects.update(abilities=[], lacks=["QEMU is too old."])
    with pytest.raises(PoolCannot, match="QEMU is too old"):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    StoragePool.objects.update(abilities=[PoolAbility.SNAPSHOT_ATTACHED.value])
    assert snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk)).size_gib == 1


def test_volume_that_several_write_to_needs_a_pool_with_its_bytes_of_one_moment(people, pool):
    volume = volume_made(people.member)
    given(volume, count=2)
    with pytest.raises(PoolCannot, match="2 instances write"):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    StoragePool.objects.update(kind=PoolKind.RBD)
    assert snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))


def test_attachment_that_comes_or_goes_is_waited_for(people, pool):
    volume = volume_made(people.member)
    given(volume, state=AttachmentState.DETACHING)
    with pytest.raises(InvalidVolume, match="is detaching"):
        snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))


def test_volume_goes_back_to_its_newest_snapshot_only(people, pool):
    volume = volume_made(people.member)
    first, second = snapshot_made(people.member, volume), snapshot_made(people.member, volume)
    with pytest.raises(SnapshotIsNotLatest):
        volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=first.pk)
    assert volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=second.pk).state == "reverting"
    assert work_of(volume.pk).arguments["snapshot_id"] == str(second.pk)
    with pytest.raises(InvalidSnapshot, match="goes back now"):
        snapshot_delete(caller=people.member, snapshot_id=second.pk)
    work_failed(volume.pk, "It was cut off.")
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.ERROR, "It was cut off.")
    volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=second.pk)
    work_done(volume.pk, used_bytes=5)
    volume.refresh_from_db()
    assert (volume.state, volume.fault, volume.used_bytes) == (VolumeState.AVAILABLE, "", 5)


def test_volume_that_grew_or_is_attached_or_cannot_does_not_go_back(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    StoragePool.objects.update(abilities=[])
    with pytest.raises(PoolCannot):
        volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    StoragePool.objects.update(abilities=[PoolAbility.REVERT.value])
    Volume.objects.update(size_gib=2)
    with pytest.raises(InvalidSnapshot, match="make a volume of the snapshot"):
        volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    assert not Work.objects.filter(subject=volume.pk, state="waiting").exists()


def test_volume_of_a_snapshot_holds_the_snapshot_while_it_is_made(people, pool):
    volume = volume_made(people.member, size_gib=3)
    snapshot = snapshot_made(people.member, volume)
    asked = {"source_kind": VolumeSourceKind.SNAPSHOT, "source_id": snapshot.pk}
    with pytest.raises(InvalidFields, match="needs 3"):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=2, **asked))
    copy = volume_create(caller=people.member, request=VolumeRequest(**asked))
    assert (copy.size_gib, copy.pool) == (3, pool)
    with pytest.raises(InvalidSnapshot, match="a volume is being made of it"):
        snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    work_done(copy.pk)
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    with pytest.raises(InvalidSnapshot):
        volume_create(caller=people.member, request=VolumeRequest(**asked))


def test_strangers_know_of_nothing(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    with pytest.raises(VolumeNotFound):
        snapshot_create(caller=people.stranger, request=SnapshotRequest(volume.pk))
    for ask in (
        lambda: snapshot_delete(caller=people.stranger, snapshot_id=snapshot.pk),
        lambda: snapshot_update(caller=people.stranger, snapshot_id=snapshot.pk, changes={"name": "mine"}),
        lambda: volume_create(
            caller=people.stranger,
            request=VolumeRequest(source_kind=VolumeSourceKind.SNAPSHOT, source_id=snapshot.pk),
        ),
    ):
        with pytest.raises(SnapshotNotFound):
            ask()


def test_what_is_said_of_it_changes_and_its_state_by_hand(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    after = snapshot_update(caller=people.member, snapshot_id=snapshot.pk, changes={"name": "n", "metadata": {}})
    assert after.name == "n"
    with pytest.raises(InvalidFields):
        snapshot_update(caller=people.member, snapshot_id=snapshot.pk, changes={"size_gib": 1})
    with pytest.raises(InvalidFields):
        snapshot_reset_state(snapshot_id=snapshot.pk, state=VolumeSnapshotState.CREATING)
    assert snapshot_reset_state(snapshot_id=snapshot.pk, state=VolumeSnapshotState.ERROR).state == "error"
    assert not Work.objects.filter(subject=snapshot.pk, state="waiting").exists()
