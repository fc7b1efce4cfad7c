"""Backups of volumes: asked for, of snapshots, by what changed, deleted, cut off, and what one may see of another."""

import hashlib
import os
import uuid

import pytest

from computeagent.protocol.volumes import PoolAbility, VolumeSourceKind, VolumeWorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Invalid, InvalidFields, QuotaExceeded
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.agent_api.volume_orders import backups_read
from servers.agent_api.volumes import backup_of_volume_work
from servers.images.services.image_store import image_files_sweep
from servers.images.services.pieces import pieces_begin, pieces_end, pieces_take
from servers.images.stores.chosen import byte_store
from servers.models import StoragePool, Volume, VolumeBackup, VolumeKey, VolumeSnapshot, VolumeType
from servers.volumes.backups.incoming import IncomingBackup
from servers.volumes.backups.reading import backup_chunks
from servers.volumes.backups.removal import backups_round
from servers.volumes.domain.backups import MAX_COMPARED
from servers.volumes.domain.errors import (
    BackupNotFound,
    InvalidBackup,
    InvalidSnapshot,
    InvalidVolume,
    NoBackupBase,
    PoolCannot,
    VolumeHasSnapshots,
    VolumeNotFound,
)
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.backups import (
    BackupRequest,
    backup_create,
    backup_delete,
    backup_restore,
    backup_update,
)
from servers.volumes.services.snapshots import snapshot_delete
from servers.volumes.services.volumes import volume_create, volume_delete, volume_revert
from tests.worlds.volumes import snapshot_made, volume_made, work_done, work_failed, work_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    """The store is this test's own."""
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


def sent(backup: VolumeBackup, data: bytes = b"bytes of a volume") -> None:
    """As its host sends them."""
    row, store = IncomingBackup(backup.pk), byte_store()
    place = pieces_begin(store, row, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    offset = place.offset
    while offset < len(data):
        offset = pieces_take(store, row, offset=offset, data=data[offset : offset + place.piece_bytes])
    pieces_end(store, row)


def backed_up(caller, volume, **fields) -> VolumeBackup:
    backup = backup_create(caller=caller, request=BackupRequest(volume.pk, **fields))
    if backup.owns_snapshot:
        work_done(backup.snapshot_id)
    sent(backup)
    work_done(backup.pk)
    return VolumeBackup.objects.get(pk=backup.pk)


def stored(backup: VolumeBackup) -> int:
    return len(list(byte_store().stored(backup.pk)))


def snapshots_gone() -> None:
    for snapshot in VolumeSnapshot.objects.filter(state=VolumeSnapshotState.DELETING):
        work_done(snapshot.pk)


def test_backup_is_of_a_snapshot_that_is_made_for_it_and_goes(people, pool):
    volume = volume_made(people.member, size_gib=5, name="data")
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk, name="monday"))
    assert (backup.state, backup.size_gib, backup.volume_name) == (BackupState.CREATING, 5, "data")
    snapshot = VolumeSnapshot.objects.get()
    assert snapshot.name == "for backup monday"
    assert not Work.objects.filter(subject=backup.pk).exists()
    work_done(snapshot.pk, is_consistent=True)
    work = work_of(backup.pk)
    assert work.kind == VolumeWorkKind.VOLUME_BACKUP_CREATE
    assert work.arguments["snapshot_id"] == str(snapshot.pk)
    with pytest.raises(InvalidSnapshot, match="a backup is being made of it"):
        snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    sent(backup)
    work_done(backup.pk)
    backup.refresh_from_db()
    assert (backup.state, backup.is_consistent, backup.size_bytes) == (BackupState.AVAILABLE, True, 17)
    assert b"".join(backup_chunks(backup.pk)) == b"bytes of a volume"
    snapshots_gone()
    assert not VolumeSnapshot.objects.exists()
    volume_delete(caller=people.member, volume_id=volume.pk)
    work_done(volume.pk)
    assert VolumeBackup.objects.filter(pk=backup.pk, state=BackupState.AVAILABLE).exists()


