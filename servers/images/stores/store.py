"""What a place for the bytes of images can do, whatever it is made of.

Each upload has its own name, `<image>.<upload>`. Its bytes are written beside that name and take it only when they are
whole and safe, so bytes that can be read are complete, and two writers never meet. Every call raises Unavailable when
the place does not answer, cannot be written, or belongs to another installation.
"""

import io
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from servers.images.stores.parts import ResumablePart

CHUNK_BYTES = 1024 * 1024
MARKER = ".kilonova-image-store"
"""Carries the id of the one installation that writes and cleans up here."""
TRASH = "trash"

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = re.compile(rf"({_UUID})\.({_UUID})((?:\.[0-9a-f]{{32}})?\.part)?")


@dataclass(frozen=True, slots=True)
class BytesName:
    """The bytes of one upload of one image."""

    image_id: uuid.UUID
    upload_id: uuid.UUID

    def __str__(self) -> str:
        return f"{self.image_id}.{self.upload_id}"


def bytes_name_of(text: str) -> tuple[BytesName, bool] | None:
    """The name that a file's name has, and whether it is that of a part; None for what is not ours."""
    named = _NAME.fullmatch(text)
    return None if named is None else (BytesName(uuid.UUID(named[1]), uuid.UUID(named[2])), named[3] is not None)


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """What lies there: whole, or a part that is being written or was left behind."""

    name: BytesName
    is_part: bool
    modified_at_s: float
    place: str
    """Path of a file or key of an object."""
    part_id: str = ""
    """What the store calls the part, where it has a name of its own for it."""


class ByteSource(Protocol):
    """What `ImageBytes` reads from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end. Raises Unavailable."""

    def close(self) -> None:
        """Gives back what it holds."""


@dataclass
class ImageBytes(Iterator[bytes]):
    """Bytes of an image from an offset on: an iterator of pieces, and a file for whoever sends it as one.

    `size_bytes` is how many there are in all. Whoever stops before the end closes it.
    """

    source: ByteSource
    size_bytes: int
    descriptor: int = -1
    """A file's descriptor, placed at the offset, by which the kernel can send it; -1 where there is no file."""
    is_closed: bool = False
    _when_closed: list[Callable[[], None]] = field(default_factory=list)

    def __next__(self) -> bytes:
        if not self.is_closed and (chunk := self.source.read(CHUNK_BYTES)):
            return chunk
        ImageBytes.close(self)  # whoever sends it may have put a wider `close` on this object
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int = CHUNK_BYTES, /) -> bytes:
        """At most `size` bytes; none at the end. Raises Unavailable."""
        return self.source.read(size)

    def fileno(self) -> int:
        """The descriptor. Raises io.UnsupportedOperation where there is no file."""
        if self.descriptor < 0:
            raise io.UnsupportedOperation("fileno")
        return self.descriptor

    def when_closed(self, act: Callable[[], None]) -> None:
        """Have this done, once, when nobody reads any more."""
        self._when_closed.append(act)

    def close(self) -> None:
        """Nothing happens the second time."""
        if self.is_closed:
            return
        self.is_closed = True
        try:
            self.source.close()
        finally:
            for act in self._when_closed:
                act()


@dataclass
class _Beginning:
    """The first bytes of others."""

    whole: ImageBytes
    left_bytes: int

    def read(self, size: int, /) -> bytes:
        data = self.whole.read(min(size, self.left_bytes)) if self.left_bytes else b""
        self.left_bytes -= len(data)
        return data

    def close(self) -> None:
        self.whole.close()


def beginning_of(data: ImageBytes, size_bytes: int) -> ImageBytes:
    """Only so many bytes of these. The kernel does not send them by itself, since it would go on to the file's end."""
    if size_bytes >= data.size_bytes:
        return data
    return ImageBytes(_Beginning(data, size_bytes), size_bytes)


class IncomingBytes(Protocol):
    """Bytes on their way into the store. Nobody sees them before `publish`."""

    def write(self, data: bytes, /) -> None:
        """Add these. Raises Unavailable; Conflict when somebody removed the part."""

    def path(self) -> Path | None:
        """The file that has all that was written, where there is one on this machine. Raises Unavailable."""

    def publish(self) -> None:
        """They are whole: make them durable and let them be read by their name. Raises Unavailable, Conflict."""

    def close(self) -> None:
        """Remove what was not published. Never raises, and does nothing the second time."""


class ByteStore(Protocol):
    """A directory or a bucket."""

    def claim(self) -> None:
        """Make the place this installation's unless it is another's. Raises Unavailable."""

    def is_ours(self) -> bool:
        """Whether this installation may clean up there."""

    def room_check(self, more_bytes: int) -> None:
        """Raises Unavailable when so many bytes more would go below the reserve of free space, whoever writes them."""

    def begin(self, name: BytesName) -> IncomingBytes:
        """Begin to write. Two may write the same name at once: each has its own part, and the last to publish stays."""

    @property
    def piece_bytes(self) -> int:
        """How large each piece is of an upload that comes in pieces, but for its last."""

    @property
    def max_upload_bytes(self) -> int:
        """The most that an upload in pieces may have."""

    def part_begin(self, name: BytesName) -> ResumablePart:
        """Begin an upload that comes in pieces."""

    def part_open(self, name: BytesName, handle: str) -> ResumablePart:
        """Go on with it."""

    def path(self, name: BytesName) -> Path | None:
        """The file that has these bytes, where there is one on this machine."""

    def open(self, name: BytesName, *, offset: int = 0) -> ImageBytes:
        """Read from `offset` on; nothing beyond the end. Raises Unavailable, also for bytes that are not there."""

    def read_at(self, name: BytesName, offset: int, size_bytes: int) -> bytes:
        """So many of its bytes from `offset` on; fewer at the end. Raises Unavailable as `open`."""

    def size(self, name: BytesName) -> int | None:
        """How many bytes are stored whole under this name; None for none."""

    def stored(self, image_id: uuid.UUID | None = None) -> Iterator[StoredBytes]:
        """What lies there of all images or of one. What has no name of our form is not ours, and not listed."""

    def remove(self, stored: StoredBytes) -> None:
        """Remove it; it may be gone already."""

    def to_trash(self, stored: StoredBytes) -> None:
        """Move it out of the way, to where nothing removes it; it may be gone already."""
