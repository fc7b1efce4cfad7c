"""Volumes, pools and callers for tests."""

import uuid
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport, VolumeFacts
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import Project
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import WorkLease, work_take
from scheduling.fleet.services.hosts import host_register
from servers.models import Instance, StoragePool, StoragePoolHost, Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.pools import GIB
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.pools import promised_gib
from servers.volumes.services.pools import pool_offer
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create
from servers.volumes.services.volumes import volume_create
from servers.volumes.services.work_ends import volume_work_done, volume_work_failed
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import REPORT, People, active, host, image


def caller_in(project: Project, role: Role = Role.MEMBER) -> Caller:
    """Somebody with this role in the project."""
    return Caller(uuid.uuid4(), role.value, project.pk, project.name, frozenset({role}))


def volume_row(
    project: Project, *, state: VolumeState = VolumeState.AVAILABLE, size_gib: int = 1, **fields: Any
) -> Volume:
    """A volume as it stands in the table, without a claim or work."""
    return Volume.objects.create(project=project, user_id=uuid.uuid4(), state=state.value, size_gib=size_gib, **fields)


def snapshot_row(volume: Volume, *, state: VolumeSnapshotState = VolumeSnapshotState.AVAILABLE) -> VolumeSnapshot:
    """A snapshot of it as it stands in the table."""
    return VolumeSnapshot.objects.create(
        volume=volume, project_id=volume.project_id, user_id=volume.user_id, size_gib=volume.size_gib, state=state.value
    )


def backup_row(volume: Volume, *, state: BackupState = BackupState.AVAILABLE, **fields: Any) -> VolumeBackup:
    """A backup of it as it stands in the table."""
    return VolumeBackup.objects.create(
        volume_id=volume.pk,
        volume_name=volume.name,
        project_id=volume.project_id,
        user_id=volume.user_id,
        size_gib=volume.size_gib,
        state=state.value,
        **{"has_bytes": True, **fields},
    )


@remembered
def storage_pool(
    name: str = "shared",
    *hosts: str,
    total_gib: int = 100,
    kind: PoolKind = PoolKind.FILE,
    abilities: tuple[PoolAbility, ...] = tuple(PoolAbility),
    problem: str = "",
) -> StoragePool:
    """A shared pool that these hosts reach, with its inventory. The hosts are registered already."""
    with transaction.atomic():
        pool = StoragePool.objects.create(
            name=name,
            kind=kind.value,
            identity=name,
            total_bytes=total_gib * GIB,
            free_bytes=total_gib * GIB,
            abilities=[ability.value for ability in abilities],
        )
        for host in hosts:
            StoragePoolHost.objects.create(pool=pool, host=host, problem=problem, reported_at=Now())
        pool_offer(pool, parent=None)
    return pool


def promised(pool: StoragePool) -> int:
    """GiB that are claimed of it."""
    return promised_gib([pool.pk]).get(pool.pk, 0)


def work_of(subject: uuid.UUID) -> Work:
    """The open work of a volume or snapshot."""
    return Work.objects.get(subject=subject, state__in=OPEN_STATES)


def work_done(subject: uuid.UUID, **facts: Any) -> None:
    """A host takes the work of this volume or snapshot, and says that it is done."""
    volume_work_done(lease=_taken(subject), facts=VolumeFacts(**facts))


def work_failed(subject: uuid.UUID, message: str = "The disk is full.") -> None:
    """A host takes the work of this volume or snapshot, and says that it could not be done."""
    volume_work_failed(lease=_taken(subject), message=message, failure_class=FailureClass.USER)


def _taken(subject: uuid.UUID) -> WorkLease:
    taken = work_take(work_id=work_of(subject).pk, owner="a test")
    assert taken is not None
    return taken[1]


@remembered
def volume_made(caller: Caller, *, size_gib: int = 1, **fields: Any) -> Volume:
    """A volume that was asked for and made."""
    volume = volume_create(caller=caller, request=VolumeRequest(size_gib=size_gib, **fields))
    work_done(volume.pk)
    return Volume.objects.select_related("pool").get(pk=volume.pk)


@remembered
def snapshot_made(caller: Caller, volume: Volume) -> VolumeSnapshot:
    """A snapshot that was asked for and made."""
    snapshot = snapshot_create(caller=caller, request=SnapshotRequest(volume.pk))
    work_done(snapshot.pk)
    return VolumeSnapshot.objects.get(pk=snapshot.pk)


@remembered
def small_cloud(*hosts: str) -> People:
    """An image, these hosts, and people of two projects. Nobody of them logs in, and no agent connects: neither hashing
    passwords nor connections is the business of tests of volumes.
    """
    demo, other = (Project.objects.create(name=name) for name in ("demo", "other"))
    image()
    for name in hosts:
        host_register(host=name, report=replace(REPORT, hypervisor_hostname=name))
    return People(
        admin=caller_in(demo, Role.ADMIN),
        member=caller_in(demo),
        reader=caller_in(demo, Role.READER),
        stranger=caller_in(other),
    )


def active_from_volume(people: People, host_name: str = "with-pool") -> Instance:
    """An instance that boots from a volume, in the pool of a host that registers itself for it."""
    pool = PoolReport(
        "local",
        PoolKind.FILE,
        is_shared=False,
        identity="local",
        total_bytes=GIB,
        free_bytes=GIB,
        abilities=tuple(PoolAbility),
    )
    host(host_name, pools=(pool,))
    root = Volume.objects.create(
        pool=StoragePool.objects.get(host=host_name),
        project_id=people.member.project_id,
        user_id=people.member.user_id,
        size_gib=1,
        state=VolumeState.AVAILABLE.value,
        is_bootable=True,
    )
    disk = {"source_type": "volume", "uuid": str(root.pk), "boot_index": 0}
    return active(people.member, image="", block_device_mapping_v2=[disk])
