"""A host that stores volumes stays; one that stores none goes with its pools."""

import pytest

from computeagent.protocol.volumes import PoolKind, PoolReport
from controlplane.identity.models import Project
from scheduling.fleet.services.service_states import service_force_down
from servers.hosts.domain.removal import RemovalReason, RemovalRefused
from servers.hosts.services.removal import host_remove
from servers.models import StoragePool, StoragePoolHost
from servers.volumes.services.claims import hold, volume_unclaim
from tests.worlds import cloud as world
from tests.worlds.volumes import volume_row

pytestmark = pytest.mark.django_db(transaction=True)


def test_host_with_volumes_of_its_own_stays_and_its_empty_pools_go_with_it() -> None:
    local = PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=2**40, free_bytes=2**40)
    nfs = PoolReport("nfs", PoolKind.FILE, is_shared=True, identity="m-2", total_bytes=2**40, free_bytes=2**40)
    world.host("h9", pools=(local, nfs))
    world.host("h8", pools=(nfs,))
    service_force_down(host="h9", forced_down=True)
    volume = volume_row(Project.objects.create(name="p"), pool=StoragePool.objects.get(name="local"), name="data")
    hold(consumer_id=volume.pk, volume=volume, size_gib=1)
    for force in (False, True):
        with pytest.raises(RemovalRefused) as raised:
            host_remove(host="h9", force=force)
        assert raised.value.reasons == {RemovalReason.VOLUMES: 1}
        assert "1 volume is stored on it alone" in raised.value.message
    volume_unclaim(volume=volume)
    volume.delete()
    host_remove(host="h9")
    assert list(StoragePool.objects.values_list("name", flat=True)) == ["nfs"]
    assert list(StoragePoolHost.objects.values_list("host", flat=True)) == ["h8"]
