"""The verbs about volumes, of a control plane in memory."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.uploads import UploadPlace
from computeagent.protocol.volume_work import BackupBytes, VolumeOrder
from computeagent.protocol.volumes import (
    NO_SOURCE,
    VolumeFacts,
    VolumesOnHost,
    VolumeSource,
    VolumeSpec,
    VolumeWorkKind,
)
from computeagent.protocol.work import AgentLease
from controlplane.kernel.errors import Fenced, Invalid, NotFound, Unavailable


@dataclass
class VolumeWorkRow:
    """One piece of work on a volume and its lease."""

    work_id: str
    kind: VolumeWorkKind
    volume: VolumeSpec
    source: VolumeSource = NO_SOURCE
    snapshot_id: str = ""
    guest: GuestSpec | None = None
    state: str = "waiting"
    attempt: int = 0
    owner: str = ""
    lease_until: float = 0.0
    facts: VolumeFacts | None = None
    failure: tuple[str, FailureClass] | None = None
    progress: list[tuple[int, int]] = field(default_factory=list)
    since_snapshot_id: str = ""
    backups: tuple[BackupBytes, ...] = ()


class VolumesAsked:
    """Work on volumes of a host. `knows_volumes`: without, it is of an earlier release."""

    knows_volumes = True

    def __init__(self) -> None:
        self.volume_asks = 0
        self.volume_works: dict[str, VolumeWorkRow] = {}
        self.volume_keys: dict[str, str] = {}
        self.volumes_made: list[tuple[str, VolumeFacts]] = []
        self.volume_lease_s = 5.0
        self.piece_bytes = 1000
        self.announced: tuple[int, str] = (0, "")
        self.sent = bytearray()
        self.cuts: list[Unavailable | Fenced] = []
        self.backups: dict[str, bytes] = {}
        self.pools_told: list[tuple[list[VolumesOnHost], str]] = []
        self.volumes_due: list[VolumesOnHost] = []

    def volume_order(self, kind: VolumeWorkKind, volume: VolumeSpec, **more: object) -> VolumeWorkRow:
        """Write down work on a volume."""
        row = VolumeWorkRow(f"{kind}-{volume.id}-{len(self.volume_works)}", kind, volume, **more)  # type: ignore[arg-type]
        self.volume_works[row.work_id] = row
        return row

    def volume_work(self, *, host: str) -> list[str]:
        """See Conductor."""
        self.volume_asks += 1
        if not self.knows_volumes:
            raise NotFound("There is no verb 'volume_work' here.")
        return [row.work_id for row in self.volume_works.values() if self._is_free(row)]

    def volume_take(self, *, host: str, work_id: str, owner: str, token: str) -> VolumeOrder | None:
        """See Conductor."""
        row = self.volume_works[work_id]
        if self._is_free(row):
            row.state, row.owner, row.attempt = "running", f"{owner}:{token}", row.attempt + 1
        elif row.owner != f"{owner}:{token}":
            return None
        row.lease_until = time.monotonic() + self.volume_lease_s
        lease = AgentLease(work_id, row.attempt, row.owner, self.volume_lease_s)
        return VolumeOrder(
            lease,
            row.kind,
            row.volume,
            "",
            row.snapshot_id,
            row.source,
            row.guest,
            since_snapshot_id=row.since_snapshot_id,
            backups=row.backups,
        )

    def upload_begin(self, *, lease: AgentLease, size_bytes: int, sha256: str) -> UploadPlace:
        """See Conductor."""
        self.volume_held(lease)
        if self.announced != (size_bytes, sha256):
            self.announced, self.sent = (size_bytes, sha256), bytearray()
        return UploadPlace(len(self.sent), self.piece_bytes)

    def upload_piece(self, *, lease: AgentLease, offset: int, data: bytes) -> int:
        """See Conductor."""
        self.volume_held(lease)
        if self.cuts:
            raise self.cuts.pop()
        self.sent[offset:] = data
        return len(self.sent)

    def upload_end(self, *, lease: AgentLease) -> None:
        """See Conductor."""
        self.volume_held(lease)
        if (len(self.sent), hashlib.sha256(self.sent).hexdigest()) != self.announced:
            raise Invalid("The bytes that came are not those that were announced.")
        self.backups[lease.work_id] = bytes(self.sent)

    def volume_progress(self, *, lease: AgentLease, done_bytes: int, total_bytes: int) -> None:
        """See Conductor."""
        self.volume_held(lease).progress.append((done_bytes, total_bytes))

    def volume_done(self, *, lease: AgentLease, facts: VolumeFacts) -> None:
        """See Conductor."""
        row = self.volume_held(lease)
        row.state, row.facts = "done", facts

    def volume_failed(self, *, lease: AgentLease, message: str, failure_class: FailureClass) -> None:
        """See Conductor."""
        row = self.volume_held(lease)
        row.state, row.failure = "failed", (message, failure_class)

    def volume_made(self, *, lease: AgentLease, volume_id: str, facts: VolumeFacts) -> None:
        """See Conductor."""
        self.volumes_made.append((volume_id, facts))

    def volume_key(self, *, host: str, volume_id: str) -> str:
        """See Conductor."""
        if volume_id not in self.volume_keys:
            raise NotFound("This host has nothing to do with such a volume.")
        return self.volume_keys[volume_id]

    def volumes_present(
        self, *, host: str, pools: Sequence[VolumesOnHost], not_removed_because: str = ""
    ) -> list[VolumesOnHost]:
        """See Conductor."""
        self.pools_told.append((list(pools), not_removed_because))
        return self.volumes_due

    def volume_held(self, lease: AgentLease) -> VolumeWorkRow:
        """The row of a lease that holds still, which is prolonged. Raises Fenced."""
        row = self.volume_works[lease.work_id]
        is_valid = row.state == "running" and row.lease_until > time.monotonic()
        if not is_valid or (row.attempt, row.owner) != (lease.attempt, lease.owner):
            raise Fenced(f"work {lease.work_id}: attempt {lease.attempt} is not the one that holds it")
        row.lease_until = time.monotonic() + self.volume_lease_s
        return row

    def _is_free(self, row: VolumeWorkRow) -> bool:
        return row.state == "waiting" or (row.state == "running" and row.lease_until <= time.monotonic())