def test_increments_rest_on_each_other_and_go_in_order(people, pool):
    volume = volume_made(people.member)
    with pytest.raises(NoBackupBase, match="Make a full one first"):
        backup_create(caller=people.member, request=BackupRequest(volume.pk, is_incremental=True))
    full = backed_up(people.member, volume, is_incremental=True, full_after=2, keeps_snapshot=True)
    assert full.parent is None
    first = backup_create(
        caller=people.member,
        request=BackupRequest(volume.pk, is_incremental=True, full_after=2, keeps_snapshot=True),
    )
    work_done(first.snapshot_id)
    assert work_of(first.pk).arguments["since_snapshot_id"] == str(full.snapshot_id)
    sent(first)
    work_done(first.pk)
    snapshots_gone()
    assert [row.pk for row in VolumeSnapshot.objects.all()] == [first.snapshot_id]  # no later one needs the other
    second = backed_up(people.member, volume, is_incremental=True, full_after=2, keeps_snapshot=True)
    assert second.parent_id == first.pk
    assert backed_up(people.member, volume, is_incremental=True, full_after=2).parent is None
    for row in (full, first):
        with pytest.raises(InvalidBackup, match="1 backups have only what changed since"):
            backup_delete(caller=people.member, backup_id=row.pk)
    for row in (second, first, full):
        backup_delete(caller=people.member, backup_id=row.pk)
        backup_delete(caller=people.member, backup_id=row.pk)
        assert backups_round() == 1
        assert stored(row) == 0
    snapshots_gone()
    assert not VolumeSnapshot.objects.exists()


def test_an_increment_right_after_a_full_one_whose_snapshot_went_rests_on_its_bytes(people, pool):
    volume = volume_made(people.member)
    full = backed_up(people.member, volume)
    snapshots_gone()
    increment = backup_create(caller=people.member, request=BackupRequest(volume.pk, is_incremental=True))
    assert increment.parent_id == full.pk
    work_done(increment.snapshot_id)
    work, snapshot_id = work_of(increment.pk), increment.snapshot_id
    assert work.arguments["since_snapshot_id"] not in {"", str(snapshot_id)}  # an older host finds none, and says so
    assert [row.pk for row in backups_read(work, volume)] == [full.pk]
    held = WorkLease(work.pk, work.attempt, work.kind, work.subject)
    other = backed_up(people.member, volume_made(people.member))
    assert backup_of_volume_work(held, str(full.pk)) == full.pk
    assert backup_of_volume_work(held, str(other.pk)) is None
    with pytest.raises(InvalidBackup, match="1 backups have only what changed since"):
        backup_delete(caller=people.member, backup_id=full.pk)


def test_a_chain_that_is_too_long_to_be_compared_begins_anew(people, pool):
    volume = volume_made(people.member)
    row = backed_up(people.member, volume)
    for _ in range(MAX_COMPARED - 1):
        parent, row = row, backed_up(people.member, volume, is_incremental=True)
        assert row.parent_id == parent.pk
    assert backed_up(people.member, volume, is_incremental=True).parent is not None
    assert backed_up(people.member, volume, is_incremental=True).parent is None


def test_a_snapshot_that_goes_meanwhile_is_not_missed(people, pool):
    """The base's snapshot is deleted by force between the request and the work: bytes tell what changed."""
    volume = volume_made(people.member)
    full = backed_up(people.member, volume, keeps_snapshot=True)
    increment = backup_create(caller=people.member, request=BackupRequest(volume.pk, is_incremental=True))
    VolumeSnapshot.objects.filter(pk=full.snapshot_id).delete()
    work_done(increment.snapshot_id)
    assert [row.pk for row in backups_read(work_of(increment.pk), volume)] == [full.pk]


