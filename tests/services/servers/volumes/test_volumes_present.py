"""What hosts tell of their pools: bytes that nobody explains go in time, and no others; what is not there is said."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.volumes import PoolKind, PoolReport, VolumesOnHost, VolumeWorkKind
from controlplane.identity.models import Project
from controlplane.work.models import Heal, Work
from servers.models import PoolSighting, StoragePool, Volume, VolumeBackup
from servers.volumes.domain.states import VolumeState
from servers.volumes.services.present import volumes_present
from servers.volumes.services.work import volume_work_begin
from tests.worlds import cloud as world
from tests.worlds.volumes import snapshot_row, volume_row

pytestmark = pytest.mark.django_db(transaction=True)

LOCAL = PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=2**40, free_bytes=2**40)


@pytest.fixture
def pool() -> StoragePool:
    world.host("h1", pools=(LOCAL,))
    return StoragePool.objects.get()


def tell(*names: str, identity: str = "m-1", pool: str = "local", **more: Any) -> list[VolumesOnHost]:
    """Host h1 tells that its pool has these."""
    volumes, snapshots = (tuple(name for name in names if ("/" in name) is at) for at in (False, True))
    return volumes_present(host="h1", pools=[VolumesOnHost(pool, identity, volumes, snapshots)], **more)


def age(**hours: float) -> None:
    """All was first seen so long ago."""
    PoolSighting.objects.update(first_seen_at=F("first_seen_at") - timedelta(**hours))


def settled(**fields: Any) -> Volume:
    """A volume that has been there for a while."""
    row = volume_row(Project.objects.get_or_create(name="p")[0], **fields)
    Volume.objects.filter(pk=row.pk).update(updated_at=F("updated_at") - timedelta(hours=1))
    return row


def test_bytes_of_rows_are_explained(pool: StoragePool) -> None:
    volume = settled(pool=pool)
    snapshot = snapshot_row(volume)
    backup = VolumeBackup.objects.create(
        volume_id=volume.pk,
        project_id=volume.project_id,
        user_id=volume.user_id,
        size_gib=1,
        snapshot_id=uuid.uuid4(),
    )
    assert tell(str(volume.pk), f"{volume.pk}/{snapshot.pk}", f"{volume.pk}/{backup.snapshot_id}") == []
    assert not PoolSighting.objects.exists()


def test_orphan_that_was_known_goes_after_its_time_and_is_recorded(pool: StoragePool) -> None:
    volume = settled(pool=pool)
    volume_work_begin(kind=VolumeWorkKind.VOLUME_CREATE, subject=volume.pk, volume=volume)
    name = str(volume.pk)
    volume.delete()
    assert tell(name) == []
    row = PoolSighting.objects.get()
    assert (row.name, row.is_missing, row.was_known, row.host) == (name, False, True, "h1")
    age(hours=0.9)
    assert tell(name) == []
    age(hours=0.2)
    assert tell(name) == [VolumesOnHost("local", "m-1", (name,), ())]
    assert tell(name) == [VolumesOnHost("local", "m-1", (name,), ())]  # its host was killed before it removed it
    assert tell() == []
    assert not PoolSighting.objects.exists()
    heal = Heal.objects.get()
    assert (heal.kind, str(heal.subject)) == ("volume_orphan", name)


def test_bytes_that_nobody_here_knew_are_listed_and_stay_until_somebody_asks(pool: StoragePool) -> None:
    name = f"{uuid.uuid4()}/{uuid.uuid4()}"
    tell(name)
    age(days=400)
    assert tell(name) == []
    assert PoolSighting.objects.get().was_known is False
    PoolSighting.objects.update(asked_by="root")
    assert tell(name) == [VolumesOnHost("local", "m-1", (), (name,))]


def test_host_that_removes_nothing_is_told_nothing_to_remove(pool: StoragePool) -> None:
    name = str(uuid.uuid4())
    tell(name)
    PoolSighting.objects.update(asked_by="root")
    assert tell(name, not_removed_because="it was asked not to") == []
    assert PoolSighting.objects.get().not_removed_because == "it was asked not to"


def test_pool_that_is_another_one_than_it_was_makes_nothing_missing_and_nothing_orphan(pool: StoragePool) -> None:
    settled(pool=pool)
    assert tell(str(uuid.uuid4()), identity="m-2") == []
    assert tell(identity="") == []
    assert tell(pool="nfs") == []
    assert not PoolSighting.objects.exists()
    pool.hosts.update(problem="the disk is away")
    tell()
    assert not PoolSighting.objects.exists()


def test_pool_of_another_host_is_nothing_to_speak_of(pool: StoragePool) -> None:
    volume = settled(pool=pool)
    seen = [VolumesOnHost("local", "m-1", (str(uuid.uuid4()),), ())]
    assert volumes_present(host="h2", pools=seen) == []
    assert not PoolSighting.objects.exists()
    assert Volume.objects.filter(pk=volume.pk).exists()


@pytest.mark.parametrize(
    ("state", "is_missing"),
    [
        (VolumeState.AVAILABLE, True),
        (VolumeState.IN_USE, True),
        (VolumeState.CREATING, False),
        (VolumeState.DELETING, False),
        (VolumeState.ERROR, False),
    ],
)
def test_volume_whose_bytes_are_not_there_is_missing(
    pool: StoragePool, state: VolumeState, *, is_missing: bool
) -> None:
    volume = settled(pool=pool, state=state)
    tell()
    found = list(PoolSighting.objects.values_list("name", "is_missing"))
    assert found == ([(str(volume.pk), True)] if is_missing else [])
    tell(str(volume.pk))
    assert not PoolSighting.objects.exists()


def test_volume_that_was_made_while_the_pool_was_read_is_not_missing(pool: StoragePool) -> None:
    volume_row(Project.objects.create(name="p"), pool=pool)
    tell()
    assert not PoolSighting.objects.exists()


ONE = uuid.UUID(int=1)


@pytest.mark.parametrize("name", ["lost+found", "", "../x", "a/b/c", "x" * 300, f"{ONE}/x", f"{{{ONE}}}", ONE.hex])
def test_names_that_are_none_of_ours_are_left_alone(pool: StoragePool, name: str) -> None:
    assert tell(name) == []
    assert not PoolSighting.objects.exists()


def test_many_names_cost_few_queries(pool: StoragePool, django_assert_max_num_queries: Any) -> None:
    names = [str(settled(pool=pool).pk) for _ in range(30)] + [str(uuid.uuid4()) for _ in range(30)]
    with django_assert_max_num_queries(14):
        tell(*names)
    assert PoolSighting.objects.count() == 30
    assert not Work.objects.exists()
