"""Base images by content: fetched once, verified by their checksum, shared read-only by all overlays.

A file is written under a temporary name, synced and renamed, so a base file that exists is complete. Builds of
one image, in this process or in others, wait for each other on a lock file. A fetch that was cut off leaves what it
has, and whoever wants the image next goes on there: after a restart of the control plane or of this agent as well.
"""

import grp
import hashlib
import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from computeagent.drivers.base import DriverError, ImageSource
from computeagent.drivers.libvirt.files import LOCK_TIMEOUT_S, directory_sync, host_errors, locked
from computeagent.drivers.libvirt.qemu_account import QEMU_USER
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.images import WantedImage
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Fenced, Unavailable
from controlplane.kernel.kill_points import reach

log = logging.getLogger(__name__)

Fetched = GuestSpec | BootFile | WantedImage
"""What names an image, its checksum and its size."""
_READ_BYTES = 2**20
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


class ImageCache:
    """The base images in one directory, which several drivers of one machine may share.

    A build waits up to `wait_s` seconds for the download of the same image by another one.
    """

    def __init__(self, directory: Path, *, wait_s: float = LOCK_TIMEOUT_S) -> None:
        self._directory = directory
        self._wait_s = wait_s

    def path(self, image: Fetched) -> Path:
        """Where the base file of the image is or will be."""
        return self._directory / sha256_of(image)

    def ensure(self, image: Fetched, source: ImageSource) -> Path:
        """Have the base file. Raises DriverError: NETWORK when what arrives is not what the checksum says."""
        path = self.path(image)
        with host_errors(f"caching image {image.image_id}"):
            self._directory.mkdir(mode=0o711, parents=True, exist_ok=True)
            if _touched(path):
                return path
            # The other build's download is slow: that is nothing to count against this host.
            slow = FailureClass.NETWORK
            with locked(path.with_suffix(".lock"), wait_s=self._wait_s, failure_class=slow):
                if not _touched(path):
                    self._fetch(image, source, path)
        return path

    def used_bytes(self) -> int:
        """What the base files take on disk."""
        if not self._directory.is_dir():
            return 0
        return sum(entry.stat().st_blocks * 512 for entry in self._directory.iterdir())

    def _fetch(self, image: Fetched, source: ImageSource, path: Path) -> None:
        for left_by_a_release_before in self._directory.glob(f"{path.name}.*.part"):
            left_by_a_release_before.unlink(missing_ok=True)
        part = path.with_suffix(".part")
        try:
            with _part_opened(part) as file:
                reach("computeagent.drivers.image_cache:writing")
                _copy_verified(image, source, file)
                file.flush()
                os.fsync(file.fileno())
            _read_only(part)
            reach("computeagent.drivers.image_cache:written")
            part.rename(path)
            reach("computeagent.drivers.image_cache:renamed")
            directory_sync(self._directory)
        except (Unavailable, Fenced):
            raise  # cut off: what has come is right, and is gone on with
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _part_opened(part: Path) -> BinaryIO:
    """What has come of an image, to read and to write; it is for nobody else before it was verified."""
    with suppress(FileNotFoundError):
        part.chmod(0o600)  # one that was killed before the rename had it read-only
    return os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+b")


def _read_only(path: Path) -> None:
    """For the group that QEMU runs in, where this process may give it the file; else for everybody."""
    try:
        os.chown(path, -1, grp.getgrnam(QEMU_USER).gr_gid)
        path.chmod(0o440)
    except (KeyError, PermissionError):
        path.chmod(0o444)


def _touched(path: Path) -> bool:
    """Whether the file is there; its time then says that somebody wants it (see `image_upkeep`)."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except PermissionError:
        return path.exists()  # another user's cache, which is not ours to clean up either
    return True


def sha256_of(image: Fetched) -> str:
    """The checksum in lower-case hex. Raises DriverError (USER): an image that cannot be verified is not run."""
    match = _SHA256.fullmatch(image.image_checksum)
    if match is None:
        raise DriverError(
            f"image {image.image_id} has no SHA-256 checksum (it says {image.image_checksum[:80]!r})",
            failure_class=FailureClass.USER,
        )
    return match[1].lower()


def _copy_verified(image: Fetched, source: ImageSource, file: BinaryIO) -> None:
    """Have the whole image in the file, which may have its beginning. Raises DriverError: it is another one's."""
    had = file.seek(0, os.SEEK_END)
    if had:
        try:
            _complete(image, source, file, had)
        except DriverError as error:
            log.warning("what an earlier fetch left is of no use, and all is fetched: %s", error.message)
            file.seek(0)
            file.truncate()
        else:
            return
    _append(image, source(), file, hashlib.sha256())


def _complete(image: Fetched, source: ImageSource, file: BinaryIO, had: int) -> None:
    """Asked for the rest first: as long as nobody answers, gigabytes are not read again and again."""
    rest: Iterator[bytes] = iter(())
    if had != image.image_size_bytes:
        chunks = source(had)
        first = next(chunks, b"")
        rest = chain([first], chunks)
    log.info("image %s goes on after the %d bytes that are here", image.image_id, had)
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_READ_BYTES):
        digest.update(piece)
    _append(image, rest, file, digest)


def _append(image: Fetched, chunks: Iterator[bytes], file: BinaryIO, digest: "hashlib._Hash") -> None:
    """`digest` is of what the file has already."""
    size_bytes = file.tell()
    for chunk in chunks:
        size_bytes += len(chunk)
        if image.image_size_bytes and size_bytes > image.image_size_bytes:
            raise _wrong(image, f"more than its {image.image_size_bytes} bytes arrived")
        digest.update(chunk)
        file.write(chunk)
    if digest.hexdigest() != sha256_of(image):
        raise _wrong(image, f"{size_bytes} bytes arrived with SHA-256 {digest.hexdigest()}")


def _wrong(image: Fetched, what: str) -> DriverError:
    return DriverError(
        f"image {image.image_id} does not match its checksum {sha256_of(image)}: {what}",
        failure_class=FailureClass.NETWORK,
    )
