"""Volumes: asked for, made, changed, grown, removed; claim and work beside each row, whatever fails."""

import uuid

import pytest

from computeagent.protocol.volumes import PoolAbility, PoolKind, VolumeSourceKind, VolumeWorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Forbidden, Invalid, InvalidFields, NoCapacity, QuotaExceeded
from controlplane.work.models import Work
from scheduling.fleet.services.service_states import service_force_down
from servers.models import Image, StoragePool, Volume, VolumeAttachment, VolumeKey, VolumeType
from servers.volumes.domain.errors import (
    InvalidVolume,
    NoValidBackend,
    PoolCannot,
    PoolUnreachable,
    VolumeAttached,
    VolumeHasSnapshots,
    VolumeNotFound,
    VolumeTypeNotFound,
)
from servers.volumes.domain.states import AttachmentState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.keys import volume_key_open
from servers.volumes.services.volumes import (
    volume_create,
    volume_delete,
    volume_extend,
    volume_reset_state,
    volume_update,
)
from tests.worlds.volumes import (
    promised,
    snapshot_row,
    storage_pool,
    volume_made,
    volume_row,
    work_done,
    work_failed,
    work_of,
)

pytestmark = pytest.mark.django_db


def state(volume: Volume) -> str:
    return Volume.objects.values_list("state", flat=True).get(pk=volume.pk)


def attached(volume: Volume, *, is_shared: bool = False) -> VolumeAttachment:
    Volume.objects.filter(pk=volume.pk).update(state=VolumeState.IN_USE)
    return VolumeAttachment.objects.create(
        volume=volume, instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED, is_shared=is_shared
    )


def test_volume_is_asked_for_made_and_removed(people, pool):
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=5, name="data", metadata={"a": "b"}))
    assert (volume.state, volume.pool, volume.project_id) == (VolumeState.CREATING, pool, people.member.project_id)
    assert promised(pool) == 5
    work = work_of(volume.pk)
    assert (work.kind, work.queue) == (VolumeWorkKind.VOLUME_CREATE, "compute.h1")
    work_done(volume.pk, location={"format": "raw"}, used_bytes=7)
    volume.refresh_from_db()
    assert (volume.state, volume.location, volume.used_bytes) == (VolumeState.AVAILABLE, {"format": "raw"}, 7)
    volume_delete(caller=people.member, volume_id=volume.pk)
    volume_delete(caller=people.member, volume_id=volume.pk)
    assert state(volume) == VolumeState.DELETING
    assert Work.objects.filter(subject=volume.pk, kind=VolumeWorkKind.VOLUME_DELETE).count() == 1
    assert promised(pool) == 5
    work_done(volume.pk)
    assert not Volume.objects.exists()
    assert promised(pool) == 0


def test_volume_that_could_not_be_made_says_why_and_goes_when_it_is_deleted(people, pool):
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=5))
    work_failed(volume.pk, "The disk is full.")
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.ERROR, "The disk is full.")
    assert promised(pool) == 5
    volume_delete(caller=people.member, volume_id=volume.pk)
    work_done(volume.pk)
    assert promised(pool) == 0


def test_volume_that_is_being_made_may_be_deleted_and_what_is_under_way_is_given_up(people, pool):
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=5))
    volume_delete(caller=people.member, volume_id=volume.pk)
    assert work_of(volume.pk).kind == VolumeWorkKind.VOLUME_DELETE
    work_done(volume.pk)
    assert not Volume.objects.exists()


@pytest.mark.parametrize("limits", [{"quota_volumes": 0}, {"quota_volume_gib": 4}])
def test_quota_refuses_and_leaves_nothing(people, pool, limits):
    Project.objects.filter(pk=people.member.project_id).update(**limits)
    with pytest.raises(QuotaExceeded):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=5))
    assert (Volume.objects.count(), Work.objects.count(), promised(pool)) == (0, 0, 0)


def test_pool_without_room_is_said_with_numbers_and_nothing_is_left(people, pool):
    with pytest.raises(NoValidBackend, match="1 pool: has less than 101 GiB free") as refused:
        volume_create(caller=people.member, request=VolumeRequest(size_gib=101))
    assert "shared" not in refused.value.message
    assert not refused.value.extra
    with pytest.raises(NoValidBackend, match="shared: wants 101 GiB, has 100 of 100 GiB free") as shown:
        volume_create(caller=people.admin, request=VolumeRequest(size_gib=101))
    assert shown.value.extra["pools"][0]["free"] == 100
    assert (Volume.objects.count(), VolumeKey.objects.count(), promised(pool)) == (0, 0, 0)


