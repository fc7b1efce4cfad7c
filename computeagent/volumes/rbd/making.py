"""Making one volume in a Ceph pool, under the name of a part: blank, or of what is there already."""

import json
import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from computeagent.protocol.volumes import VolumeSource, VolumeSourceKind, VolumeSpec
from computeagent.volumes import luks, qemu_img
from computeagent.volumes.base import ImageFile, KeyOf, VolumeBackendError, VolumeProgress
from computeagent.volumes.programs import ProgramFailed, run, run_long, secret_descriptor
from computeagent.volumes.rbd.names import BASE_SNAPSHOT, base_name, part_name, volume_name
from computeagent.volumes.rbd.place import EEXIST, ENOENT, LIMIT_S, RbdPlace
from controlplane.kernel.disk_images import disk_image_size
from controlplane.kernel.errors import Invalid

log = logging.getLogger(__name__)
GIB = 2**30
DEPTH = "kilonova.depth"
MAX_DEPTH = 5
"""Clones of clones are read through all below them; one deeper than this is copied whole, as Cinder does by default."""
IMAGE_FORMATS = ("qcow2", "raw")
MEMORY_LIMIT_BYTES = 4 * GIB
"""Of address space, of which librbd's threads take much: what a hostile image can make qemu-img ask for."""
ROUNDS = 3


def bytes_wanted(size_gib: int, size_bytes: int) -> int:
    """How large the image of a volume of so many GiB is, which has `size_bytes` now: LUKS has its header beside."""
    return size_gib * GIB + size_bytes % GIB


