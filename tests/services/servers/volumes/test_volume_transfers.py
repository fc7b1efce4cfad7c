"""Volumes that go to another project: by a word that is shown once, until the offer is over."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, QuotaExceeded
from placement.selectors.allocations import consumer_holdings
from servers.models import StoragePool, Volume, VolumeBackup, VolumeSnapshot, VolumeTransfer, VolumeType
from servers.volumes.domain.errors import (
    InvalidAuthKey,
    InvalidSnapshot,
    InvalidVolume,
    NoBackupBase,
    TransferNotFound,
    VolumeHasSnapshots,
    VolumeNotFound,
    VolumeTypeNotFound,
)
from servers.volumes.domain.states import BackupState, VolumeState
from servers.volumes.services.backups import BackupRequest, backup_create, backup_delete
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create
from servers.volumes.services.transfers import transfer_accept, transfer_create, transfer_delete, transfers_sweep
from servers.volumes.services.volumes import volume_delete, volume_reset_state
from tests.worlds.cloud import People
from tests.worlds.volumes import snapshot_made, volume_made, work_done

pytestmark = pytest.mark.django_db


def test_volume_goes_with_its_snapshots_and_claims_to_who_knows_the_word(people, pool):
    StoragePool.objects.update(abilities=[])
    volume = volume_made(people.member, size_gib=3)
    snapshot = snapshot_made(people.member, volume)
    offer = transfer_create(caller=people.member, volume_id=volume.pk, name="for you")
    volume.refresh_from_db()
    assert volume.state == VolumeState.AWAITING_TRANSFER
    assert offer.word not in str(VolumeTransfer.objects.values())
    with pytest.raises(InvalidVolume):
        volume_delete(caller=people.member, volume_id=volume.pk, with_snapshots=True)
    with pytest.raises(InvalidAuthKey):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word="guess")
    after = transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    assert (after.project_id, after.user_id) == (people.stranger.project_id, people.stranger.user_id)
    assert after.state == VolumeState.AVAILABLE
    assert VolumeSnapshot.objects.get(pk=snapshot.pk).project_id == people.stranger.project_id
    for consumer in (volume.pk, snapshot.pk):
        holdings = consumer_holdings(consumer)
        assert holdings is not None
        assert holdings.project_id == str(people.stranger.project_id)
    with pytest.raises(TransferNotFound):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    with pytest.raises(VolumeNotFound):
        volume_delete(caller=people.member, volume_id=volume.pk)


def test_offer_is_of_what_nobody_has_or_copies(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    with pytest.raises(InvalidSnapshot, match="is creating"):
        transfer_create(caller=people.member, volume_id=volume.pk)
    work_done(snapshot.pk)
    with pytest.raises(VolumeHasSnapshots):
        transfer_create(caller=people.member, volume_id=volume.pk, has_snapshots=False)
    with pytest.raises(VolumeNotFound):
        transfer_create(caller=people.stranger, volume_id=volume.pk)
    transfer_create(caller=people.member, volume_id=volume.pk)
    with pytest.raises(InvalidVolume):
        transfer_create(caller=people.member, volume_id=volume.pk)


def test_who_takes_it_needs_quota_and_the_type(people, pool):
    VolumeType.objects.create(name="ours", is_public=False)
    volume = volume_made(people.admin, size_gib=3, volume_type="ours")
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    with pytest.raises(VolumeTypeNotFound):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    VolumeType.objects.update(is_public=True)
    Project.objects.filter(pk=people.stranger.project_id).update(quota_volume_gib=2)
    with pytest.raises(QuotaExceeded):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    with pytest.raises(Conflict, match="already"):
        transfer_accept(caller=people.member, transfer_id=offer.transfer.pk, word=offer.word)
    assert VolumeTransfer.objects.count() == 1


def test_offer_is_taken_back_by_its_owner(people, pool):
    volume = volume_made(people.member)
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    with pytest.raises(TransferNotFound):
        transfer_delete(caller=people.stranger, transfer_id=offer.transfer.pk)
    transfer_delete(caller=people.member, transfer_id=offer.transfer.pk)
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE
    with pytest.raises(TransferNotFound):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)


def test_state_that_is_written_by_hand_ends_the_offer(people, pool):
    volume = volume_made(people.member)
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    volume_reset_state(volume_id=volume.pk, state=VolumeState.AVAILABLE)
    with pytest.raises(TransferNotFound):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)


def test_offer_that_is_over_is_nobodys_and_frees_its_volume(people, pool):
    volume = volume_made(people.member)
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    assert transfers_sweep() == 0
    VolumeTransfer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(TransferNotFound):
        transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    assert (transfers_sweep(), transfers_sweep()) == (1, 0)
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE


def given(volume: Volume, people: People) -> Volume:
    """The member's volume goes to the stranger's project."""
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    return transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)


def backed_up(caller: Caller, volume: Volume, **fields: Any) -> VolumeBackup:
    backup = backup_create(caller=caller, request=BackupRequest(volume.pk, **fields))
    assert backup.snapshot_id is not None
    work_done(backup.snapshot_id)
    VolumeBackup.objects.filter(pk=backup.pk).update(has_bytes=True)
    work_done(backup.pk)
    return VolumeBackup.objects.get(pk=backup.pk)


def test_backups_of_the_project_before_are_no_base_of_the_next_ones(people, pool):
    volume = volume_made(people.member)
    before = backed_up(people.member, volume, keeps_snapshot=True)
    given(volume, people)
    with pytest.raises(NoBackupBase):
        backup_create(caller=people.stranger, request=BackupRequest(volume.pk, is_incremental=True))
    after = backed_up(people.stranger, volume, is_incremental=True, full_after=5, keeps_snapshot=True)
    assert after.parent is None
    second = backed_up(people.stranger, volume, is_incremental=True, keeps_snapshot=True)
    assert second.parent_id == after.pk
    backup_delete(caller=people.member, backup_id=before.pk)
    assert VolumeBackup.objects.get(pk=before.pk).state == BackupState.DELETING


def test_snapshot_of_a_backup_is_its_new_owners_after_a_transfer(people, pool):
    volume = volume_made(people.member)
    before = backed_up(people.member, volume, keeps_snapshot=True)
    given(volume, people)
    # An increment of a release that did not look whose the last backup was.
    later = backup_create(caller=people.stranger, request=BackupRequest(volume.pk, keeps_snapshot=True))
    VolumeBackup.objects.filter(pk=later.pk).update(parent=before, has_bytes=True)
    work_done(later.snapshot_id)
    work_done(later.pk)
    assert VolumeBackup.objects.get(pk=before.pk).keeps_snapshot
    backup_delete(caller=people.stranger, backup_id=later.pk)
    VolumeBackup.objects.filter(pk=later.pk).delete()
    backup_delete(caller=people.member, backup_id=before.pk)
    left = VolumeSnapshot.objects.get(pk=before.snapshot_id)
    assert (left.state, left.project_id) == ("available", people.stranger.project_id)
    assert VolumeBackup.objects.get(pk=before.pk).snapshot_id is None
    with pytest.raises(VolumeHasSnapshots):
        volume_delete(caller=people.stranger, volume_id=volume.pk)
