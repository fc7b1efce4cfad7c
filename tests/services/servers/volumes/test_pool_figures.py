"""Pools in figures: for the page of a host, and for whoever watches the installation."""

from typing import Any

import pytest

from computeagent.protocol.volumes import PoolKind, PoolReport
from controlplane.identity.models import Project
from servers.models import StoragePool
from servers.volumes.selectors.metrics import volume_families
from servers.volumes.selectors.pools import pools_of_host
from servers.volumes.services.claims import hold
from tests.worlds import cloud as world
from tests.worlds.volumes import volume_row

pytestmark = pytest.mark.django_db(transaction=True)

GIB = 2**30
LOCAL = PoolReport("local", PoolKind.FILE, identity="m", total_bytes=10 * GIB, free_bytes=8 * GIB)
NFS = PoolReport("nfs", PoolKind.FILE, is_shared=True, identity="n", total_bytes=9 * GIB, free_bytes=9 * GIB)


def test_pools_of_a_host_have_their_room_and_problems(django_assert_max_num_queries: Any) -> None:
    world.host("h1", pools=(LOCAL, NFS))
    world.host("h2", pools=(LOCAL,))
    own = StoragePool.objects.get(name="local", host="h1")
    volume = volume_row(Project.objects.create(name="p"), pool=own, size_gib=3)
    hold(consumer_id=volume.pk, volume=volume, size_gib=3)
    own.hosts.update(problem="the disk is away")
    with django_assert_max_num_queries(5):
        local, nfs = pools_of_host(host="h1")
    assert (local.pool.pk, local.is_own, local.problem) == (own.pk, True, "the disk is away")
    assert (local.capacity_gib, local.promised_gib, local.measured_free_gib, local.volumes) == (10, 3, 8, 1)
    assert (nfs.pool.name, nfs.is_own, nfs.promised_gib, nfs.volumes) == ("nfs", False, 0, 0)
    assert pools_of_host(host="h9") == []


def test_metrics_sum_pools_of_one_name_and_name_no_host() -> None:
    world.host("h1", pools=(LOCAL, NFS))
    world.host("h2", pools=(LOCAL,))
    volume = volume_row(Project.objects.create(name="p"), pool=StoragePool.objects.get(name="nfs"), size_gib=2)
    hold(consumer_id=volume.pk, volume=volume, size_gib=2)
    StoragePool.objects.get(host="h2").hosts.update(problem="the disk is away")
    found = {
        (family.name.removeprefix("kilonova_"), *sample.labels.values()): sample.value
        for family in volume_families()
        for sample in family.samples
    }
    assert found == {
        ("volumes", "available"): 1,
        ("volume_pool_gib", "local", "capacity"): 20,
        ("volume_pool_gib", "local", "measured_free"): 16,
        ("volume_pool_gib", "local", "promised"): 0,
        ("volume_pool_gib", "nfs", "capacity"): 9,
        ("volume_pool_gib", "nfs", "measured_free"): 9,
        ("volume_pool_gib", "nfs", "promised"): 2,
        ("volume_pool_problems",): 1,
        ("volume_pool_sightings", "orphan"): 0,
        ("volume_pool_sightings", "missing"): 0,
    }
