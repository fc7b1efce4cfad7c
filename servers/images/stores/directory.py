"""Image bytes as files of a directory, IMAGE_DIR: `<image>.<upload>`, with `.part` while they are received.

A directory that also holds disks of an operator's own, a share of two installations, and the files of a database that
was restored from an older backup lose nothing: only names of our own form are ever touched.
"""

import contextlib
import logging
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.images.stores.directory_part import DirectoryPart
from servers.images.stores.files import directory_sync, writing
from servers.images.stores.installation import marker_is_ours, marker_text, not_ours
from servers.images.stores.parts import PIECE_BYTES
from servers.images.stores.store import MARKER, TRASH, BytesName, ImageBytes, StoredBytes, bytes_name_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DirectoryStore:
    """See `ByteStore`. `reserve_bytes` of the file system stay free."""

    directory: Path
    reserve_bytes: int = 0

    @property
    def piece_bytes(self) -> int:
        """See ByteStore."""
        return PIECE_BYTES

    @property
    def max_upload_bytes(self) -> int:
        """See ByteStore. Files have no limit of their own."""
        return 2**62

    def claim(self) -> None:
        """See ByteStore."""
        with writing():
            self.directory.mkdir(parents=True, exist_ok=True)
            if not (self.directory / MARKER).exists():
                # Linked into place whole: a crash leaves a marker with an id or none, and of two claims one wins.
                part = self.directory / f"{MARKER}.{uuid.uuid4()}"
                _write_synced(part, marker_text())
                try:
                    os.link(part, self.directory / MARKER)
                except FileExistsError:
                    pass
                finally:
                    part.unlink()
            if not self.is_ours():
                raise not_ours("IMAGE_DIR")

    def is_ours(self) -> bool:
        """See ByteStore."""
        try:
            return marker_is_ours((self.directory / MARKER).read_text())
        except FileNotFoundError:
            return False

    def room_check(self, more_bytes: int) -> None:
        """See ByteStore."""
        with writing():
            facts = os.statvfs(self.directory)
        free = facts.f_bavail * facts.f_frsize
        if free - max(0, more_bytes) < self.reserve_bytes:
            log.warning(
                "IMAGE_DIR has %d bytes free and keeps %d of them; an upload of %d more was refused",
                free,
                self.reserve_bytes,
                more_bytes,
            )
            raise Unavailable(_("The image store has no room for it now. Try again later, or ask an administrator."))

    def begin(self, name: BytesName) -> "IncomingFile":
        """See ByteStore."""
        with writing():
            return IncomingFile(self.directory / f"{name}.{uuid.uuid4().hex}.part", self.directory / str(name))

    def part_begin(self, name: BytesName) -> DirectoryPart:
        """See ByteStore."""
        return self.part_open(name, "").begin()

    def part_open(self, name: BytesName, handle: str) -> DirectoryPart:
        """See ByteStore."""
        del handle
        return DirectoryPart(self.directory / f"{name}.{name.upload_id.hex}.part", self.directory / str(name))

    def path(self, name: BytesName) -> Path:
        """See ByteStore."""
        return self.directory / str(name)

    def open(self, name: BytesName, *, offset: int = 0) -> ImageBytes:
        """See ByteStore."""
        try:
            # Without a buffer of Python's: whoever sends it by the kernel begins where the descriptor stands.
            file = (self.directory / str(name)).open("rb", buffering=0)
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
        except OSError as error:
            raise Unavailable(
                _(
                    "The file of image {image_id} cannot be read: {strerror}.",
                    image_id=name.image_id,
                    strerror=error.strerror,
                )
            ) from error
        return ImageBytes(file, max(0, size - offset), descriptor=file.fileno())

    def read_at(self, name: BytesName, offset: int, size_bytes: int) -> bytes:
        """See ByteStore."""
        with self.open(name, offset=offset) as data:
            return data.read(size_bytes)

    def size(self, name: BytesName) -> int | None:
        """See ByteStore."""
        try:
            return (self.directory / str(name)).stat().st_size
        except FileNotFoundError:
            return None

    def stored(self, image_id: uuid.UUID | None = None) -> Iterator[StoredBytes]:
        """See ByteStore."""
        if not self.directory.is_dir():
            return
        for entry in os.scandir(self.directory):
            named = bytes_name_of(entry.name)
            if named is None or (image_id is not None and named[0].image_id != image_id):
                continue
            try:
                if entry.is_file(follow_symlinks=False):
                    modified_at_s = entry.stat(follow_symlinks=False).st_mtime
                    yield StoredBytes(named[0], named[1], modified_at_s, entry.path)
            except FileNotFoundError:  # its upload ended, or its image was deleted, since the listing
                continue

    def remove(self, stored: StoredBytes) -> None:
        """See ByteStore."""
        with writing():
            Path(stored.place).unlink(missing_ok=True)

    def to_trash(self, stored: StoredBytes) -> None:
        """See ByteStore."""
        trash = self.directory / TRASH
        with writing():
            trash.mkdir(exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.replace(stored.place, trash / str(stored.name))


class IncomingFile:
    """See `IncomingBytes`."""

    def __init__(self, part: Path, final: Path) -> None:
        self._part, self._final = part, final
        self._file = part.open("xb")

    def write(self, data: bytes, /) -> None:
        """See IncomingBytes."""
        with writing():
            self._file.write(data)

    def path(self) -> Path | None:
        """See IncomingBytes."""
        with writing():
            self._file.flush()
        return self._part

    def publish(self) -> None:
        """See IncomingBytes."""
        with writing():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            try:
                self._part.replace(self._final)
            except FileNotFoundError as error:  # a later upload or the deletion removed it
                raise Conflict(_("The part of this upload was removed.")) from error
            directory_sync(self._final.parent)

    def close(self) -> None:
        """See IncomingBytes."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)


def _write_synced(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
