"""Pools as hosts report them: rows, what Placement offers of them, and directories that are not what they were."""

import uuid

import msgspec
import pytest

from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport, VolumeWorkKind
from computeagent.protocol.wire import encode
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.work.models import Work
from controlplane.work.work import compute_queue
from placement.selectors import fleet_usage, provider_aggregates_by_uuid, provider_find
from placement.selectors.providers import provider_traits_by_uuid
from scheduling.models import ComputeNode
from servers.models import StoragePool, StoragePoolHost, VolumeAttachment
from servers.volumes.domain.pools import SHARING, VOLUME_GB, pool_trait
from servers.volumes.selectors.pool_hosts import live_hosts
from servers.volumes.services.claims import hold, volume_unclaim
from servers.volumes.services.pools import pool_withdraw
from servers.volumes.services.work import volume_work_begin
from tests.worlds import cloud as world
from tests.worlds.volumes import volume_row

pytestmark = pytest.mark.django_db(transaction=True)

GIB = 2**30
LOCAL = PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=100 * GIB, free_bytes=90 * GIB)
NFS = PoolReport("nfs", PoolKind.FILE, is_shared=True, identity="m-2", total_bytes=50 * GIB, free_bytes=50 * GIB)


def traits_of(host: str) -> set[str]:
    """Of the host's compute node, in Placement."""
    node = ComputeNode.objects.get(host=host)
    return set(provider_traits_by_uuid({node.pk}).get(node.pk, set()))


def test_own_pool_is_below_its_node_and_a_shared_one_stands_alone() -> None:
    world.host("h1", pools=(LOCAL, NFS))
    world.host("h2", pools=(LOCAL, NFS))
    mine, theirs = (StoragePool.objects.get(name="local", host=host) for host in ("h1", "h2"))
    nfs = StoragePool.objects.get(name="nfs")
    node = ComputeNode.objects.get(host="h1")
    views = {pool.pk: provider_find(pool.pk) for pool in (mine, nfs)}
    assert views[mine.pk] is not None
    assert views[nfs.pk] is not None
    assert (views[mine.pk].parent_uuid, views[nfs.pk].parent_uuid) == (node.pk, None)  # type: ignore[union-attr]
    usage = fleet_usage([mine.pk, nfs.pk])
    assert [usage[pool.pk][VOLUME_GB].total for pool in (mine, nfs)] == [100, 50]
    assert provider_traits_by_uuid({nfs.pk})[nfs.pk] == {SHARING}
    assert {pool_trait(mine.pk), pool_trait(nfs.pk)} <= traits_of("h1")
    assert pool_trait(mine.pk) not in traits_of("h2")
    assert {pool_trait(theirs.pk), pool_trait(nfs.pk)} <= traits_of("h2")
    assert sorted(nfs.hosts.values_list("host", flat=True)) == ["h1", "h2"]


def test_hosts_of_a_shared_pool_are_in_an_aggregate_with_it_as_long_as_they_reach_it() -> None:
    world.host("h1", pools=(NFS,))
    world.host("h2", pools=(NFS, LOCAL))
    nfs = StoragePool.objects.get(name="nfs")
    nodes = {node.host: node.pk for node in ComputeNode.objects.all()}
    found = provider_aggregates_by_uuid({nfs.pk, *nodes.values()})
    assert {pk: set(each) for pk, each in found.items()} == {pk: {nfs.pk} for pk in (nfs.pk, *nodes.values())}
    world.host("h1")
    assert not provider_aggregates_by_uuid({nodes["h1"]}).get(nodes["h1"])


def test_reported_again_nothing_changes_but_the_figures() -> None:
    world.host("h1", pools=(LOCAL, NFS))
    pool = StoragePool.objects.get(name="local")
    StoragePool.objects.filter(pk=pool.pk).update(allocation_ratio=2.0, reserved_gib=10, is_enabled=False)
    world.host("h1", pools=(PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=120 * GIB), NFS))
    pool.refresh_from_db()
    inventory = fleet_usage([pool.pk])[pool.pk][VOLUME_GB]
    assert (inventory.total, inventory.reserved, inventory.allocation_ratio, inventory.capacity) == (120, 10, 2.0, 220)
    assert (pool.is_enabled, StoragePool.objects.count()) == (False, 2)


def test_ability_that_only_a_newer_agent_knows_means_nothing() -> None:
    newer = PoolReport("local", PoolKind.FILE, identity="m-1", abilities=("teleport", PoolAbility.REVERT.value))
    assert msgspec.json.decode(encode(newer), type=PoolReport) == newer
    world.host("h1", pools=(newer,))
    assert StoragePool.objects.get().abilities == ["revert"]


def test_pool_with_a_problem_has_no_trait_and_keeps_its_figures() -> None:
    world.host("h1", pools=(LOCAL,))
    pool = StoragePool.objects.get()
    away = PoolReport("local", PoolKind.FILE, identity="", problem="the disk is away")
    world.host("h1", pools=(away,))
    pool.refresh_from_db()
    assert (pool.total_bytes, pool.identity) == (100 * GIB, "m-1")
    assert pool_trait(pool.pk) not in traits_of("h1")
    assert StoragePoolHost.objects.get().problem == "the disk is away"
    world.host("h1", pools=(LOCAL,))
    assert pool_trait(pool.pk) in traits_of("h1")


