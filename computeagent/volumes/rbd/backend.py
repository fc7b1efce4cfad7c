"""A Ceph pool as a pool of volumes. See `VolumeBackend`; what is Ceph's own way stands here.

A volume is the image `kilonova-volume-ID`; snapshots are Ceph's, named by their ids. What is made of an image,
snapshot or volume is a clone (version 2), which copies nothing. A deleted volume or snapshot with clones goes on in
Ceph's trash, where nobody sees it, until its last clone is gone: Ceph removes the snapshot then, and the next deletion
or comparison of any host removes the image.
"""

import logging
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from computeagent.protocol.volumes import (
    DiskSource,
    PoolAbility,
    PoolKind,
    PoolReport,
    VolumeFacts,
    VolumeSource,
    VolumeSpec,
)
from computeagent.volumes.base import ImageFile, KeyOf, VolumeBackendError, VolumeProgress
from computeagent.volumes.programs import ProgramFailed, program_failed, run, run_long, started
from computeagent.volumes.rbd.diff_stream import parts_of, stream_of
from computeagent.volumes.rbd.leftovers import leftovers_remove, trash_empty
from computeagent.volumes.rbd.making import GIB, VolumeMaking, bytes_wanted
from computeagent.volumes.rbd.names import is_part, is_snapshot, part_name, volume_id_of, volume_name, whole_name
from computeagent.volumes.rbd.place import CONNECT_S, EBUSY, EEXIST, ENOENT, ENOTEMPTY, LIMIT_S, RbdPlace

log = logging.getLogger(__name__)
PROGRAMS = {"rbd": "ceph-common", "ceph": "ceph-common", "qemu-img": "qemu-utils", "setpriv": "util-linux"}
WATCH_S = 45.0
"""A client that died is forgotten by Ceph after 30 s; until then its image cannot be removed."""