@dataclass(frozen=True)
class VolumeMaking:
    """One attempt. Whatever fails or is cut off leaves only the part, and the source as it was."""

    place: RbdPlace
    volume: VolumeSpec
    part: str
    key_of: KeyOf
    progress: VolumeProgress

    @property
    def _image(self) -> str:
        return self.place.image(self.part)

    def make(self, source: VolumeSource, image_file: ImageFile) -> None:
        """Have the part, whole. Raises VolumeBackendError."""
        if source.kind is VolumeSourceKind.BLANK:
            self._blank()
        elif source.kind is VolumeSourceKind.BACKUP:  # which brings the header of an encrypted volume with it
            header = luks.HEADER_BYTES if self.volume.is_encrypted else 0
            self.place.rbd("create", "--size", f"{self.volume.size_gib * GIB + header}B", self._image)
        elif source.kind is VolumeSourceKind.IMAGE and self.volume.is_encrypted:
            path = image_file()
            self._room_check(_virtual_size(path, source.disk_format))
            self._blank()
            self._copy(qemu_img.flat_image(path, source.disk_format), "")
        elif source.kind is VolumeSourceKind.IMAGE:
            self._clone_of_image(source, image_file)
        else:
            self._of_snapshot(source)

    def forget_source(self, source: VolumeSource) -> None:
        """Of a volume that was the source nothing is left; what was cloned of it stands by itself in Ceph's eyes."""
        if source.kind is VolumeSourceKind.VOLUME:
            try:
                snapshot = self.place.image(volume_name(source.id), self._moment)
                self.place.rbd("snap", "rm", "--no-progress", snapshot, passed=(ENOENT,))
            except VolumeBackendError as error:
                log.warning(
                    "a snapshot for volume %s is left at volume %s: %s", self.volume.id, source.id, error.message
                )

    @property
    def _moment(self) -> str:
        return f"for-{self.volume.id}"

    def _blank(self) -> None:
        size = self.volume.size_gib * GIB
        if not self.volume.is_encrypted:
            self.place.rbd("create", "--size", f"{size}B", self._image)
            return
        options, passphrase = f"key-secret=key,iter-time={luks.ITERATIONS_MS}", self.key_of(self.volume.id)
        for left in reversed(range(luks.MEASURE_TRIES)):
            with secret_descriptor(passphrase) as key:
                secret = f"secret,id=key,file=/dev/fd/{key}"
                command = ["qemu-img", "create", "-q", "-f", "luks", "--object", secret, "-o", options]
                try:
                    run([*command, self.place.qemu_name(self.part), str(size)], limit_s=LIMIT_S, descriptors=(key,))
                except ProgramFailed as error:
                    if not left or luks.NOT_MEASURED not in error.message:
                        raise
                    self.place.rbd("rm", "--no-progress", self._image, passed=(ENOENT,))
                else:
                    return

    def _clone_of_image(self, source: VolumeSource, image_file: ImageFile) -> None:
        base = base_name(source.id, source.checksum)
        for _ in range(ROUNDS):
            info = self.place.rbd_json("info", self.place.image(base, BASE_SNAPSHOT), passed=(ENOENT,))
            if info is None:
                self._base_make(base, image_file(), source.disk_format)
            elif self._clone(base, BASE_SNAPSHOT, int(info["size"]), depth=1):
                return
        raise VolumeBackendError(f"image {source.id} cannot be had in pool {self.place.pool}: it is removed each time")

    def _base_make(self, base: str, path: Path, disk_format: str) -> None:
        """Have the image's bytes in the pool, once for all volumes. Of two hosts that do it at once one is first."""
        size = _virtual_size(path, disk_format)
        self._room_check(size)
        part = part_name(base)
        target = [
            "-n",
            "--target-is-zero",
            "-O",
            "raw",
            qemu_img.flat_image(path, disk_format),
            self.place.qemu_name(part),
        ]
        limits = ["prlimit", f"--as={MEMORY_LIMIT_BYTES}", "--"]
        try:
            self.place.rbd("create", "--size", f"{-(-size // 512) * 512}B", self.place.image(part))
            run_long(
                [*limits, "qemu-img", "convert", "-p", *target],
                self.progress,
                total_bytes=size,
                silent_s=5.0 * self.place.osd_s,
            )
            self.place.rbd("snap", "create", "--no-progress", self.place.image(part, BASE_SNAPSHOT))
            if self.place.rbd("rename", self.place.image(part), self.place.image(base), passed=(EEXIST,)):
                return
        except BaseException:
            self._base_forget(part)
            raise
        self._base_forget(part)

    def _base_forget(self, part: str) -> None:
        try:
            self.place.rbd("snap", "purge", "--no-progress", self.place.image(part), passed=(ENOENT,))
            self.place.rbd("rm", "--no-progress", self.place.image(part), passed=(ENOENT,))
        except VolumeBackendError as error:
            log.warning("%s is left in pool %s for now: %s", part, self.place.pool, error.message)

    def _of_snapshot(self, source: VolumeSource) -> None:
        """Of a snapshot, or of a volume as it is at this moment."""
        origin, snapshot = volume_name(source.volume_id), source.id
        if source.kind is VolumeSourceKind.VOLUME:
            origin, snapshot = volume_name(source.id), self._moment
            self.place.rbd("snap", "create", "--no-progress", self.place.image(origin, snapshot), passed=(EEXIST,))
        info = self.place.rbd_json("info", self.place.image(origin, snapshot), passed=(ENOENT,))
        if info is None:
            raise VolumeBackendError(f"{self.place.image(origin, snapshot)} is not there")
        if source.is_encrypted != self.volume.is_encrypted:
            self._room_check(int(info["size"]) // GIB * GIB)
            self._blank()
            key_id = (source.volume_id or source.id) if source.is_encrypted else ""
            self._copy(_pool_image(self.place.qemu_name(origin, snapshot), "theirs" if key_id else ""), key_id)
            return
        depth = self._depth(origin) + 1
        if not self._clone(origin, snapshot, int(info["size"]), depth=depth):
            raise VolumeBackendError(f"{self.place.image(origin, snapshot)} is not there")
        if self.volume.is_encrypted:
            self._key_check()

    def _clone(self, origin: str, snapshot: str, size_bytes: int, *, depth: int) -> bool:
        """Whether the snapshot was there to be cloned."""
        header = size_bytes % GIB if self.volume.is_encrypted else 0
        self._room_check(size_bytes - header)
        clone = ("clone", "--rbd-default-clone-format=2", self.place.image(origin, snapshot), self._image)
        if not self.place.rbd(*clone, passed=(ENOENT,)):
            return False
        size = self.volume.size_gib * GIB + header
        if size > size_bytes:
            self.place.rbd("resize", "--no-progress", "--size", f"{size}B", self._image)
        if depth > MAX_DEPTH:
            flatten = self.place.command("flatten", self._image)
            run_long(flatten, self.progress, total_bytes=size, silent_s=5.0 * self.place.osd_s)
            depth = 0
        self.place.rbd("image-meta", "set", self._image, DEPTH, str(depth))
        return True

    def _depth(self, name: str) -> int:
        """How many clones lie below it."""
        found = self.place.rbd_json("image-meta", "ls", self.place.image(name))
        return int((found or {}).get(DEPTH, 0))

    def _copy(self, origin: str, origin_key_id: str) -> None:
        """Copy the bytes of what these options open into the part, encrypted or not, as the volume is to be."""
        target = _opened(self.place.qemu_name(self.part), "ours" if self.volume.is_encrypted else "")
        with ExitStack() as stack:
            objects, descriptors = [], []
            keys = {"ours": self.volume.id if self.volume.is_encrypted else "", "theirs": origin_key_id}
            for name, key_id in keys.items():
                if key_id:
                    descriptors.append(stack.enter_context(secret_descriptor(self.key_of(key_id))))
                    objects += ["--object", f"secret,id={name},file=/dev/fd/{descriptors[-1]}"]
            options = ["--target-image-opts", "-n", "-p", origin, target]
            run_long(
                ["prlimit", f"--as={MEMORY_LIMIT_BYTES}", "--", "qemu-img", "convert", *objects, *options],
                self.progress,
                total_bytes=self.volume.size_gib * GIB,
                silent_s=5.0 * self.place.osd_s,
                descriptors=descriptors,
            )

    def _key_check(self) -> None:
        """A clone of an encrypted volume opens by the passphrase that both have."""
        with secret_descriptor(self.key_of(self.volume.id)) as key:
            secret = f"secret,id=ours,file=/dev/fd/{key}"
            opened = ["--image-opts", _opened(self.place.qemu_name(self.part), "ours")]
            command = [
                "qemu-img",
                "map",
                "--output=json",
                "--max-length=512",
                "--object",
                secret,
                *opened,
            ]  # `info` asks for no key
            run(command, limit_s=LIMIT_S, descriptors=(key,))

    def _room_check(self, size_bytes: int) -> None:
        needed = -(-size_bytes // GIB)
        if needed > self.volume.size_gib:
            raise VolumeBackendError(
                f"what it is made of has {needed} GiB and does not fit a volume of {self.volume.size_gib} GiB",
                is_users=True,
            )


def _virtual_size(path: Path, disk_format: str) -> int:
    """How large an image's disk is. Its bytes are looked at before QEMU opens them. Raises VolumeBackendError."""
    if disk_format not in IMAGE_FORMATS:
        raise VolumeBackendError(f"Images of format {disk_format[:20]} are not made into volumes.", is_users=True)
    try:
        with path.open("rb") as file:
            return disk_image_size(file, declared=disk_format, file_bytes=path.stat().st_size)
    except Invalid as error:
        raise VolumeBackendError(error.message, is_users=True) from error
    except OSError as error:
        raise VolumeBackendError(f"the image cannot be read: {error.strerror}") from error


def _opened(name: str, key: str) -> str:
    """Options that open an image of the pool, as LUKS where a key is named."""
    inner = f"file.driver=rbd,file.filename={name}"
    return f"driver=luks,key-secret={key},{inner}" if key else f"driver=raw,{inner}"


def _pool_image(name: str, key: str) -> str:
    """The same as the name of a source."""
    format_of = {"driver": "luks", "key-secret": key} if key else {"driver": "raw"}
    return "json:" + json.dumps(format_of | {"file": {"driver": "rbd", "filename": name}})
