"""Volumes as files of a directory, of one host or shared by several (NFS, CephFS): raw, with holes.

Raw is the one format that several guests may have open at once, whose LUKS is the same as behind a server, and which
has nothing in it that a guest could write to lead its reader elsewhere. Snapshots are whole copies, which share their
blocks where the file system can (XFS, Btrfs).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from computeagent.protocol.volumes import (
    DiskSource,
    PoolAbility,
    PoolKind,
    PoolReport,
    VolumeFacts,
    VolumeSource,
    VolumeSourceKind,
    VolumeSpec,
)
from computeagent.volumes import luks
from computeagent.volumes.away import is_away_error
from computeagent.volumes.base import ImageFile, KeyOf, VolumeBackendError, VolumeProgress
from computeagent.volumes.file import sparse
from computeagent.volumes.file.directory import PoolDirectory
from computeagent.volumes.file.new_volume import (
    LET_GO_S,
    NewVolume,
    data_offset,
    file_bytes,
    unused_require,
    used_bytes,
    whole_copy,
)
from controlplane.kernel.kill_points import Injected, reach
from controlplane.kernel.units import GIB

ABILITIES = (
    PoolAbility.MULTI_ATTACH,
    PoolAbility.EXTEND_ATTACHED,
    PoolAbility.SNAPSHOT_ATTACHED,
    PoolAbility.REVERT,
    PoolAbility.ENCRYPT,
    PoolAbility.BACKUP_ATTACHED,
    PoolAbility.INCREMENTAL_BACKUP,
)
NO_CLONES = "its file system has no reflinks, so snapshots, and volumes made of them, are copied whole"
CREATE, SNAPSHOT, REVERT = "create", "snapshot", "revert"


class FileBackend:
    """A VolumeBackend over one directory. `limit_gib`: how much of the file system the pool may promise; 0: all.
    `let_go_s`: how long a guest may take to let go of a volume that is to be changed.
    """

    def __init__(
        self,
        name: str,
        directory: PoolDirectory,
        *,
        is_shared: bool,
        limit_gib: int = 0,
        let_go_s: float = LET_GO_S,
    ) -> None:
        self._name = name
        self._directory = directory
        self._is_shared = is_shared
        self._limit_bytes = limit_gib * GIB
        self._let_go_s = let_go_s

    def report(self) -> PoolReport:
        """See VolumeBackend."""
        report = PoolReport(self._name, PoolKind.FILE, is_shared=self._is_shared)
        try:
            with host_errors("looking at the pool"):
                identity = self._directory.identity()
                total, free = self._room()
                shares = self._directory.can_share()
        except VolumeBackendError as error:
            return PoolReport(report.name, report.kind, is_shared=report.is_shared, problem=error.message)
        return PoolReport(
            report.name,
            report.kind,
            is_shared=report.is_shared,
            identity=identity,
            total_bytes=total,
            free_bytes=free,
            abilities=(*ABILITIES, PoolAbility.CLONE) if shares else ABILITIES,
            lacks=() if shares else (NO_CLONES,),
        )

    def create(
        self,
        volume: VolumeSpec,
        source: VolumeSource,
        *,
        image_file: ImageFile,
        key_of: KeyOf,
        progress: VolumeProgress,
    ) -> VolumeFacts:
        """See VolumeBackend. An encrypted copy of an encrypted volume has the same bytes, which the source's own
        passphrase opens: it has to be this volume's as well.
        """
        final = self._require(volume)
        with host_errors("making the volume"), self._directory.part(CREATE, final) as part:
            if final.exists():
                return self._facts(volume)
            new = NewVolume(self._directory, part, volume, key_of, progress, self._let_go_s)
            match source.kind:
                case VolumeSourceKind.IMAGE:
                    new.of_image(image_file(), source.disk_format)
                case VolumeSourceKind.SNAPSHOT | VolumeSourceKind.VOLUME:
                    new.of_file(source)
                case VolumeSourceKind.BACKUP:
                    new.unwritten()
                case VolumeSourceKind.BLANK:
                    new.blank()
            reach("computeagent.volumes.file:made")
            progress(volume.size_gib * GIB, volume.size_gib * GIB)
            self._directory.publish(part, final)
            reach("computeagent.volumes.file:published")
        return self._facts(volume)

    def delete(self, volume: VolumeSpec) -> None:
        """See VolumeBackend. Raises VolumeBackendError while a guest has it."""
        final = self._require(volume)
        with host_errors("removing the volume"):
            if final.exists():
                unused_require(final, self._let_go_s)
            self._directory.all_removed(volume.id)

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """See VolumeBackend."""
        final = self._require(volume, must_exist=True)
        with host_errors("extending the volume"):
            size = file_bytes(final, volume)
            if final.stat().st_size < size:
                unused_require(final, self._let_go_s)
                os.truncate(final, size)
                _synced(final)
        return self._facts(volume)

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend. Raises VolumeBackendError while a guest has the volume."""
        live = self._require(volume, must_exist=True)
        final = self._directory.snapshot(volume.id, snapshot_id)
        with host_errors("making the snapshot"), self._directory.part(SNAPSHOT, final) as part:
            if not final.exists():
                unused_require(live, self._let_go_s)
                whole_copy(self._directory, live, part, progress)
                reach("computeagent.volumes.file:copied")
                self._directory.publish(part, final)
        return self._facts(volume, final)

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """See VolumeBackend."""
        live = self._require(volume, must_exist=True)
        with host_errors("making room for the snapshot"):
            # QEMU's backup job reserves the space of what is blank, too, until `snapshot_keep` gives it back.
            self._directory.room_require(live.stat().st_size)
        return self._directory.target(volume.id, snapshot_id)

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """See VolumeBackend. A copy in clear of an encrypted volume is refused, and removed."""
        self._require(volume)
        final, target = (of(volume.id, snapshot_id) for of in (self._directory.snapshot, self._directory.target))
        with host_errors("making the snapshot"):
            if not final.exists():
                try:
                    if volume.is_encrypted:
                        luks.payload_offset(target)
                    if os.geteuid() == 0:
                        os.chown(target, 0, 0)
                    target.chmod(0o600)
                    sparse.holes_freed(target)
                    self._directory.publish(target, final)
                except VolumeBackendError:
                    target.unlink(missing_ok=True)
                    raise
                reach("computeagent.volumes.file:kept")
            target.unlink(missing_ok=True)
        return self._facts(volume, final)

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """See VolumeBackend."""
        self._require(volume)
        final = self._directory.snapshot(volume.id, snapshot_id)
        with host_errors("removing the snapshot"):
            self._directory.parts_remove(SNAPSHOT, final)
            self._directory.target(volume.id, snapshot_id).unlink(missing_ok=True)
            final.unlink(missing_ok=True)

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend. A volume that has grown since stays as large. Raises VolumeBackendError while a guest has
        it.
        """
        final = self._require(volume, must_exist=True)
        snapshot = self._directory.snapshot(volume.id, snapshot_id)
        with host_errors("reverting the volume"), self._directory.part(REVERT, final) as part:
            if not snapshot.exists():
                raise VolumeBackendError(f"snapshot {snapshot_id} is not in pool {self._name}")
            unused_require(final, self._let_go_s)
            whole_copy(self._directory, snapshot, part, progress)
            os.truncate(part, max(part.stat().st_size, file_bytes(part, volume)))
            reach("computeagent.volumes.file:reverting")
            self._directory.replace(part, final)
        return self._facts(volume)

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """See VolumeBackend."""
        return DiskSource(PoolKind.FILE, path=str(self._require(volume, must_exist=True)))

    def disconnect(self, volume: VolumeSpec) -> None:
        """See VolumeBackend: nothing served it."""

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """See VolumeBackend. Of an encrypted volume it is LUKS as it stands, its header with it."""
        path = self._require(volume, must_exist=not snapshot_id)
        if snapshot_id:
            path = self._directory.snapshot(volume.id, snapshot_id)
        with host_errors("reading the snapshot" if snapshot_id else "reading the volume"):
            if not snapshot_id:
                unused_require(path, self._let_go_s)
            if since_snapshot_id:
                yield from sparse.differing(path, self._directory.snapshot(volume.id, since_snapshot_id))
            else:
                yield from sparse.pieces(path)

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """See VolumeBackend."""
        final = self._require(volume, must_exist=True)
        with host_errors("writing to the volume"):
            unused_require(final, self._let_go_s)
            size = final.stat().st_size
            with final.open("r+b") as file:
                if is_over_nothing:
                    file.truncate(0)
                    file.truncate(size)
                for offset, piece in parts:
                    if offset + len(piece) > size:
                        raise VolumeBackendError(f"the backup is larger than the volume of {volume.size_gib} GiB")
                    os.pwrite(file.fileno(), piece, offset)
                os.fsync(file.fileno())

    def facts_of_snapshot(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """Of one that is there. Raises VolumeBackendError, OSError."""
        return self._facts(volume, self._directory.snapshot(volume.id, snapshot_id))

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """See VolumeBackend."""
        self._directory.identity()
        with host_errors("listing the volumes"):
            return self._directory.held()

    def _require(self, volume: VolumeSpec, *, must_exist: bool = False) -> Path:
        """Where the volume is, in a directory that is the pool's. Raises VolumeBackendError."""
        self._directory.identity()
        path = self._directory.volume(volume.id)
        if must_exist and not path.exists():
            raise VolumeBackendError(f"volume {volume.id} is not in pool {self._name}")
        return path

    def _room(self) -> tuple[int, int]:
        """Bytes of the pool, and those that are free."""
        total, free = self._directory.room()
        if not self._limit_bytes:
            return total, free
        used = sum(used_bytes(path) for path in self._directory.path.glob("*/*"))
        return min(total, self._limit_bytes), max(0, min(free, self._limit_bytes - used))

    def _facts(self, volume: VolumeSpec, path: Path | None = None) -> VolumeFacts:
        path = path or self._directory.volume(volume.id)
        return VolumeFacts(size_bytes=path.stat().st_size - data_offset(path, volume), used_bytes=used_bytes(path))


@contextmanager
def host_errors(doing: str) -> Iterator[None]:
    """Turn an OSError inside (a full disk, a directory that is gone) into a VolumeBackendError."""
    try:
        yield
    except OSError as error:
        raise VolumeBackendError(f"{doing}: {error}", is_away=is_away_error(error)) from error
    except Injected as error:
        raise VolumeBackendError(f"{doing}: {error.message}") from error


def _synced(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
