"""Volumes as they cross the border: pools that hosts reach, what is to be done to a volume, and how a guest has one.

Sizes are GiB where a person chose them and bytes where a host measured them. UUIDs travel as text. A volume's bytes are
raw to its guest; how a pool stores them is its backend's business alone.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import CUT, IN_POOL_MAX, Amount, Name, Sentence, Text, Word


class PoolKind(StrEnum):
    """What stores a pool's volumes. FILE: files in a directory, of one host or shared by several. NBD: files of one
    host, served to others. RBD: images of a Ceph pool.
    """

    FILE = "file"
    NBD = "nbd"
    RBD = "rbd"


class PoolAbility(StrEnum):
    """What a pool can do beyond a volume's life, attaching it to one guest, and snapshots of one that is detached."""

    MULTI_ATTACH = "multi_attach"
    EXTEND_ATTACHED = "extend_attached"
    SNAPSHOT_ATTACHED = "snapshot_attached"
    CLONE = "clone"
    """A volume made of a snapshot or volume shares its bytes: nothing is copied."""
    REVERT = "revert"
    ENCRYPT = "encrypt"
    BACKUP_ATTACHED = "backup_attached"
    INCREMENTAL_BACKUP = "incremental_backup"


@dataclass(frozen=True, slots=True)
class PoolReport:
    """A pool as one host sees it. Pools of one name are one pool where `is_shared`, else each is its host's own.

    `identity` is what tells that two hosts mean the same (a Ceph cluster's fsid and pool, a marker file in a shared
    directory). `abilities` are those of `PoolAbility`; any other is a newer agent's, and means nothing. `problem`: why
    it cannot be used now. `lacks`: what it cannot do, and why, for people. `is_client`: the pool is another host's own,
    known by its identity; guests here can have its volumes, and all else that host does.
    """

    name: Word
    kind: PoolKind
    is_shared: bool = False
    identity: Name = ""
    total_bytes: Amount = 0
    free_bytes: Amount = 0
    abilities: Annotated[tuple[Word, ...], Meta(max_length=64, extra=CUT)] = ()
    problem: Sentence = ""
    lacks: Annotated[tuple[Sentence, ...], Meta(max_length=64, extra=CUT)] = ()
    is_client: bool = False


class VolumeSourceKind(StrEnum):
    """What a new volume begins with."""

    BLANK = "blank"
    IMAGE = "image"
    SNAPSHOT = "snapshot"
    VOLUME = "volume"
    BACKUP = "backup"


@dataclass(frozen=True, slots=True)
class VolumeSource:
    """What a new volume begins with. `id` names the image, snapshot, volume or backup; `volume_id` is the volume that
    the snapshot is of. Checksum, size and format are those of an image, which may be fetched under the work's lease.
    """

    kind: VolumeSourceKind = VolumeSourceKind.BLANK
    id: str = ""
    volume_id: str = ""
    checksum: str = ""
    size_bytes: int = 0
    disk_format: str = ""
    is_encrypted: bool = False


NO_SOURCE = VolumeSource()


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """A volume in a pool. `location` is what the pool's own backend wrote when it made it (an address and a port, a
    format), and understands. `is_encrypted`: its bytes are LUKS; the key is asked for by `volume_key` and never written
    down on a host.
    """

    id: str
    pool: str
    kind: PoolKind
    size_gib: int
    is_encrypted: bool = False
    location: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeQos:
    """The most that a guest may ask of one volume, by the hypervisor: per second, 0 for no limit."""

    total_iops: int = 0
    read_iops: int = 0
    write_iops: int = 0
    total_bytes: int = 0
    read_bytes: int = 0
    write_bytes: int = 0


NO_QOS = VolumeQos()


