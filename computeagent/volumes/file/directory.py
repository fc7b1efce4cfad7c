"""A pool's directory: whose it is, what stands in it by which names, and how much room it has.

    kilonova-pool    the pool's identity, a UUID: a directory without it is another one, or not mounted
    volumes/         a file for each volume, by its id
    snapshots/       a file for each snapshot, VOLUME.SNAPSHOT
    parts/           what is half made, KIND.VOLUME[.SNAPSHOT].TOKEN

What is made gets its name by a hard link, which never takes the place of a file: a host that was thought dead and comes
back with a copy of its own finds the name taken. Where a file has to be replaced it is renamed over.

Directories can be passed by QEMU's user, and files are closed to everybody but their owner: libvirt gives a file to
that user while a guest has it.
"""

import errno
import os
import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from computeagent.volumes.away import is_away_error
from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.file import sparse
from controlplane.kernel.units import GIB

MARKER = "kilonova-pool"
VOLUMES, SNAPSHOTS, PARTS = "volumes", "snapshots", "parts"
DIRECTORY_MODE = 0o711
FREE_SHARE = 50
"""One part in so many of a file system stays free: whole copies are not begun, or are ended, that would take it."""


class PoolDirectory:
    """The directory at `path`. `identity_file` remembers whose it was when it was found; where it is not given, the
    directory is shared, and its marker is made by whoever sets it up.
    """

    def __init__(self, path: Path, identity_file: Path | None) -> None:
        self.path = path
        self._identity_file = identity_file
        self._shares_blocks: bool | None = None

    def identity(self) -> str:
        """The pool's identity; what is missing in the directory is made. Raises VolumeBackendError that says why this
        is not the pool.
        """
        try:
            found, known = _identity_of(self.path / MARKER), self._known()
            if known and found != known:
                what = f"is another pool's ({found})" if found else f"has no {MARKER}: is it mounted?"
                raise VolumeBackendError(f"the directory {self.path} {what}", is_away=True)
            if not found:
                found = self._begin()
            for name in (VOLUMES, SNAPSHOTS, PARTS):
                (self.path / name).mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            if self._identity_file is not None and not known:
                self._identity_file.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
                self._identity_file.write_text(f"{found}\n")
        except OSError as error:
            message = f"the directory {self.path} cannot be used: {error}"
            raise VolumeBackendError(message, is_away=is_away_error(error)) from error
        return found

    def volume(self, volume_id: str) -> Path:
        """Where the volume is or will be. Raises VolumeBackendError for what is no UUID."""
        return self.path / VOLUMES / uuid_text(volume_id)

    def snapshot(self, volume_id: str, snapshot_id: str) -> Path:
        """Where the snapshot is or will be. Raises VolumeBackendError for what is no UUID."""
        return self.path / SNAPSHOTS / f"{uuid_text(volume_id)}.{uuid_text(snapshot_id)}"

    def target(self, volume_id: str, snapshot_id: str) -> Path:
        """Where somebody else writes a snapshot that is not whole yet."""
        final = self.snapshot(volume_id, snapshot_id)
        return self.path / PARTS / f"target.{final.name}"

    @contextmanager
    def part(self, kind: str, final: Path) -> Iterator[Path]:
        """A name for what will be `final`, with nothing at it. Others of this kind and name are removed, and it is not
        there afterwards.
        """
        self.parts_remove(kind, final)
        path = self.path / PARTS / f"{kind}.{final.name}.{secrets.token_hex(4)}"
        try:
            yield path
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def parts_remove(self, kind: str, final: Path) -> None:
        """What was half made of it goes; whoever still writes there will find that it has no name any more."""
        for path in (self.path / PARTS).glob(f"{kind}.{final.name}.*"):
            path.unlink(missing_ok=True)

    def all_removed(self, volume_id: str) -> None:
        """The volume goes, and whatever is half made of it or its snapshots."""
        final = self.volume(volume_id)
        for path in (self.path / PARTS).glob(f"*.{final.name}.*"):
            path.unlink(missing_ok=True)
        final.unlink(missing_ok=True)
        directory_sync(final.parent)

    def publish(self, part: Path, final: Path) -> None:
        """Give a whole file its name. One that has it already stays. Raises VolumeBackendError where the part is gone:
        somebody else has begun anew.
        """
        _file_sync(part)
        try:
            os.link(part, final)
        except FileExistsError:
            return
        except FileNotFoundError as error:
            raise VolumeBackendError(f"{final.name} is being made by somebody else") from error
        directory_sync(final.parent)

    def replace(self, part: Path, final: Path) -> None:
        """Put a whole file in the place of another. Raises VolumeBackendError as `publish`."""
        _file_sync(part)
        try:
            part.rename(final)
        except FileNotFoundError as error:
            raise VolumeBackendError(f"{final.name} is being replaced by somebody else") from error
        directory_sync(final.parent)

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """Ids of all volumes, and pairs of volume and snapshot."""
        volumes = tuple(sorted(path.name for path in (self.path / VOLUMES).iterdir()))
        pairs = (path.name.partition(".") for path in sorted((self.path / SNAPSHOTS).iterdir()))
        return volumes, tuple((volume_id, snapshot_id) for volume_id, _, snapshot_id in pairs)

    def can_share(self) -> bool:
        """Whether files can share blocks; found out once, since it is the file system's nature. Raises OSError."""
        if self._shares_blocks is None:
            final = self.path / "reflink"
            with self.part("probe", final) as path, path.open("w+b") as source:
                source.write(bytes(64 * 1024))
                source.flush()
                with self.part("shared", final) as other, other.open("wb") as target:
                    self._shares_blocks = sparse.share(source.fileno(), target.fileno())
        return self._shares_blocks

    def room(self) -> tuple[int, int]:
        """Bytes of the file system, and those that are free for users without privileges."""
        state = os.statvfs(self.path)
        return state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize

    def room_require(self, wanted_bytes: int) -> None:
        """Raises VolumeBackendError, with numbers, where so much more would leave too little free."""
        total, free = self.room()
        spare = total // FREE_SHARE
        if free - wanted_bytes < spare:
            raise VolumeBackendError(
                f"the pool has {free / GIB:.1f} GiB free, of which {spare / GIB:.1f} GiB stay free, and "
                f"{wanted_bytes / GIB:.1f} GiB more are wanted"
            )

    def _known(self) -> str:
        return "" if self._identity_file is None else _identity_of(self._identity_file)

    def _begin(self) -> str:
        """A directory of this host's own, met for the first time. Raises VolumeBackendError for a shared one."""
        if self._identity_file is None:
            raise VolumeBackendError(
                f"the directory {self.path} has no {MARKER}: mount it; to begin a new pool there, write a UUID into "
                f"that file (uuidgen > {self.path / MARKER})",
                is_away=True,
            )
        self.path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        return pool_begin(self.path)


def pool_begin(directory: Path) -> str:
    """Have a pool in this directory, which is there. Returns its identity; one that it has stays. Raises OSError."""
    marker, fresh = directory / MARKER, directory / f".{MARKER}.{secrets.token_hex(4)}"
    fresh.write_text(f"{uuid.uuid4()}\n")
    try:
        _file_sync(fresh)
        os.link(fresh, marker)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    directory_sync(directory)
    return _identity_of(marker)


def directory_sync(directory: Path) -> None:
    """Make names in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems do it by themselves
            raise
    finally:
        os.close(descriptor)


def _file_sync(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise VolumeBackendError(f"{path.name} was removed by somebody else") from error
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _identity_of(marker: Path) -> str:
    """Empty where there is none. Raises VolumeBackendError for one that is no UUID."""
    try:
        text = marker.read_text().strip()
    except FileNotFoundError:
        return ""
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise VolumeBackendError(f"{marker} must be a UUID, and is {text[:60]!r}") from error


def uuid_text(text: str) -> str:
    """In the one form that names of files have. Raises VolumeBackendError for what is no UUID."""
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise VolumeBackendError(f"{text[:60]!r} is no id of a volume or snapshot") from error
