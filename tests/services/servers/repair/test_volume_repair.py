"""Volumes that stand still are ended, and the audit says what does not agree."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.work.models import Heal, Work
from placement.services import allocations_free
from scheduling.fleet.services.service_states import service_force_down
from servers.models import (
    StoragePool,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeKey,
    VolumeSnapshot,
    VolumeTransfer,
)
from servers.repair.services.audit import audit_findings
from servers.repair.services.volume_audit import MAX_UNREADABLE
from servers.repair.services.volume_heal import stuck_volumes_heal
from servers.volumes.backups.removal import backups_round
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.backups import BackupRequest, backup_create, backup_restore
from servers.volumes.services.claims import volume_claim_resize
from servers.volumes.services.keys import volume_key_make
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete
from servers.volumes.services.transfers import transfer_create
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend, volume_revert
from tests.worlds.cloud import People
from tests.worlds.volumes import (
    backup_row,
    promised,
    small_cloud,
    snapshot_made,
    storage_pool,
    volume_made,
    volume_row,
    work_done,
    work_of,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> People:
    return small_cloud("h1")


@pytest.fixture
def pool(people) -> StoragePool:
    return storage_pool("shared", "h1")


def work_lost() -> None:
    """Somebody removed the rows of work, a while ago."""
    Work.objects.all().delete()
    long_ago = timezone.now() - timedelta(minutes=5)
    Volume.objects.update(updated_at=long_ago)
    VolumeSnapshot.objects.update(updated_at=long_ago)
    VolumeBackup.objects.update(updated_at=long_ago)


def said() -> list[str]:
    return [one.message for one in audit_findings()]


def test_each_transient_state_without_work_is_ended_once(people, pool):
    creating = volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    extending, reverting, deleting, copied = (volume_made(people.member, size_gib=2) for _ in range(4))
    newest = snapshot_made(people.member, reverting)
    volume_extend(caller=people.member, volume_id=extending.pk, size_gib=9)
    volume_revert(caller=people.member, volume_id=reverting.pk, snapshot_id=newest.pk)
    volume_delete(caller=people.member, volume_id=deleting.pk)
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(copied.pk))
    assert (stuck_volumes_heal(), said()) == (0, [])
    work_lost()
    assert sorted({message.partition(" and")[0] for message in said()}) == [
        "is creating",
        "is extending",
        "is reverting",
    ]
    assert stuck_volumes_heal() == 5
    assert stuck_volumes_heal() == 0
    states = dict(Volume.objects.values_list("pk", "state"))
    assert states == {
        creating.pk: "error",
        extending.pk: "error_extending",
        reverting.pk: "error",
        deleting.pk: "deleting",
        copied.pk: "available",
    }
    assert VolumeSnapshot.objects.get(pk=snapshot.pk).state == "error"
    assert Volume.objects.get(pk=extending.pk).fault == "Nobody worked on it any more."
    assert promised(pool) == 9
    work_done(deleting.pk)
    assert said() == []
    assert Heal.objects.filter(kind="stuck_volume").count() == 5


def test_restoring_that_nobody_does_is_ended_and_may_be_done_again(people, pool):
    volume = volume_made(people.member)
    backup = backup_row(volume)
    backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)
    assert (stuck_volumes_heal(), said()) == (0, [])
    work_lost()
    assert said() == ["is restoring-backup and nobody works on it"]
    assert (stuck_volumes_heal(), stuck_volumes_heal()) == (1, 0)
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == ("error_restoring", "Nobody worked on it any more.")
    assert (said(), Heal.objects.get().kind) == ([], "stuck_volume")
    backup_restore(caller=people.member, backup_id=backup.pk, volume_id=volume.pk)
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == ("available", "")


def test_backup_of_a_snapshot_that_nobody_makes_is_begun_again(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk, snapshot_id=snapshot.pk))
    assert (stuck_volumes_heal(), said()) == (0, [])
    work_lost()
    assert said() == ["is creating and nobody works on it"]
    service_force_down(host="h1", forced_down=True)
    assert stuck_volumes_heal() == 0
    assert "Try again later." in VolumeBackup.objects.get().fault
    service_force_down(host="h1", forced_down=False)
    assert (stuck_volumes_heal(), stuck_volumes_heal(), said()) == (1, 0, [])
    assert work_of(backup.pk).arguments["snapshot_id"] == str(snapshot.pk)
    assert Heal.objects.get().subject == backup.pk
    VolumeBackup.objects.update(has_bytes=True)
    work_done(backup.pk)
    backup.refresh_from_db()
    assert (backup.state, backup.fault) == ("available", "")


def test_backup_that_nobody_makes_fails_with_its_snapshot(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    backup_create(caller=people.member, request=BackupRequest(volume.pk, snapshot_id=snapshot.pk))
    work_lost()
    VolumeSnapshot.objects.all().delete()
    assert (stuck_volumes_heal(), stuck_volumes_heal()) == (1, 0)
    backup = VolumeBackup.objects.get()
    assert (backup.state, backup.fault) == ("error", "Its snapshot is gone.")


def test_backup_that_waits_for_its_snapshot_is_sound(people, pool):
    volume = volume_made(people.member)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    VolumeBackup.objects.update(updated_at=timezone.now() - timedelta(minutes=5))
    assert (stuck_volumes_heal(), said()) == (0, [])
    work_done(backup.snapshot_id)
    assert work_of(backup.pk).kind == "volume_backup_create"
    work_lost()
    assert said() == ["is creating and nobody works on it"]
    backups_round()
    assert work_of(backup.pk).kind == "volume_backup_create"
    assert said() == []


def test_deletion_goes_on_when_a_host_is_there_again(people, pool):
    volume = volume_made(people.member)
    snapshot = snapshot_made(people.member, volume)
    service_force_down(host="h1", forced_down=True)
    volume_delete(caller=people.member, volume_id=volume.pk, with_snapshots=True)
    work_lost()
    assert (stuck_volumes_heal(), said()) == (0, [])
    service_force_down(host="h1", forced_down=False)
    assert stuck_volumes_heal() == 1
    work_done(snapshot.pk)
    work_done(volume.pk)
    assert not Volume.objects.exists()


def test_volume_of_an_instance_that_is_gone_is_removed(people, pool):
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    gone = uuid.uuid4()
    Volume.objects.update(instance_uuid=gone)
    VolumeAttachment.objects.create(volume=volume, instance_uuid=gone)
    work_lost()
    assert stuck_volumes_heal() == 1
    assert work_of(volume.pk).kind == "volume_delete"


def test_snapshot_whose_deletion_was_lost_is_deleted(people, pool):
    snapshot = snapshot_made(people.member, volume_made(people.member))
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    work_lost()
    assert stuck_volumes_heal() == 1
    work_done(snapshot.pk)
    assert not VolumeSnapshot.objects.exists()


def test_audit_says_what_does_not_agree(people, pool):
    sound, unclaimed, oversized, attached, free, offered, secret = (volume_made(people.member) for _ in range(7))
    volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    assert said() == []
    allocations_free([unclaimed.pk])
    volume_claim_resize(volume=oversized, size_gib=5)
    VolumeAttachment.objects.create(volume=attached, instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED)
    Volume.objects.filter(pk=free.pk).update(state=VolumeState.IN_USE)
    transfer_create(caller=people.member, volume_id=offered.pk)
    VolumeTransfer.objects.all().delete()
    Volume.objects.filter(pk=secret.pk).update(is_encrypted=True)
    found = {(one.subject, one.message) for one in audit_findings()}
    assert found == {
        (str(unclaimed.pk), "does not hold its size of its pool alone"),
        (str(oversized.pk), "does not hold its size of its pool alone"),
        (str(attached.pk), "is available, and is in-use by its attachments"),
        (str(free.pk), "is in-use, and is available by its attachments"),
        (str(offered.pk), "waits for a transfer, and there is none"),
        (str(secret.pk), "is encrypted and has no passphrase"),
    }
    assert VolumeKey.objects.count() == 0
    Volume.objects.filter(pk=sound.pk).delete()
    (left,) = {one.message for one in audit_findings() if one.subject == str(sound.pk)}
    assert left == "holds allocations and is no instance, no build request and no volume"
    assert volume_row(sound.project).pool is None


def test_audit_names_passphrases_that_no_key_opens_and_counts_the_rest(people: People, settings: Any) -> None:
    for _ in range(MAX_UNREADABLE + 2):
        volume_key_make(owner_id=uuid.uuid4())
    assert said() == []
    old, settings.SECRET_KEY = settings.SECRET_KEY, "new-" * 20
    found = audit_findings()
    named = {str(pk) for pk in VolumeKey.objects.values_list("pk", flat=True)}
    assert len({one.subject for one in found} & named) == MAX_UNREADABLE
    assert [one.message for one in found if one.subject not in named] == ["have 2 more passphrases that no key opens"]
    settings.SECRET_KEY_FALLBACKS = [old]
    assert said() == []
