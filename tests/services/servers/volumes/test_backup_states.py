"""What administrators do to backups whatever state they are in: a state is written by hand, and they go by force."""

import logging
import uuid
from collections.abc import Callable

import pytest

from controlplane.kernel.errors import Forbidden, InvalidFields
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.models import Volume, VolumeBackup, VolumeKey, VolumeSnapshot, VolumeType
from servers.volumes.backups.removal import backup_force_delete, backups_round
from servers.volumes.domain.errors import BackupNotFound, InvalidBackup
from servers.volumes.domain.states import BackupState, VolumeSnapshotState
from servers.volumes.services.backups import (
    BackupRequest,
    backup_create,
    backup_deletion_begin,
    backup_reset_state,
    backup_restore,
)
from tests.services.servers.volumes.test_volume_backups import (
    backed_up,
    sent,
    snapshots_gone,
    store,  # noqa: F401 - a fixture
    stored,
)
from tests.worlds.volumes import backup_row, volume_made, work_done, work_of

pytestmark = pytest.mark.django_db


def state(backup: VolumeBackup) -> str:
    return VolumeBackup.objects.get(pk=backup.pk).state


def test_what_is_under_way_for_a_backup_is_given_up(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk, keeps_snapshot=True))
    work_done(backup.snapshot_id)
    assert work_of(backup.pk)
    after = backup_reset_state(backup_id=backup.pk, state=BackupState.ERROR)
    assert (after.state, after.generation) == (BackupState.ERROR, backup.generation + 1)
    assert not Work.objects.filter(subject=backup.pk, state__in=OPEN_STATES).exists()
    snapshots_gone()
    backups_round()
    assert (state(backup), VolumeSnapshot.objects.count()) == (BackupState.ERROR, 0)
    with pytest.raises(InvalidBackup, match="has no bytes in the store") as refused:
        backup_reset_state(backup_id=backup.pk, state=BackupState.AVAILABLE)
    assert refused.value.extra["state"] == BackupState.ERROR


def test_a_backup_whose_snapshot_is_being_made_waits_for_it_no_more(people, pool):
    backup = backup_create(caller=people.member, request=BackupRequest(volume_made(people.member).pk))
    backup_reset_state(backup_id=backup.pk, state=BackupState.ERROR)
    assert VolumeSnapshot.objects.get().state == VolumeSnapshotState.DELETING
    snapshots_gone()
    assert state(backup) == BackupState.ERROR


def test_a_backup_that_has_its_bytes_is_made_available_again(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    work_done(backup.snapshot_id)
    sent(backup)
    after = backup_reset_state(backup_id=backup.pk, state=BackupState.AVAILABLE)
    assert (after.state, after.fault) == (BackupState.AVAILABLE, "")
    snapshots_gone()
    assert not VolumeSnapshot.objects.exists()
    VolumeBackup.objects.update(state=BackupState.ERROR, fault="Somebody doubted it.")
    assert backup_reset_state(backup_id=backup.pk, state=BackupState.AVAILABLE).fault == ""
    assert backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)


def test_the_snapshot_of_the_one_before_goes_as_it_would_have(people, pool):
    volume = volume_made(people.member)
    full = backed_up(people.member, volume, keeps_snapshot=True)
    request = BackupRequest(volume.pk, is_incremental=True, keeps_snapshot=True)
    increment = backup_create(caller=people.member, request=request)
    work_done(increment.snapshot_id)
    sent(increment)
    backup_reset_state(backup_id=increment.pk, state=BackupState.AVAILABLE)
    snapshots_gone()
    assert [row.pk for row in VolumeSnapshot.objects.all()] == [increment.snapshot_id]
    assert VolumeBackup.objects.get(pk=full.pk).snapshot_id is None


