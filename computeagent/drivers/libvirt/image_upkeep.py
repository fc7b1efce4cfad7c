"""Base images that no guest of this machine uses go, once nobody has asked for them for a while.

Several drivers share a cache, and one that is not running now has guests all the same. So each writes down where its
guests are, and whoever cleans up reads all of their disks; where one cannot be read, nothing is removed. A directory
that is not there may be not mounted: it counts as removed only when its driver has sent no heartbeat for a month.
"""

import hashlib
import logging
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.files import file_replace, host_errors
from computeagent.protocol.images import CachedImage

EVERY_S = 2400.0
GONE_S = 30 * 86400.0
_BASE = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{64}(\.[0-9]+)?\.part")
_QCOW2 = b"QFI\xfb"
_HEADER_BYTES = 20

log = logging.getLogger(__name__)


class ImageUpkeep:
    """Of one driver: `instances` is the directory of its guests, `cache` the directory of base images.

    A base image may go when no disk is made of it and nobody had it for `unused_s` seconds; 0 keeps all.
    """

    def __init__(
        self, cache: Path, instances: Path, *, unused_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cache = cache
        self._instances = instances
        self._unused_s = unused_s
        self._clock = clock
        # Agents of one machine start together; they shall not all read the same disks at once.
        self._due_at = clock() + EVERY_S * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, guards nothing

    def register(self) -> None:
        """Write down where this driver's guests are. Before the first image is fetched."""
        with host_errors("noting who shares the image cache"):
            self._users.mkdir(mode=0o711, parents=True, exist_ok=True)
            file_replace(self._note, os.fsencode(self._instances))
            self._bring_back()

    def tick(self) -> None:
        """Clean up when it is due, every forty minutes or so. A failure is logged: guests are more important."""
        if not self._unused_s or self._clock() < self._due_at:
            return
        self._due_at = self._clock() + EVERY_S * random.uniform(0.75, 1.25)  # noqa: S311 - as above
        try:
            self.clean()
        except (DriverError, OSError) as error:
            log.warning("base images are not cleaned up: %s", error)

    def present(self) -> list[CachedImage]:
        """All base images, and how many of this driver's guests are made of each. Raises OSError."""
        guests = Counter(_bases_under(self._instances))
        found = []
        for path in self._files() if self._cache.is_dir() else ():
            if _BASE.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    state = path.stat()
                    unused_s = max(0, int(time.time() - state.st_mtime))
                    found.append(CachedImage(path.name, state.st_blocks * 512, unused_s, guests[path.name]))
        return sorted(found, key=lambda image: image.checksum)

    def clean(self) -> list[str]:
        """Remove what is unused for long enough. The names of the removed files."""
        self._bring_back()
        with suppress(FileNotFoundError):
            os.utime(self._note)
        used = self._used()
        old = [path for path in self._files() if self._is_old(path) and path.name not in used]
        removed = [path.name for path in old if self._remove(path)]
        if removed:
            log.info("unused base images are removed: %s", ", ".join(removed))
        return removed

    @property
    def _users(self) -> Path:
        return self._cache / "users"

    @property
    def _note(self) -> Path:
        """Says where this driver's guests are; its time, when the driver was last here."""
        return self._users / hashlib.sha256(os.fsencode(self._instances)).hexdigest()[:16]

    def _files(self) -> list[Path]:
        """Base images, and what downloads left that nobody went on with."""
        return [path for path in self._cache.iterdir() if _BASE.fullmatch(path.name) or _PART.fullmatch(path.name)]

    def _used(self) -> set[str]:
        """Names of the base images under the disks of all drivers that share the cache. Raises OSError for a disk
        that cannot be read, DriverError for a directory of guests that is not there.
        """
        return {base for directory in self._directories() for base in _bases_under(directory)}

    def _directories(self) -> Iterator[Path]:
        yield self._instances
        for note in self._users.iterdir() if self._users.is_dir() else ():
            directory = Path(os.fsdecode(note.read_bytes()))
            if directory.is_dir():
                yield directory
            elif time.time() - note.stat().st_mtime < GONE_S:
                raise DriverError(f"{directory} is not there; if its guests are gone for good, remove {note}")

    def _is_old(self, path: Path) -> bool:
        try:
            return time.time() - path.stat().st_mtime > self._unused_s
        except FileNotFoundError:
            return False

    def _remove(self, path: Path) -> bool:
        """Out of the way first, then looked at again: it comes back if a build has touched it meanwhile."""
        aside = path.with_name(f"{path.name}.going")
        try:
            path.rename(aside)
        except FileNotFoundError:
            return False
        if not self._is_old(aside):
            aside.rename(path)
            return False
        aside.unlink(missing_ok=True)
        return True

    def _bring_back(self) -> None:
        """What was put aside by somebody who was killed then; it was not certain yet that it may go."""
        for aside in self._cache.glob("*.going"):
            aside.rename(aside.with_name(aside.name.removesuffix(".going")))


def _bases_under(directory: Path) -> Iterator[str]:
    for disk in directory.glob("*/disk"):
        try:
            base = backing_name(disk)
        except FileNotFoundError:
            continue
        if base:
            yield base


def backing_name(disk: Path) -> str:
    """The last part of the path of the file that a qcow2 overlay is made of; empty for a disk without one."""
    with disk.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or not header.startswith(_QCOW2):
            return ""
        file.seek(int.from_bytes(header[8:16], "big"))
        length = int.from_bytes(header[16:20], "big")
        backing = file.read(min(length, 4096)) if length else b""
    return os.fsdecode(backing).rpartition("/")[2]