class RbdBackend:
    """See VolumeBackend."""

    def __init__(self, name: str, place: RbdPlace) -> None:
        self.name, self.place = name, place
        self._qemu_problem: str | None = None

    def report(self) -> PoolReport:
        """See VolumeBackend. Capacity is what the pool's replication rule and quota leave, as Ceph reckons it."""
        try:
            problem = self._programs_problem() or self.place.problem
            if not problem:
                return self._report()
        except VolumeBackendError as error:
            problem = error.message
        except (KeyError, ValueError, TypeError) as error:  # a Ceph of another release
            problem = f"Ceph's answer is not understood: {error!r}"
        return PoolReport(self.name, PoolKind.RBD, is_shared=True, problem=problem)

    def _report(self) -> PoolReport:
        pools = self.place.ceph_json("df", "detail")["pools"]
        found = next((pool["stats"] for pool in pools if pool["name"] == self.place.pool), None)
        if found is None:
            raise VolumeBackendError(f"the cluster has no pool {self.place.pool!r} that {self.place.user} may see")
        stored, free = int(found["stored"]), int(found["max_avail"])
        if quota := int(found.get("quota_bytes", 0)):
            free = min(free, max(0, quota - stored))
        self.place.rbd_json("info", self.place.image("kilonova-none"), passed=(ENOENT,), limit_s=3 * CONNECT_S)
        return PoolReport(
            self.name,
            PoolKind.RBD,
            is_shared=True,
            identity=f"{self.place.fsid()}/{self.place.pool}",
            total_bytes=stored + free,
            free_bytes=free,
            abilities=tuple(PoolAbility),
            problem=self._qemu(),
        )

    @staticmethod
    def _programs_problem() -> str:
        missing = [
            f"{program} (Debian: {package})" for program, package in PROGRAMS.items() if not shutil.which(program)
        ]
        return f"not installed: {', '.join(missing)}" if missing else ""

    def _qemu(self) -> str:
        """Why QEMU here cannot open images of the pool; looked up until it can."""
        if self._qemu_problem != "":
            try:
                run(["qemu-img", "info", self.place.qemu_name("kilonova-none")], limit_s=3 * CONNECT_S)
            except ProgramFailed as error:
                has_no_driver = "rotocol" in error.message or "driver" in error.message
                self._qemu_problem = "QEMU lacks its rbd driver (Debian: qemu-block-extra)" if has_no_driver else ""
        return self._qemu_problem or ""

    def create(
        self,
        volume: VolumeSpec,
        source: VolumeSource,
        *,
        image_file: ImageFile,
        key_of: KeyOf,
        progress: VolumeProgress,
    ) -> VolumeFacts:
        """See VolumeBackend. One that is to be filled from a backup is blank here."""
        name = volume_name(volume.id)
        names = self.names()
        if name not in names:
            for left in names:
                if is_part(left) and whole_name(left) == name:
                    self._remove(left)
            # Left by an attempt that ended in the middle of its last step; nobody was told of it.
            self.place.rbd("rm", "--no-progress", self.place.image(name), passed=(ENOENT,))
            part = part_name(name)
            making = VolumeMaking(self.place, volume, part, key_of, progress)
            try:
                making.make(source, image_file)
                self.place.rbd("rename", self.place.image(part), self.place.image(name))
            except BaseException:
                self._remove_quietly(part)
                raise
            finally:
                making.forget_source(source)
        return self._facts(volume)

    def delete(self, volume: VolumeSpec) -> None:
        """See VolumeBackend. One that has clones goes to the trash."""
        name = volume_name(volume.id)
        for left in self.names():
            if whole_name(left) == name:
                self._remove(left)
        trash_empty(self.place)

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """See VolumeBackend."""
        name = volume_name(volume.id)
        self._grow(name, volume.size_gib)
        return self._facts(volume)

    def _grow(self, name: str, size_gib: int) -> None:
        size = self._size(name)
        wanted = bytes_wanted(size_gib, size)
        if wanted > size:
            self.place.rbd("resize", "--no-progress", "--size", f"{wanted}B", self.place.image(name))

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend. A guest's QEMU that holds the image takes part in it, so it is of one moment."""
        del progress
        name = volume_name(volume.id)
        self.place.rbd("snap", "create", "--no-progress", self.place.image(name, snapshot_id), passed=(EEXIST,))
        return self._facts(volume)

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """See VolumeBackend. Ceph does it itself."""
        del volume, snapshot_id
        return None

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """See VolumeBackend. Nothing is ever written beside."""
        raise VolumeBackendError(f"snapshots of volume {volume.id} are Ceph's own; {snapshot_id} cannot be a file")

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """See VolumeBackend. One that has clones goes on where nobody sees it until the last is gone."""
        snapshot = self.place.image(volume_name(volume.id), snapshot_id)
        self.place.rbd("snap", "rm", "--no-progress", snapshot, passed=(ENOENT,))

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend. Ceph copies what differs, object by object, and the size is that of the volume again."""
        name = volume_name(volume.id)
        command = self.place.command("snap", "rollback", self.place.image(name, snapshot_id))
        run_long(command, progress, total_bytes=self._size(name), silent_s=self._silent_s)
        self._grow(name, volume.size_gib)
        return self._facts(volume)

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """See VolumeBackend. A dead cluster is met here, in time; a guest's QEMU would wait for it."""
        name = volume_name(volume.id)
        if self._info(name, limit_s=3 * CONNECT_S) is None:
            raise VolumeBackendError(f"volume {volume.id} is not in pool {self.place.pool}")
        return DiskSource(
            PoolKind.RBD,
            image=self.place.image(name),
            monitors=self.place.monitors(),
            user=self.place.user,
            user_key=self.place.user_key,
        )

    def disconnect(self, volume: VolumeSpec) -> None:
        """See VolumeBackend. QEMU speaks to the cluster itself, and nothing here does it for it."""
        del volume

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """See VolumeBackend."""
        since = ("--from-snap", since_snapshot_id) if since_snapshot_id else ()
        snapshot = self.place.image(volume_name(volume.id), snapshot_id)
        command = self.place.command("export-diff", "--no-progress", *since, snapshot, "-")
        with tempfile.TemporaryFile() as said, started(command, output=subprocess.PIPE, errors=said) as process:
            if process.stdout is None:
                raise VolumeBackendError("rbd has no output")
            try:
                yield from parts_of(process.stdout, has_zeros=bool(since_snapshot_id))
            except VolumeBackendError as error:
                status = process.wait()
                said.seek(0)
                raise (program_failed(command, status, said.read()) if status else error) from error

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """See VolumeBackend."""
        name = volume_name(volume.id)
        size, image = self._size(name), self.place.image(name)
        command = self.place.command("import-diff", "--no-progress", "-", image)
        if is_over_nothing:  # its snapshots keep what they have
            self.place.rbd("resize", "--no-progress", "--allow-shrink", "--size", "0B", image)
            self.place.rbd("resize", "--no-progress", "--size", f"{bytes_wanted(volume.size_gib, size)}B", image)
        with tempfile.TemporaryFile() as said, started(command, given=subprocess.PIPE, errors=said) as process:
            if process.stdin is None:
                raise VolumeBackendError("rbd has no input")
            try:
                for piece in stream_of(size, parts):
                    process.stdin.write(piece)
                process.stdin.close()
                status = process.wait(timeout=self._silent_s)
            except BrokenPipeError:
                status = process.wait()
            except subprocess.TimeoutExpired as error:
                raise ProgramFailed(f"rbd came no further for {self._silent_s:.0f} s", status=-1) from error
            if status:
                said.seek(0)
                raise program_failed(command, status, said.read())

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """See VolumeBackend. What was left by deletions and by attempts that ended is removed on the way."""
        rows = self.place.rbd_json("ls", "-l", self.place.pool, limit_s=30 * LIMIT_S) or ()
        found = [(volume_id_of(row["image"]), row.get("snapshot", "")) for row in rows]
        leftovers_remove(self.place, [row["image"] for row in rows if not row.get("snapshot")])
        volumes = tuple(volume for volume, snapshot in found if volume and not snapshot)
        return volumes, tuple((volume, snapshot) for volume, snapshot in found if volume and is_snapshot(snapshot))

    def names(self) -> list[str]:
        """All images of the pool."""
        return [str(name) for name in self.place.rbd_json("ls", self.place.pool) or ()]

    @property
    def _silent_s(self) -> float:
        return 5.0 * self.place.osd_s

    def _info(self, name: str, *, limit_s: float = LIMIT_S) -> dict[str, object] | None:
        found: dict[str, object] | None = self.place.rbd_json(
            "info", self.place.image(name), passed=(ENOENT,), limit_s=limit_s
        )
        return found

    def _size(self, name: str) -> int:
        info = self._info(name)
        if info is None:
            raise VolumeBackendError(f"image {name} is not in pool {self.place.pool}")
        return int(str(info["size"]))

    def _facts(self, volume: VolumeSpec) -> VolumeFacts:
        name = volume_name(volume.id)
        used, size = self.place.rbd_json("du", self.place.image(name))["images"], self._size(name)
        size -= size % GIB if volume.is_encrypted else 0
        return VolumeFacts(size_bytes=size, used_bytes=sum(int(row["used_size"]) for row in used))

    def _remove(self, name: str) -> None:
        """Have no image of this name. Raises VolumeBackendError, also when a client has it open for longer than a dead
        one could.
        """
        image, deadline = self.place.image(name), time.monotonic() + WATCH_S
        self.place.rbd("snap", "purge", "--no-progress", image, passed=(ENOENT,))
        while True:
            try:
                self.place.rbd("rm", "--no-progress", image, passed=(ENOENT,))
            except ProgramFailed as error:
                if error.status == ENOTEMPTY:
                    self.place.rbd("trash", "mv", image, passed=(ENOENT,))
                elif error.status != EBUSY or time.monotonic() > deadline:
                    raise
                else:
                    time.sleep(1)
                    continue
            return

    def _remove_quietly(self, name: str) -> None:
        """Of an attempt that failed; what cannot be removed now is a leftover."""
        try:
            self._remove(name)
        except VolumeBackendError as error:
            log.warning("%s is left in pool %s for now: %s", name, self.place.pool, error.message)
