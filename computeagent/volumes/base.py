"""The Protocol of what stores volumes. Every verb is idempotent and named by UUIDs: done already is success."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from computeagent.protocol.volumes import DiskSource, PoolReport, VolumeFacts, VolumeSource, VolumeSpec

VolumeProgress = Callable[[int, int], None]
"""Called with how many bytes are done, and of how many; what it raises ends the copying, with nothing left of it."""
ImageFile = Callable[[], Path]
"""Has the source's image in the host's cache, verified, and says where."""
KeyOf = Callable[[str], bytes]
"""The passphrase of an encrypted volume by its id. It is in no argument of a process, file, log or message."""


class VolumeBackendError(Exception):
    """A pool could not do it. `is_users`: for a reason that the volume's owner may read, and nothing of the host.
    `is_away`: the pool does not answer this host now, which is no fault of what was asked for; it may later.
    """

    def __init__(self, message: str, *, is_users: bool = False, is_away: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_users = is_users
        self.is_away = is_away


class VolumeBackend(Protocol):
    """One pool on this host. Verbs may be called from several threads; on one volume by one at a time in this process.

    Another host may be at a shared pool at the same time, or the process may end anywhere: what is half made has a name
    of its own and takes its final name in one step, and is removed when it is met again.
    """

    def report(self) -> PoolReport:
        """What this pool is and has now; one that cannot be used says why in `problem`, and raises nothing."""

    def create(
        self,
        volume: VolumeSpec,
        source: VolumeSource,
        *,
        image_file: ImageFile,
        key_of: KeyOf,
        progress: VolumeProgress,
    ) -> VolumeFacts:
        """Have the volume, with what its source says. Raises VolumeBackendError, and then nothing of it is there."""

    def delete(self, volume: VolumeSpec) -> None:
        """Have nothing of the volume; its snapshots were removed before."""

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """Have it as large as `size_gib` says. One that no guest has; one that is as large, or larger, is a success."""

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """Have the volume's bytes of one moment under this id."""

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """Where the driver may write a copy of a volume that a guest of this host has; None where
        `snapshot_create` does it while a guest has the volume. `snapshot_keep` makes a whole copy the snapshot.
        """

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """What stands at `snapshot_target` is whole: from now on it is the snapshot."""

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """Have no such snapshot. Volumes that were made of it go on."""

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """Have the snapshot's bytes in the volume, which no guest has. Cut off, it is done from the beginning."""

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """Have the volume ready for a guest of this host. Asked before each start and each attaching."""

    def disconnect(self, volume: VolumeSpec) -> None:
        """No guest of this host has the volume any more: nothing is left here that served it."""

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """Offset and bytes of all parts of the snapshot that are not zero; with `since_snapshot_id` of all that differ
        from that one, and without a `snapshot_id` of the volume itself, which no guest has. Raises VolumeBackendError
        where the pool cannot tell, or a guest has the volume.
        """

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """Write to a volume that no guest has, as a backup is restored: over what it has, or, with `is_over_nothing`,
        after all that it had is gone.
        """

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """Ids of all volumes, and pairs of volume and snapshot, that the pool has."""