def test_an_older_snapshot_of_a_user_is_compared_with_the_last_backup(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    full = backed_up(people.member, volume, keeps_snapshot=True)
    request = BackupRequest(volume.pk, snapshot_id=snapshot.pk, is_incremental=True)
    increment = backup_create(caller=people.member, request=request)
    assert increment.parent_id == full.pk
    assert [row.pk for row in backups_read(work_of(increment.pk), volume)] == [full.pk]


def test_a_snapshot_that_a_backup_keeps_is_in_nobodys_way(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    kept = backed_up(people.member, volume, keeps_snapshot=True)
    volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    work_done(volume.pk)
    with pytest.raises(VolumeHasSnapshots, match="has 1 snapshots"):
        volume_delete(caller=people.member, volume_id=volume.pk)
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    work_done(snapshot.pk)
    creating = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(creating.snapshot_id)
    with pytest.raises(InvalidSnapshot, match="a backup is being made of it"):
        volume_delete(caller=people.member, volume_id=volume.pk)
    backup_delete(caller=people.member, backup_id=creating.pk)
    snapshots_gone()
    volume_delete(caller=people.member, volume_id=volume.pk)
    snapshots_gone()
    work_done(volume.pk)
    assert not Volume.objects.exists()
    assert not VolumeSnapshot.objects.exists()
    assert VolumeBackup.objects.get(pk=kept.pk).state == BackupState.AVAILABLE


def test_pool_that_cannot_tell_what_changed_says_so(people, pool):
    volume = volume_made(people.member)
    StoragePool.objects.update(abilities=[PoolAbility.SNAPSHOT_ATTACHED.value])
    with pytest.raises(PoolCannot, match="be backed up by what changed"):
        backup_create(caller=people.member, request=BackupRequest(volume.pk, is_incremental=True))


def test_backup_of_a_users_own_snapshot_leaves_it_there(people, pool):
    volume, other = volume_made(people.member), volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    with pytest.raises(InvalidFields):
        backup_create(caller=people.member, request=BackupRequest(other.pk, snapshot_id=snapshot.pk))
    full = backed_up(people.member, volume, snapshot_id=snapshot.pk)
    assert (full.state, full.snapshot_id) == (BackupState.AVAILABLE, snapshot.pk)
    assert VolumeSnapshot.objects.get().state == VolumeSnapshotState.AVAILABLE
    increment = backed_up(people.member, volume, is_incremental=True)
    assert increment.parent_id == full.pk


def test_what_fails_says_so_and_leaves_nothing_but_its_row(people, pool):
    volume = volume_made(people.member)
    without = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_failed(without.snapshot_id, "The disk is full.")
    without.refresh_from_db()
    assert (without.state, without.fault) == (BackupState.ERROR, "The disk is full.")
    failed = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(failed.snapshot_id)
    work_failed(failed.pk, "The store is full.")
    failed.refresh_from_db()
    assert (failed.state, failed.fault) == (BackupState.ERROR, "The store is full.")
    lying = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(lying.snapshot_id)
    work_done(lying.pk)  # without any bytes
    lying.refresh_from_db()
    assert lying.state == BackupState.ERROR
    snapshots_gone()
    for row in (without, failed, lying):
        backup_delete(caller=people.member, backup_id=row.pk)
    assert backups_round() == 3
    assert not VolumeSnapshot.objects.exclude(state=VolumeSnapshotState.DELETING).exclude(state="error").exists()


def test_other_bytes_than_announced_begin_anew(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(backup.snapshot_id)
    row, store = IncomingBackup(backup.pk), byte_store()
    pieces_begin(store, row, size_bytes=4, sha256=hashlib.sha256(b"said").hexdigest())
    pieces_take(store, row, offset=0, data=b"came")
    with pytest.raises(Invalid, match="not those that were announced"):
        pieces_end(store, row)
    assert stored(backup) == 0
    sent(backup)
    assert stored(backup) == 1
    with pytest.raises(Invalid, match="has its data already"):
        pieces_begin(store, row, size_bytes=4, sha256=hashlib.sha256(b"said").hexdigest())


def test_deleted_while_it_is_sent_it_takes_no_more(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(backup.snapshot_id)
    row, store = IncomingBackup(backup.pk), byte_store()
    pieces_begin(store, row, size_bytes=4, sha256=hashlib.sha256(b"said").hexdigest())
    backup_delete(caller=people.member, backup_id=backup.pk)
    with pytest.raises(Invalid):
        pieces_take(store, row, offset=0, data=b"said")
    assert not Work.objects.filter(subject=backup.pk, state__in=["waiting", "running"]).exists()
    backups_round()
    assert stored(backup) == 0
    assert not VolumeBackup.objects.exists()


def test_clean_up_of_the_store_knows_backups(people, pool, tmp_path):
    volume = volume_made(people.member)
    done = backed_up(people.member, volume)
    cut = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(cut.snapshot_id)
    pieces_begin(byte_store(), IncomingBackup(cut.pk), size_bytes=4, sha256=hashlib.sha256(b"said").hexdigest())
    for path in (tmp_path / "images").iterdir():
        os.utime(path, (0, 0))
    assert image_files_sweep() == 1
    assert (stored(done), stored(cut)) == (1, 0)
    sent(cut)


def test_what_stood_still_goes_on(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(backup.snapshot_id)
    Work.objects.filter(subject=backup.pk).delete()  # as where no host reached the pool at that moment
    backups_round()
    assert work_of(backup.pk)
    backups_round()
    assert work_of(backup.pk)


def test_restored_volume_asks_for_the_whole_chain(people, pool):
    volume = volume_made(people.member, size_gib=3)
    full = backed_up(people.member, volume, keeps_snapshot=True)
    increment = backed_up(people.member, volume, is_incremental=True)
    restored = volume_create(
        caller=people.member, request=VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=increment.pk)
    )
    assert restored.size_gib == 3
    with pytest.raises(InvalidBackup, match="A volume is being made of backup"):
        backup_delete(caller=people.member, backup_id=increment.pk)
    assert [row.pk for row in backups_read(work_of(restored.pk), restored)] == [full.pk, increment.pk]


def test_volume_that_is_there_gets_the_bytes_of_a_backup(people, pool):
    volume, small = volume_made(people.member, size_gib=3), volume_made(people.member, size_gib=1)
    backup = backed_up(people.member, volume)
    snapshots_gone()
    with pytest.raises(InvalidVolume, match=r"has 1 GiB, and backup .* is of 3"):
        backup_restore(caller=people.member, backup_id=backup.pk, volume_id=small.pk)
    with pytest.raises(BackupNotFound):
        backup_restore(caller=people.stranger, backup_id=backup.pk, volume_id=volume.pk)
    row = backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)
    assert row.state == VolumeState.RESTORING
    assert [one.pk for one in backups_read(work_of(volume.pk), row)] == [backup.pk]
    with pytest.raises(InvalidVolume, match="is restoring-backup"):
        backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)
    with pytest.raises(InvalidBackup, match="is being restored"):
        backup_delete(caller=people.member, backup_id=backup.pk)
    work_failed(volume.pk, "The store is away.")
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.ERROR_RESTORING, "The store is away.")
    backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.AVAILABLE, "")
    backup_delete(caller=people.member, backup_id=backup.pk)


