"""How the file of a new volume gets its bytes: of nothing, an image, another file of the pool; encrypted or not."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from computeagent.protocol.volumes import VolumeSource, VolumeSourceKind, VolumeSpec
from computeagent.volumes import luks, qemu_img
from computeagent.volumes.base import KeyOf, VolumeBackendError, VolumeProgress
from computeagent.volumes.file import sparse
from computeagent.volumes.file.directory import PoolDirectory
from controlplane.kernel.disk_images import disk_image_size
from controlplane.kernel.errors import Invalid
from controlplane.kernel.units import GIB, bytes_to_gib_up

LET_GO_S = 5.0
"""A QEMU that was just told to let go of a file may have it for a moment still."""
POLL_S = 0.2
SOURCE = "source"


@dataclass(frozen=True, slots=True)
class NewVolume:
    """A volume that is made at `part`, a name with nothing at it."""

    directory: PoolDirectory
    part: Path
    volume: VolumeSpec
    key_of: KeyOf
    progress: VolumeProgress
    let_go_s: float

    def blank(self) -> None:
        """Nothing but zeros; of an encrypted one whatever its holes decrypt to, until they are written."""
        if self.volume.is_encrypted:
            luks.luks_create(self.part, self._size, self.key_of(self.volume.id))
        else:
            self.unwritten()

    def unwritten(self) -> None:
        """What a backup is restored into: of an encrypted volume the header comes from there."""
        self.part.touch(mode=0o600, exist_ok=False)
        os.truncate(self.part, self._size + (luks.HEADER_BYTES if self.volume.is_encrypted else 0))

    def of_image(self, image: Path, disk_format: str) -> None:
        """The image's disk. It is hostile, and whatever other file it names is not opened."""
        try:
            with image.open("rb") as file:
                size = disk_image_size(file, declared=disk_format, file_bytes=image.stat().st_size)
        except Invalid as error:
            raise VolumeBackendError(error.message, is_users=True) from error
        if size > self._size:
            raise VolumeBackendError(
                f"the image is {bytes_to_gib_up(size)} GiB when unpacked and does not fit a volume of "
                f"{self.volume.size_gib} GiB",
                is_users=True,
            )
        self._convert(qemu_img.flat_image(image, disk_format), image, {}, size if self.volume.is_encrypted else 0)

    def of_file(self, source: VolumeSource) -> None:
        """A snapshot, or a volume that no guest has. An encrypted one in clear, and the other way round, too."""
        of_id = source.volume_id if source.kind is VolumeSourceKind.SNAPSHOT else source.id
        path = self.directory.volume(of_id)
        if source.kind is VolumeSourceKind.SNAPSHOT:
            path = self.directory.snapshot(of_id, source.id)
        if not path.exists():
            raise VolumeBackendError(f"{source.kind.value} {source.id} is not in the pool")
        if source.kind is VolumeSourceKind.VOLUME:
            unused_require(path, self.let_go_s)
        size = path.stat().st_size - (luks.payload_offset(path) if source.is_encrypted else 0)
        if size > self._size:
            raise VolumeBackendError(
                f"the {source.kind.value} is larger than {self.volume.size_gib} GiB", is_users=True
            )
        if source.is_encrypted != self.volume.is_encrypted:
            if source.is_encrypted:
                self._convert(qemu_img.luks_file(path, SOURCE), path, {SOURCE: self.key_of(of_id)}, used_bytes(path))
            else:
                self._convert(qemu_img.flat_image(path, "raw"), path, {}, size)
            return
        if self.volume.is_encrypted:
            luks.luks_require(path, self.key_of(self.volume.id))
        whole_copy(self.directory, path, self.part, self.progress)
        os.truncate(self.part, file_bytes(self.part, self.volume))

    @property
    def _size(self) -> int:
        return self.volume.size_gib * GIB

    def _convert(self, name: str, source: Path, secrets: dict[str, bytes], wanted_bytes: int) -> None:
        """Unpack what qemu-img opens by this name, of the file `source`. Into LUKS zeros are written too, since nothing
        else reads as zeros there. It will take `wanted_bytes`, 0 for a guess.
        """
        self.directory.room_require(wanted_bytes or used_bytes(source))
        target = ["-O", "raw", name, str(self.part)]
        if self.volume.is_encrypted:
            passphrase = self.key_of(self.volume.id)
            luks.luks_create(self.part, self._size, passphrase)
            secrets = {**secrets, luks.SECRET: passphrase}
            target = ["-n", "--target-image-opts", name, qemu_img.luks_target(self.part, luks.SECRET)]

        def poll() -> None:
            self.directory.room_require(0)
            self.progress(min(used_bytes(self.part), self._size), self._size)

        qemu_img.run(
            ["convert", "-q", *target],
            readable=[source],
            writable=[self.part],
            max_file_bytes=self._size + luks.HEADER_BYTES,
            secrets=secrets,
            poll=poll,
        )
        if not self.volume.is_encrypted:
            os.truncate(self.part, self._size)


def whole_copy(directory: PoolDirectory, source: Path, part: Path, progress: VolumeProgress) -> None:
    """A copy of a file at `part`. Raises VolumeBackendError where it does not fit."""
    total, done = sparse.data_bytes(source), 0

    def moved(count: int) -> None:
        nonlocal done
        done += count
        directory.room_require(0)
        progress(done, total)

    if not directory.can_share():
        directory.room_require(total)
    progress(0, total)
    part.touch(mode=0o600, exist_ok=False)
    with source.open("rb") as old, part.open("r+b") as new:
        sparse.copy(old.fileno(), new.fileno(), moved)
    progress(total, total)


def unused_require(path: Path, let_go_s: float) -> None:
    """Raises VolumeBackendError where a guest has the file open for writing still after `let_go_s` seconds."""
    end = time.monotonic() + let_go_s
    while sparse.is_open_for_writing(path):
        if time.monotonic() > end:
            raise VolumeBackendError(f"a guest has volume {path.name} open")
        time.sleep(POLL_S)


def data_offset(path: Path, volume: VolumeSpec) -> int:
    """Where the volume's first byte is. An encrypted one that a backup is to be restored into has no header yet."""
    if not volume.is_encrypted:
        return 0
    return luks.payload_offset(path) if sparse.begins_with_data(path) else luks.HEADER_BYTES


def file_bytes(path: Path, volume: VolumeSpec) -> int:
    """How large the file of this volume has to be."""
    return volume.size_gib * GIB + data_offset(path, volume)


def used_bytes(path: Path) -> int:
    """What a file takes on disk; nothing where there is none."""
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0
