"""Volumes on the drift page: what is shown, who puts it right, and what is left to a person."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.volumes import PoolKind, PoolReport, VolumesOnHost
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict
from controlplane.work.models import Heal
from scheduling.models import Service
from servers.models import DriftSighting, PoolSighting, StoragePool, Volume, VolumeAttachment
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_list
from servers.repair.services.drift import GUESTS, drift_check_run, drift_heal, guest_drift_round
from servers.repair.services.drift_sources import STORAGE_KINDS
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.services.keys import volume_key_make
from servers.volumes.services.present import volumes_present
from tests.worlds import cloud as world
from tests.worlds.volumes import volume_row

pytestmark = pytest.mark.django_db(transaction=True)

LOCAL = PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=2**40, free_bytes=2**40)


@pytest.fixture
def pool() -> StoragePool:
    world.host("h1", pools=(LOCAL,))
    return StoragePool.objects.get()


def told(*names: str) -> list[VolumesOnHost]:
    return volumes_present(host="h1", pools=[VolumesOnHost("local", "m-1", names, ())])


def shown() -> list[tuple[str, str]]:
    return [(one.kind.value, one.subject) for one in drift_list(kinds=STORAGE_KINDS)]


def settled(pool: StoragePool) -> Volume:
    row = volume_row(Project.objects.get_or_create(name="p")[0], pool=pool)
    Volume.objects.update(updated_at=F("updated_at") - timedelta(hours=1))
    return row


def test_stranger_is_shown_and_removed_only_when_somebody_asks(pool: StoragePool) -> None:
    name = str(uuid.uuid4())
    told(name)
    PoolSighting.objects.update(first_seen_at=F("first_seen_at") - timedelta(days=9))
    guest_drift_round()
    assert told(name) == []
    assert shown() == [("volume_orphan", name)]
    row = DriftSighting.objects.get()
    assert row.heals_at is None
    assert "another installation's" in row.found
    drift_heal(key=row.key, actor="root")
    with pytest.raises(Conflict, match="root asked for it already"):
        drift_heal(key=row.key, actor="root")
    assert told(name) == [VolumesOnHost("local", "m-1", (name,), ())]
    assert told() == []
    guest_drift_round()
    assert not DriftSighting.objects.exists()
    assert Heal.objects.get().evidence["asked_by"] == "root"


def test_bytes_that_are_gone_are_shown_once_they_were_missed_twice(pool: StoragePool) -> None:
    volume = settled(pool)
    told()
    assert shown() == []
    PoolSighting.objects.update(first_seen_at=F("first_seen_at") - timedelta(minutes=5))
    assert shown() == [("volume_missing", str(volume.pk))]
    drift_check_run(GUESTS)
    with pytest.raises(Conflict, match="restore a backup"):
        drift_heal(key=DriftSighting.objects.get().key, actor="root")
    told(str(volume.pk))
    assert shown() == []


def test_passphrase_that_no_key_opens_is_shown_until_its_key_is_there_again(settings: Any) -> None:
    volume_id = uuid.uuid4()
    volume_key_make(owner_id=volume_id)
    assert shown() == []
    old, settings.SECRET_KEY = settings.SECRET_KEY, "new-" * 20
    assert guest_drift_round() == 0
    row = DriftSighting.objects.get()
    assert (row.kind, row.subject) == ("volume_key_unreadable", str(volume_id))
    with pytest.raises(Conflict, match="SECRET_KEY_FALLBACKS"):
        drift_heal(key=row.key, actor="root")
    settings.SECRET_KEY_FALLBACKS = [old]
    guest_drift_round()
    assert not DriftSighting.objects.exists()


def test_attachment_of_an_instance_that_is_gone_is_taken_off_by_itself(pool: StoragePool) -> None:
    volume = settled(pool)
    Volume.objects.update(state=VolumeState.IN_USE)
    VolumeAttachment.objects.create(volume=volume, instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED)
    assert shown() == [("attachment_ownerless", str(volume.pk))]
    assert guest_drift_round() == 0
    DriftSighting.objects.update(first_seen_at=F("first_seen_at") - timedelta(hours=1))
    assert guest_drift_round() == 1
    volume.refresh_from_db()
    assert (volume.state, VolumeAttachment.objects.count()) == (VolumeState.AVAILABLE, 0)
    assert Heal.objects.get().kind == DriftKind.ATTACHMENT_OWNERLESS


def test_pool_that_a_host_cannot_use_and_one_that_nobody_can_are_said(pool: StoragePool) -> None:
    settled(pool)
    world.host("h1", pools=(PoolReport("local", PoolKind.FILE, identity="m-1", problem="the disk is away"),))
    assert [kind for kind, _ in shown()] == ["pool_problem", "pool_unreached"]
    world.host("h1", pools=(LOCAL,))
    assert shown() == []
    Service.objects.update(last_seen_up=F("last_seen_up") - timedelta(hours=1))
    (found,) = drift_list(kinds=STORAGE_KINDS)
    assert found.found == "Nothing can be done to the volumes of pool local of h1: h1 are down."
    assert not found.can_heal
    Volume.objects.all().delete()
    assert shown() == []