def test_pool_is_for_administrators_to_choose(people, pool):
    other = storage_pool("other", "h1")
    with pytest.raises(Forbidden):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=1, pool="other"))
    assert volume_create(caller=people.admin, request=VolumeRequest(size_gib=1, pool="other")).pool == other


def test_pool_whose_hosts_are_down_gets_no_volume(people, pool):
    service_force_down(host="h1", forced_down=True)
    with pytest.raises(NoValidBackend, match="down"):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    assert not Volume.objects.exists()


def test_type_says_where_and_what_a_volume_is(people, pool):
    VolumeType.objects.create(
        name="secret", is_encrypted=True, kinds=["rbd"], qos={"total_iops": 100}, qos_per_gib={"total_iops": 10}
    )
    with pytest.raises(NoValidBackend, match="is file, and volumes of type secret are rbd"):
        volume_create(caller=people.admin, request=VolumeRequest(size_gib=2, volume_type="secret"))
    ceph = storage_pool("ceph", "h1", kind=PoolKind.RBD)
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=2, volume_type="secret"))
    assert (volume.pool, volume.is_encrypted, volume.qos) == (ceph, True, {"total_iops": 120})
    assert len(volume_key_open(owner_id=volume.pk)) > 40
    volume_delete(caller=people.member, volume_id=volume.pk)
    work_done(volume.pk)
    assert not VolumeKey.objects.exists()


def test_default_type_is_taken_and_unknown_ones_are_refused(people, pool):
    fast = VolumeType.objects.create(name="fast", is_default=True, min_gib=2, is_multiattach=True)
    with pytest.raises(InvalidFields, match="at least 2"):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=2))
    assert (volume.volume_type, volume.is_multiattach) == (fast, True)
    with pytest.raises(VolumeTypeNotFound):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=2, volume_type="slow"))


def test_volume_of_an_image_is_bootable_and_large_enough(people, pool):
    image = Image.objects.get(name="demo")
    Image.objects.filter(pk=image.pk).update(min_disk_gib=3)
    asked = {"source_kind": VolumeSourceKind.IMAGE, "source_id": image.pk}
    with pytest.raises(InvalidFields, match="Image demo needs 3"):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=2, **asked))
    volume = volume_create(caller=people.member, request=VolumeRequest(**asked))
    assert (volume.size_gib, volume.is_bootable, volume.image["name"]) == (3, True, "demo")
    Image.objects.filter(pk=image.pk).update(visibility="private", project=people.stranger.project_id)
    with pytest.raises(Invalid, match="does not exist"):
        volume_create(caller=people.member, request=VolumeRequest(**asked))


def test_copies_are_in_the_pool_of_their_source_and_have_its_key(people, pool):
    secret = VolumeType.objects.create(name="secret", is_encrypted=True)
    plain = VolumeType.objects.create(name="plain")
    volume = volume_made(people.member, size_gib=4, volume_type="secret")
    storage_pool("larger", "h1", total_gib=1000)
    asked = {"source_kind": VolumeSourceKind.VOLUME, "source_id": volume.pk}
    with pytest.raises(Invalid, match="choose another type"):
        volume_create(caller=people.member, request=VolumeRequest(volume_type=plain.name, **asked))
    with pytest.raises(InvalidFields, match="needs 4"):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=3, **asked))
    copy = volume_create(caller=people.member, request=VolumeRequest(size_gib=6, **asked))
    assert (copy.pool, copy.volume_type, copy.size_gib) == (pool, secret, 6)
    assert volume_key_open(owner_id=copy.pk) == volume_key_open(owner_id=volume.pk)
    with pytest.raises(InvalidVolume, match="another volume is being made of it"):
        volume_delete(caller=people.member, volume_id=volume.pk)
    with pytest.raises(InvalidVolume, match="another volume is being made of it"):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    work_done(copy.pk)
    volume_delete(caller=people.member, volume_id=volume.pk)


def test_attached_volume_is_copied_only_where_the_pool_has_its_bytes_of_one_moment(people, pool):
    volume = volume_made(people.member)
    attached(volume)
    asked = VolumeRequest(source_kind=VolumeSourceKind.VOLUME, source_id=volume.pk)
    with pytest.raises(PoolCannot, match="make a snapshot of it"):
        volume_create(caller=people.member, request=asked)
    StoragePool.objects.filter(pk=pool.pk).update(kind=PoolKind.RBD)
    assert volume_create(caller=people.member, request=asked).state == VolumeState.CREATING


