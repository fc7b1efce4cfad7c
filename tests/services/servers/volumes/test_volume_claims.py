"""Claims of volumes: never over a pool's capacity, resized and given back, and nobody's orphans."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.volumes import PoolKind, PoolReport
from controlplane.identity.models import Project
from controlplane.kernel.errors import NoCapacity
from placement.selectors import allocations_by_consumer, fleet_usage
from servers.models import StoragePool, Volume
from servers.repair.selectors.consumers import consumers_without_owner
from servers.volumes.domain.errors import NoValidBackend
from servers.volumes.domain.pool_choice import PoolRequest
from servers.volumes.domain.pools import VOLUME_GB
from servers.volumes.services.claims import (
    hold,
    volume_claim,
    volume_claim_owner_set,
    volume_claim_resize,
    volume_unclaim,
)
from tests.worlds import cloud as world
from tests.worlds.volumes import snapshot_row, volume_row

pytestmark = pytest.mark.django_db(transaction=True)

GIB = 2**30


def pool_report(name: str, gib: int, **more: Any) -> PoolReport:
    """A pool of this size, empty."""
    return PoolReport(name, PoolKind.FILE, identity=name, total_bytes=gib * GIB, free_bytes=gib * GIB, **more)


@pytest.fixture
def project() -> Project:
    world.host("h1", pools=(pool_report("local", 10), pool_report("nfs", 6, is_shared=True)))
    return Project.objects.create(name="p")


def claimed(volume: Volume, size_gib: int, **asked: Any) -> StoragePool:
    """The volume's pool, which it has from now on."""
    pool = volume_claim(volume=volume, wanted=PoolRequest(size_gib=size_gib, **asked))
    volume.pool, volume.size_gib = pool, size_gib
    volume.save()
    return pool


def used(pool: StoragePool) -> int:
    """GiB that are promised of it."""
    return fleet_usage([pool.pk])[pool.pk][VOLUME_GB].used


def test_volume_gets_the_shared_pool_then_its_hosts_and_then_none(project: Project) -> None:
    shared = claimed(volume_row(project), 5)
    own = claimed(volume_row(project), 5)
    assert (shared.name, own.name) == ("nfs", "local")
    with pytest.raises(NoValidBackend) as raised:
        claimed(volume_row(project), 6)
    assert raised.value.message == (
        "No pool can have the volume. nfs: wants 6 GiB, has 1 of 6 GiB free; local: wants 6 GiB, has 5 of 10 GiB free."
    )
    assert {(one["pool"], one["reason"], one["free"]) for one in raised.value.extra["pools"]} == {
        ("nfs", "space", 1),
        ("local", "space", 5),
    }
    assert (used(shared), used(own)) == (5, 5)


def test_resized_it_holds_the_new_size_or_what_it_held(project: Project) -> None:
    volume = volume_row(project)
    pool = claimed(volume, 4, pool="local")
    volume_claim_resize(volume=volume, size_gib=9)
    assert used(pool) == 9
    with pytest.raises(NoCapacity, match="and 11 GiB are wanted"):
        volume_claim_resize(volume=volume, size_gib=11)
    assert used(pool) == 9
    volume_claim_resize(volume=volume, size_gib=4)
    assert used(pool) == 4


def test_given_back_twice_is_once_and_a_new_owner_holds_the_same(project: Project) -> None:
    volume = volume_row(project)
    pool = claimed(volume, 4)
    other = Project.objects.create(name="other")
    volume.project = other
    volume_claim_owner_set(volume=volume)
    (held,) = allocations_by_consumer([volume.pk])[volume.pk]
    assert (held.used, used(pool)) == (4, 4)
    volume_unclaim(volume=volume)
    volume_unclaim(volume=volume)
    assert used(pool) == 0


def test_volumes_and_snapshots_are_owners_of_what_they_hold(project: Project) -> None:
    volume = volume_row(project)
    claimed(volume, 2)
    snapshot = snapshot_row(volume)
    hold(consumer_id=snapshot.pk, volume=volume, size_gib=2)
    nobody = uuid.uuid4()
    assert consumers_without_owner([volume.pk, snapshot.pk, nobody]) == {nobody}


def test_zone_and_host_are_asked_for(project: Project) -> None:
    world.host("h2", pools=(pool_report("local", 20),))
    assert claimed(volume_row(project), 1, host="h2").host == "h2"
    assert claimed(volume_row(project), 1, zone="nova").name == "nfs"
    with pytest.raises(NoValidBackend, match="in zone z2"):
        claimed(volume_row(project), 1, zone="z2")