def test_pool_that_is_reported_no_more_stays_with_its_volumes() -> None:
    world.host("h1", pools=(LOCAL,))
    pool = StoragePool.objects.get()
    world.host("h1")
    assert not StoragePoolHost.objects.exists()
    assert pool_trait(pool.pk) not in traits_of("h1")
    assert StoragePool.objects.filter(pk=pool.pk).exists()


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (PoolReport("local", PoolKind.FILE, identity="m-9", total_bytes=9 * GIB), "may be not mounted"),
        (PoolReport("local", PoolKind.FILE, total_bytes=9 * GIB), "without identity instead of m-1"),
        (PoolReport("local", PoolKind.NBD, identity="m-1", total_bytes=9 * GIB), "of kind nbd here"),
    ],
)
def test_directory_that_is_another_one_is_no_empty_pool(report: PoolReport, words: str) -> None:
    world.host("h1", pools=(LOCAL,))
    pool = StoragePool.objects.get()
    volume = volume_row(Project.objects.create(name="p"), pool=pool)
    world.host("h1", pools=(report,))
    assert words in StoragePoolHost.objects.get().problem
    pool.refresh_from_db()
    assert (pool.kind, pool.identity, pool.total_bytes) == ("file", "m-1", 100 * GIB)
    assert pool_trait(pool.pk) not in traits_of("h1")
    volume.delete()
    world.host("h1", pools=(report,))  # nothing is in it: it may be another one
    assert StoragePoolHost.objects.get().problem == ""


def test_host_that_means_another_shared_pool_does_not_reach_it() -> None:
    world.host("h1", pools=(NFS,))
    other = PoolReport("nfs", PoolKind.FILE, is_shared=True, identity="m-7", total_bytes=GIB)
    world.host("h2", pools=(other,))
    assert "m-7 instead of m-2" in StoragePoolHost.objects.get(host="h2").problem
    assert StoragePool.objects.get().total_bytes == 50 * GIB
    nameless = PoolReport("nfs", PoolKind.FILE, is_shared=True, total_bytes=GIB)
    world.host("h3", pools=(nameless,))
    assert "does not say what it is" in StoragePoolHost.objects.get(host="h3").problem


@pytest.mark.parametrize(
    "pools",
    [
        (LOCAL, LOCAL),
        (PoolReport("", PoolKind.FILE),),
        (PoolReport("x" * 65, PoolKind.FILE),),
        (PoolReport("a", PoolKind.FILE, identity="i" * 256),),
        (PoolReport("a", PoolKind.FILE, total_bytes=-1),),
        (PoolReport("a", PoolKind.FILE, total_bytes=2**64),),
        tuple(PoolReport(f"p{number}", PoolKind.FILE) for number in range(65)),
    ],
)
def test_report_that_makes_no_sense_is_refused_whole(pools: tuple[PoolReport, ...]) -> None:
    with pytest.raises(Invalid):
        world.host("h1", pools=pools)
    assert not StoragePool.objects.exists()
    assert not ComputeNode.objects.exists()


def test_pool_in_which_something_is_claimed_is_not_withdrawn() -> None:
    world.host("h1", pools=(LOCAL,))
    pool = StoragePool.objects.get()
    volume = volume_row(Project.objects.create(name="p"), pool=pool, size_gib=3)
    hold(consumer_id=volume.pk, volume=volume, size_gib=3)
    with pytest.raises(Conflict, match="hold allocations"):
        pool_withdraw(pool)
    volume_unclaim(volume=volume)
    pool_withdraw(pool)
    assert provider_find(pool.pk) is None


def test_what_a_pool_can_do_is_written_with_what_it_lacks() -> None:
    report = PoolReport(
        "local", PoolKind.FILE, identity="m", abilities=(PoolAbility.REVERT,), lacks=("clone: no\0 reflink",)
    )
    world.host("h1", pools=(report,))
    pool = StoragePool.objects.get()
    assert (pool.abilities, pool.lacks) == (["revert"], ["clone: no reflink"])
    assert provider_find(pool.pk) is not None
    assert fleet_usage([pool.pk])[pool.pk] == {}
    assert isinstance(pool.pk, uuid.UUID)


def test_pool_that_one_host_serves_to_others_stays_its_own() -> None:
    served = PoolReport("net", PoolKind.NBD, identity="m-3", total_bytes=70 * GIB)
    client = PoolReport("net", PoolKind.NBD, identity="m-3", is_client=True)
    world.host("h2", pools=(client,))
    assert not StoragePool.objects.exists()
    world.host("h1", pools=(served,))
    world.host("h2", pools=(client,))
    pool = StoragePool.objects.get()
    assert (pool.host, pool.total_bytes) == ("h1", 70 * GIB)
    assert sorted(pool.hosts.values_list("host", flat=True)) == ["h1", "h2"]
    assert pool_trait(pool.pk) in traits_of("h2")
    assert live_hosts(pool) == ["h1"]

    world.host("h2", pools=(PoolReport("net", PoolKind.NBD, is_client=True, problem="its server does not answer"),))
    assert pool_trait(pool.pk) not in traits_of("h2")
    assert pool.hosts.get(host="h2").problem == "its server does not answer"
    assert StoragePool.objects.get().total_bytes == 70 * GIB


def test_what_a_server_of_volumes_does_it_does_wherever_their_guests_are() -> None:
    people = world.cloud("h2")
    guest = world.active(people.member)
    assert guest.host == "h2"
    world.host("h1", pools=(PoolReport("net", PoolKind.NBD, identity="m-3", total_bytes=70 * GIB),))
    world.host("h2", pools=(PoolReport("net", PoolKind.NBD, identity="m-3", is_client=True),))
    volume = volume_row(Project.objects.get(name="demo"), pool=StoragePool.objects.get())
    VolumeAttachment.objects.create(volume=volume, instance_uuid=guest.pk)
    snapshot = uuid.uuid4()
    volume_work_begin(kind=VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, subject=snapshot, volume=volume)
    assert Work.objects.get(subject=snapshot).queue == compute_queue("h1")
