"""The order that comes with a piece of work on a volume."""

from dataclasses import dataclass, field

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volumes import NO_SOURCE, VolumeSource, VolumeSpec, VolumeWorkKind
from computeagent.protocol.work import AgentLease


@dataclass(frozen=True, slots=True)
class BackupBytes:
    """A backup of a volume that may be read as `image_chunks`, by its id, under the order's lease."""

    id: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class VolumeOrder:
    """A taken piece of work on a volume. `snapshot_id`: the snapshot to make, to remove, to go back to, or to back up.
    `since_snapshot_id`: only what differs from that one is backed up. `backups`: what a volume is restored from, a full
    one and then what changed since, in this order; of a backup to make, those that it rests on, where their snapshot is
    gone: then only what differs from them is backed up, and `since_snapshot_id` names nothing that is there.

    `source` is what a new volume begins with. `guest` is the instance of this host that has the volume now, with all
    that it has, where there is one: what is done to the volume is then done through its hypervisor. `size_gib` of the
    volume is the size that it is to have. `target`: the same volume in the pool that it is to be copied into.
    """

    lease: AgentLease
    kind: VolumeWorkKind
    volume: VolumeSpec
    request_id: str
    snapshot_id: str = ""
    source: VolumeSource = NO_SOURCE
    guest: GuestSpec | None = None
    since_snapshot_id: str = ""
    backups: tuple[BackupBytes, ...] = ()
    arguments: dict[str, str] = field(default_factory=dict)
    target: VolumeSpec | None = None