@dataclass(frozen=True, slots=True)
class DiskSource:
    """Where a guest's QEMU finds a volume's bytes: said by the host's own backend, and no part of an order.

    FILE: `path`. NBD: `export` at a UNIX `socket`, or at `host` and `port`, where `has_tls` by TLS. RBD: `image` as
    `pool/name`, the cluster's `monitors`, the `user` and his `user_key`. `disk_format` is raw or qcow2. `passphrase`:
    the bytes are LUKS. Both secrets live in memory only, and drivers hand them to the hypervisor as secrets that it
    forgets when it ends.
    """

    kind: PoolKind
    disk_format: str = "raw"
    path: str = ""
    socket: str = ""
    host: str = ""
    port: int = 0
    has_tls: bool = False
    export: str = ""
    image: str = ""
    monitors: tuple[str, ...] = ()
    user: str = ""
    user_key: str = field(default="", repr=False)
    passphrase: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class GuestVolume:
    """A volume that a guest has. `device` is the name that it is likely to see it by (vdb). `boot_index` below 0: it is
    not booted from. `make`: the build makes it first, of this; one that is there is a success. `is_shared`: other
    guests may have it at the same time.
    """

    attachment_id: str
    volume: VolumeSpec
    device: str = ""
    bus: str = "virtio"
    device_type: str = "disk"
    boot_index: int = -1
    tag: str = ""
    is_read_only: bool = False
    is_shared: bool = False
    qos: VolumeQos = NO_QOS
    make: VolumeSource | None = None
    source: DiskSource | None = None


class LocalDiskKind(StrEnum):
    """Disks in a host's own storage that a request names one by one."""

    EPHEMERAL = "ephemeral"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class LocalDisk:
    """One such disk, empty at first, gone with its guest. `disk_format`: the file system of an ephemeral one."""

    kind: LocalDiskKind
    size_mib: int
    device: str = ""
    bus: str = ""
    tag: str = ""
    boot_index: int = -1
    disk_format: str = ""


class VolumeWorkKind(StrEnum):
    """What a host that reaches a pool is asked to do there. Its subject is the volume, snapshot or backup."""

    VOLUME_CREATE = "volume_create"
    VOLUME_DELETE = "volume_delete"
    VOLUME_EXTEND = "volume_extend"
    VOLUME_REVERT = "volume_revert"
    VOLUME_SNAPSHOT_CREATE = "volume_snapshot_create"
    VOLUME_SNAPSHOT_DELETE = "volume_snapshot_delete"
    VOLUME_BACKUP_CREATE = "volume_backup_create"
    VOLUME_RESTORE = "volume_restore"
    """A volume that is there gets the bytes of a backup. Its subject is the volume."""
    VOLUME_UPLOAD = "volume_upload"
    """A volume that nobody has becomes an image. Its subject is the volume."""
    VOLUME_RETYPE = "volume_retype"
    """A volume that nobody has is copied into another pool. Its subject is the volume."""
    VOLUME_LEAVE = "volume_leave"
    """What a volume left in a pool that it is not in any more is removed. Its subject is the volume."""
    VOLUME_LIMIT = "volume_limit"
    """A guest is held to the present limits of a volume that it has, and sees its size. Its subject: the attachment."""


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """What a host says of a volume or snapshot once it did what was asked."""

    location: Annotated[dict[Text, Text], Meta(max_length=64)] = field(default_factory=dict)
    size_bytes: Amount = 0
    used_bytes: Amount = 0
    is_consistent: bool = False
    """Of a snapshot: the guest's file systems stood still when it was taken."""
    frozen_ms: Amount = 0


@dataclass(frozen=True, slots=True)
class VolumesOnHost:
    """What a pool has, for the comparison with the rows: volumes and snapshots (as `volume/snapshot`), by id.

    `identity` is what the pool was when it was read: what was read of another one than is meant says nothing.
    """

    pool: Word
    identity: Name = ""
    volumes: Annotated[tuple[Name, ...], Meta(max_length=IN_POOL_MAX)] = ()
    snapshots: Annotated[tuple[Name, ...], Meta(max_length=IN_POOL_MAX)] = ()