def test_encrypted_volume_takes_back_only_what_its_key_opens(people, pool):
    VolumeType.objects.create(name="secret", is_encrypted=True)
    volume, other = (volume_made(people.member, volume_type="secret") for _ in range(2))
    plain, backup = volume_made(people.member), backed_up(people.member, volume)
    for wrong in (other, plain):
        with pytest.raises(InvalidVolume, match="is not encrypted as backup"):
            backup_restore(caller=people.member, backup_id=backup.pk, volume_id=wrong.pk)
    assert backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)


def test_encrypted_backup_has_the_key_that_outlives_its_volume(people, pool):
    encrypted = VolumeType.objects.create(name="secret", is_encrypted=True)
    volume = volume_made(people.member, volume_type="secret")
    backup = backed_up(people.member, volume)
    assert backup.is_encrypted
    assert VolumeKey.objects.filter(owner_id=backup.pk).exists()
    snapshots_gone()
    volume_delete(caller=people.member, volume_id=volume.pk)
    work_done(volume.pk)
    request = VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk, volume_type=str(encrypted.pk))
    restored = volume_create(caller=people.member, request=request)
    assert VolumeKey.objects.filter(owner_id=restored.pk).exists()
    work_done(restored.pk)
    backup_delete(caller=people.member, backup_id=backup.pk)
    backups_round()
    assert not VolumeKey.objects.filter(owner_id=backup.pk).exists()


def test_restored_without_a_word_it_is_of_the_type_that_its_volume_had(people, pool):
    secret = VolumeType.objects.create(name="secret", is_encrypted=True)
    backup = backed_up(people.member, volume_made(people.member, volume_type="secret"))
    request = VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk)
    restored = volume_create(caller=people.member, request=request)
    assert (restored.volume_type, restored.is_encrypted) == (secret, True)
    VolumeBackup.objects.update(volume_type=None)  # one of before, or of a type that was removed
    with pytest.raises(Invalid, match="is encrypted, and volumes without a type are not"):
        volume_create(
            caller=people.member, request=VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk)
        )


@pytest.mark.parametrize("limits", [{"quota_volume_backups": 0}, {"quota_volume_backup_gib": 4}])
def test_quota_counts_backups_and_their_gib(people, pool, limits):
    volume = volume_made(people.member, size_gib=5)
    Project.objects.filter(pk=people.member.project_id).update(**limits)
    with pytest.raises(QuotaExceeded):
        backup_create(caller=people.member, request=BackupRequest(volume.pk))
    assert not VolumeBackup.objects.exists()
    assert not VolumeSnapshot.objects.exists()


def test_strangers_know_of_no_backup(people, pool):
    volume = volume_made(people.member)
    backup = backed_up(people.member, volume)
    with pytest.raises(VolumeNotFound):
        backup_create(caller=people.stranger, request=BackupRequest(volume.pk))
    for call in (
        lambda: backup_update(caller=people.stranger, backup_id=backup.pk, changes={"name": "x"}),
        lambda: backup_delete(caller=people.stranger, backup_id=backup.pk),
        lambda: volume_create(
            caller=people.stranger, request=VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk)
        ),
    ):
        with pytest.raises(BackupNotFound):
            call()
    with pytest.raises(InvalidFields):
        backup_update(caller=people.member, backup_id=backup.pk, changes={"state": "error"})
    assert backup_update(caller=people.member, backup_id=backup.pk, changes={"name": "new"}).name == "new"
    assert uuid.UUID(str(Volume.objects.get(pk=volume.pk).pk)) == backup.volume_id
