"""A pool that all hosts of a demo share, and volumes in it."""

from collections.abc import Sequence
from random import Random

from django.db.models import F

from computeagent.protocol.volumes import PoolAbility, PoolKind
from controlplane.launcher.demo.hosts import DemoHost
from controlplane.launcher.demo.placing import Placed
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.rows import TOGETHER, rows_write
from placement.models import Allocation, Consumer, Inventory, ResourceClass, ResourceProvider
from servers.models import StoragePool, StoragePoolHost, Volume, VolumeAttachment, VolumeType
from servers.volumes.domain.pools import GIB, VOLUME_GB, pool_trait
from servers.volumes.domain.states import AttachmentState, VolumeState
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.services.claims import CONSUMER
from servers.volumes.services.pools import pool_offer
from servers.volumes.services.types import volume_type_create

POOL = "ceph-ssd"
SHARE, MAX_VOLUMES = 0.1, 8000
SIZES = (10, 20, 50, 100, 200, 500)
POOL_PROBLEM = "rbd: error connecting to the cluster: (110) Connection timed out"


def pool_trait_of(plan: DemoPlan) -> str:
    """What hosts have that reach the pool."""
    return pool_trait(plan.uuid("pool", POOL))


def volumes_write(plan: DemoPlan, hosts: Sequence[DemoHost], placed: Sequence[Placed]) -> None:
    """Types, the pool with its hosts, volumes with what they hold of it, and attachments."""
    volume_type_create(request=VolumeTypeRequest("ssd", is_default=True, qos={"total_iops": 5000}))
    volume_type_create(request=VolumeTypeRequest("archive", description="Slow and cheap", qos={"total_iops": 200}))
    rng = plan.rng("volumes")
    running = [one for one in placed if one.host is not None]
    chosen = rng.sample(running, min(MAX_VOLUMES, int(len(running) * SHARE)))
    types = list(VolumeType.objects.order_by("name"))
    volumes = [_volume(plan, rng, one, rng.choice(types)) for one in chosen]
    pool = _pool(plan, hosts, size_gib=sum(one.size_gib for one in volumes) * 3 // 2 + 1000)
    for volume in volumes:
        volume.pool = pool
    rows_write(Volume, volumes)
    Volume.objects.update(created_at=F("updated_at"))
    _claim(pool, volumes)
    rows_write(
        VolumeAttachment,
        (
            VolumeAttachment(
                id=plan.uuid("attachment", volume.pk),
                volume=volume,
                instance_uuid=one.id,
                state=AttachmentState.ATTACHED.value,
                device="vdb",
                attached_at=one.launched_at,
            )
            for volume, one in zip(volumes, chosen, strict=True)
            if volume.state == VolumeState.IN_USE
        ),
    )


def _pool(plan: DemoPlan, hosts: Sequence[DemoHost], *, size_gib: int) -> StoragePool:
    total = size_gib * GIB
    pool = StoragePool.objects.create(
        id=plan.uuid("pool", POOL),
        name=POOL,
        kind=PoolKind.RBD.value,
        identity=f"{plan.uuid('ceph', 'cluster')}/volumes",
        total_bytes=total,
        free_bytes=total * 6 // 10,
        abilities=[each.value for each in PoolAbility],
        reported_at=plan.now,
    )
    pool_offer(pool, parent=None)
    broken = hosts[len(hosts) // 3].name
    rows_write(
        StoragePoolHost,
        (
            StoragePoolHost(
                pool=pool, host=host.name, problem=POOL_PROBLEM if host.name == broken else "", reported_at=plan.now
            )
            for host in hosts
        ),
    )
    return pool


def _volume(plan: DemoPlan, rng: Random, one: Placed, volume_type: VolumeType) -> Volume:
    draw = rng.random()
    state, fault = VolumeState.IN_USE, ""
    if draw > 0.98:
        state, fault = VolumeState.ERROR, "The pool could not make it: no space left in the pool of its type."
    elif draw > 0.75:
        state = VolumeState.AVAILABLE
    return Volume(
        id=plan.uuid("volume", one.id),
        project=one.team.project,
        user_id=one.user.user_id,
        name=f"{one.name}-data",
        size_gib=rng.choice(SIZES),
        volume_type=volume_type,
        state=state.value,
        fault=fault,
        qos=volume_type.qos,
        request_id=plan.request_id("volume", one.id),
    )


def _claim(pool: StoragePool, volumes: Sequence[Volume]) -> None:
    provider = ResourceProvider.objects.get(uuid=pool.pk)
    resource_class = ResourceClass.objects.get(name=VOLUME_GB)
    for start in range(0, len(volumes), TOGETHER):
        part = volumes[start : start + TOGETHER]
        consumers = Consumer.objects.bulk_create(
            Consumer(uuid=one.pk, project_id=str(one.project_id), user_id=str(one.user_id), consumer_type=CONSUMER)
            for one in part
        )
        rows_write(
            Allocation,
            (
                Allocation(consumer=consumer, provider=provider, resource_class=resource_class, used=one.size_gib)
                for consumer, one in zip(consumers, part, strict=True)
            ),
        )
    Inventory.objects.filter(provider=provider).update(used=sum(one.size_gib for one in volumes))