@pytest.mark.parametrize("wanted", [one for one in BackupState if one not in ("available", "error")])
def test_other_states_are_not_written_by_hand(people, pool, wanted):
    backup = backup_row(volume_made(people.member))
    with pytest.raises(InvalidFields) as refused:
        backup_reset_state(backup_id=backup.pk, state=wanted)
    assert list(refused.value.errors) == ["state"]
    assert state(backup) == BackupState.AVAILABLE


@pytest.mark.parametrize("wanted", [BackupState.AVAILABLE, BackupState.ERROR])
def test_what_is_being_deleted_stays_so(people, pool, wanted):
    backup = backup_row(volume_made(people.member), state=BackupState.DELETING)
    with pytest.raises(InvalidBackup, match="is being deleted"):
        backup_reset_state(backup_id=backup.pk, state=wanted)
    assert state(backup) == BackupState.DELETING


@pytest.mark.parametrize("before", list(BackupState))
def test_a_backup_goes_by_force_in_any_state(people, pool, before):
    VolumeType.objects.create(name="secret", is_encrypted=True)
    backup = backed_up(people.member, volume_made(people.member, volume_type="secret"))
    VolumeBackup.objects.update(state=before)
    backup_force_delete(caller=people.admin, backup_id=backup.pk)
    assert not VolumeBackup.objects.exists()
    assert not VolumeKey.objects.filter(owner_id=backup.pk).exists()
    assert stored(backup) == 0


def test_only_administrators_force_and_only_what_they_know_of(people, pool):
    backup = backup_row(volume_made(people.member), state=BackupState.ERROR_DELETING)
    for caller in (people.member, people.reader, people.stranger):
        with pytest.raises(Forbidden):
            backup_force_delete(caller=caller, backup_id=backup.pk)
    for unknown in (
        lambda: backup_force_delete(caller=people.admin, backup_id=uuid.uuid4()),
        lambda: backup_reset_state(backup_id=uuid.uuid4(), state=BackupState.ERROR),
    ):
        with pytest.raises(BackupNotFound):
            unknown()
    assert state(backup) == BackupState.ERROR_DELETING


def _rested_on(people, backup: VolumeBackup) -> None:
    backup_row(Volume.objects.get(pk=backup.volume_id), parent=backup)


def _restored(people, backup: VolumeBackup) -> None:
    backup_restore(caller=people.member, backup_id=backup.pk, volume_id=backup.volume_id)


@pytest.mark.parametrize(
    ("need", "said"), [(_rested_on, "have only what changed since"), (_restored, "is being restored from backup")]
)
def test_force_takes_no_bytes_that_something_needs(people, pool, need: Callable[..., None], said: str):
    backup = backup_row(volume_made(people.member))
    need(people, backup)
    with pytest.raises(InvalidBackup, match=said):
        backup_force_delete(caller=people.admin, backup_id=backup.pk)
    assert state(backup) == BackupState.AVAILABLE


def test_where_the_store_does_not_answer_the_row_goes_alone(people, pool, settings, caplog):
    backup = backed_up(people.member, volume_made(people.member))
    own = settings.KILONOVA
    settings.KILONOVA = {**own, "IMAGE_STORE": "s3"}  # which is not set up
    VolumeBackup.objects.update(state=BackupState.DELETING)
    assert backups_round() == 0
    assert state(backup) == BackupState.DELETING
    with caplog.at_level(logging.WARNING):
        backup_force_delete(caller=people.admin, backup_id=backup.pk)
    assert not VolumeBackup.objects.exists()
    assert f"backup {backup.pk} was deleted by force without its bytes" in caplog.text
    settings.KILONOVA = own
    assert stored(backup) == 1


def test_killed_between_its_two_steps_it_is_an_ordinary_deletion(people, pool):
    backup = backed_up(people.member, volume_made(people.member))
    VolumeBackup.objects.update(state=BackupState.ERROR_DELETING)
    backup_deletion_begin(backup_id=backup.pk, is_forced=True)
    assert backups_round() == 1
    assert (VolumeBackup.objects.count(), stored(backup)) == (0, 0)