def test_nobody_else_sees_or_touches_it(people, pool):
    volume = volume_made(people.member)
    for ask in (
        lambda: volume_delete(caller=people.stranger, volume_id=volume.pk),
        lambda: volume_extend(caller=people.stranger, volume_id=volume.pk, size_gib=9),
        lambda: volume_update(caller=people.stranger, volume_id=volume.pk, changes={"name": "mine"}),
        lambda: volume_create(
            caller=people.stranger, request=VolumeRequest(source_kind=VolumeSourceKind.VOLUME, source_id=volume.pk)
        ),
    ):
        with pytest.raises(VolumeNotFound):
            ask()
    assert state(volume) == VolumeState.AVAILABLE


def test_volume_grows_with_its_claim_and_limits(people, pool):
    VolumeType.objects.create(
        name="fast", is_default=True, max_gib=20, qos={"read_iops": 5}, qos_per_gib={"read_iops": 1}
    )
    volume = volume_made(people.member, size_gib=5)
    with pytest.raises(InvalidFields, match="it only grows"):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=5)
    with pytest.raises(InvalidFields, match="at most 20"):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=21)
    after = volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    assert (after.state, after.size_gib, after.wanted_gib, promised(pool)) == (VolumeState.EXTENDING, 5, 9, 9)
    with pytest.raises(InvalidVolume):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=10)
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib, volume.wanted_gib) == (VolumeState.AVAILABLE, 9, 0)
    assert (volume.qos, promised(pool)) == ({"read_iops": 14}, 9)


def test_extending_that_failed_leaves_size_and_claim_of_before(people, pool):
    volume = volume_made(people.member, size_gib=5)
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    work_failed(volume.pk, "The disk is full.")
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib, volume.wanted_gib) == (VolumeState.ERROR_EXTENDING, 5, 0)
    assert (volume.fault, promised(pool)) == ("The disk is full.", 5)
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=7)
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib, volume.fault, promised(pool)) == (VolumeState.AVAILABLE, 7, "", 7)


def test_growth_over_quota_or_pool_changes_nothing(people, pool):
    volume = volume_made(people.member, size_gib=5)
    with pytest.raises(NoCapacity, match="has no room for 101 GiB") as refused:
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=101)
    assert "shared" not in refused.value.message
    Project.objects.filter(pk=people.member.project_id).update(quota_volume_gib=6)
    with pytest.raises(QuotaExceeded):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=7)
    volume.refresh_from_db()
    assert (volume.state, volume.wanted_gib, promised(pool)) == (VolumeState.AVAILABLE, 0, 5)


def test_attached_volume_grows_where_its_pool_can_and_stays_attached(people, pool):
    volume = volume_made(people.member, size_gib=5)
    attached(volume)
    StoragePool.objects.filter(pk=pool.pk).update(abilities=[])
    with pytest.raises(PoolCannot) as refused:
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    assert refused.value.extra["ability"] == PoolAbility.EXTEND_ATTACHED
    StoragePool.objects.filter(pk=pool.pk).update(abilities=[PoolAbility.EXTEND_ATTACHED.value])
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    work_failed(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib) == (VolumeState.IN_USE, 5)
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib) == (VolumeState.IN_USE, 9)


def test_what_an_instance_has_is_not_deleted_not_even_by_force(people, pool):
    volume = volume_made(people.member)
    row = attached(volume)
    for is_forced in (False, True):
        with pytest.raises(VolumeAttached) as refused:
            volume_delete(caller=people.admin, volume_id=volume.pk, is_forced=is_forced)
        assert refused.value.extra["instances"] == [str(row.instance_uuid)]


def test_snapshots_go_before_their_volume_where_that_is_asked(people, pool):
    volume = volume_made(people.member)
    first, second = snapshot_row(volume), snapshot_row(volume)
    with pytest.raises(VolumeHasSnapshots) as refused:
        volume_delete(caller=people.member, volume_id=volume.pk)
    assert refused.value.extra["snapshots"] == 2
    volume_delete(caller=people.member, volume_id=volume.pk, with_snapshots=True)
    assert not Work.objects.filter(subject=volume.pk, kind=VolumeWorkKind.VOLUME_DELETE).exists()
    work_done(first.pk)
    assert state(volume) == VolumeState.DELETING
    work_done(second.pk)
    work_done(volume.pk)
    assert not Volume.objects.exists()


def test_snapshot_that_stays_keeps_its_volume_from_going(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_row(volume)
    volume_delete(caller=people.member, volume_id=volume.pk, with_snapshots=True)
    work_failed(snapshot.pk, "It is read now.")
    volume.refresh_from_db()
    snapshot.refresh_from_db()
    assert (volume.state, snapshot.state) == (VolumeState.ERROR_DELETING, VolumeSnapshotState.ERROR_DELETING)
    assert "It is read now." in volume.fault
    volume_delete(caller=people.member, volume_id=volume.pk, with_snapshots=True)
    work_done(snapshot.pk)
    work_done(volume.pk)
    assert not Volume.objects.exists()


def test_deletion_waits_for_a_host_and_by_force_it_does_not(people, pool):
    volume = volume_made(people.member)
    service_force_down(host="h1", forced_down=True)
    volume_delete(caller=people.member, volume_id=volume.pk)
    volume.refresh_from_db()
    assert volume.state == VolumeState.DELETING
    assert "Try again later" in volume.fault
    with pytest.raises(Forbidden):
        volume_delete(caller=people.member, volume_id=volume.pk, is_forced=True)
    volume_delete(caller=people.admin, volume_id=volume.pk, is_forced=True)
    assert not Volume.objects.exists()
    assert promised(pool) == 0


def test_only_what_may_change_changes(people, pool):
    volume = volume_made(people.member)
    after = volume_update(
        caller=people.member,
        volume_id=volume.pk,
        changes={"name": "new", "metadata": {"k": "v"}, "is_bootable": True, "is_read_only": True},
    )
    assert (after.name, after.metadata, after.is_bootable, after.is_read_only) == ("new", {"k": "v"}, True, True)
    with pytest.raises(InvalidFields):
        volume_update(caller=people.member, volume_id=volume.pk, changes={"size_gib": 9})
    attached(volume)
    with pytest.raises(VolumeAttached):
        volume_update(caller=people.member, volume_id=volume.pk, changes={"is_read_only": False})
    volume_update(caller=people.member, volume_id=volume.pk, changes={"is_read_only": True, "description": "d"})


def test_state_is_written_by_hand_and_what_was_under_way_is_given_up(people, pool):
    volume = volume_made(people.member, size_gib=5)
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    after = volume_reset_state(volume_id=volume.pk, state=VolumeState.AVAILABLE)
    assert (after.state, after.wanted_gib, promised(pool)) == (VolumeState.AVAILABLE, 0, 5)
    assert not Work.objects.filter(subject=volume.pk, state="waiting").exists()
    with pytest.raises(InvalidFields):
        volume_reset_state(volume_id=volume.pk, state=VolumeState.CREATING)
    with pytest.raises(InvalidVolume, match="No instance has"):
        volume_reset_state(volume_id=volume.pk, state=VolumeState.IN_USE)
    attached(volume)
    with pytest.raises(VolumeAttached):
        volume_reset_state(volume_id=volume.pk, state=VolumeState.AVAILABLE)
    assert volume_reset_state(volume_id=volume.pk, state=VolumeState.ERROR).state == VolumeState.ERROR


def test_ends_that_come_too_late_change_nothing(people, pool):
    from computeagent.protocol.volumes import VolumeFacts
    from servers.volumes.services.work_ends import WORK_ENDS

    volume = volume_row(Project.objects.get(name="demo"), pool=pool)
    snapshot = snapshot_row(volume)
    for kind, ends in WORK_ENDS.items():
        for subject in (volume.pk, snapshot.pk, uuid.uuid4()):
            ends.done(subject=subject, facts=VolumeFacts(size_bytes=1))
            ends.failed(subject=subject, message=kind.value)
    volume.refresh_from_db()
    snapshot.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.AVAILABLE, "")
    assert (snapshot.state, snapshot.fault) == (VolumeSnapshotState.AVAILABLE, "")


def test_hosts_that_are_down_when_it_grows_refuse_it(people, pool):
    volume = volume_made(people.member, size_gib=5)
    service_force_down(host="h1", forced_down=True)
    with pytest.raises(PoolUnreachable):
        volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    assert (state(volume), promised(pool)) == (VolumeState.AVAILABLE, 5)
