"""An upload in pieces as a file, `<image>.<upload>.<upload in hex>.part`: how large it is says how much has come."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from controlplane.kernel.errors import Conflict
from controlplane.kernel.kill_points import reach
from controlplane.kernel.texts import phrase as _
from servers.images.stores.files import directory_sync, writing
from servers.images.stores.parts import PIECE_BYTES


class DirectoryPart:
    """See `ResumablePart`. `final` is where the file goes when it is whole."""

    handle = ""

    def __init__(self, part: Path, final: Path) -> None:
        self._part, self._final = part, final

    def begin(self) -> "DirectoryPart":
        """Make the empty file; one that is there stays as it is."""
        with writing():
            self._part.touch(exist_ok=True)
        return self

    def size(self) -> int:
        """See ResumablePart. A piece whose writer died is there in part; it is sent again."""
        with self._there():
            size = self._part.stat().st_size
        return size - size % PIECE_BYTES

    def write(self, offset: int, data: bytes) -> None:
        """See ResumablePart. Two that write the same piece at the same time write the same bytes."""
        with self._there():
            descriptor = os.open(self._part, os.O_WRONLY | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_size < offset:
                    raise Conflict(_("What comes before byte {offset} has not come.", offset=offset))
                view = memoryview(data)
                while view:
                    written = os.pwrite(descriptor, view, offset)
                    reach("servers.images.stores.directory:piece-written")
                    view, offset = view[written:], offset + written
            finally:
                os.close(descriptor)

    def publish(self, size_bytes: int) -> None:
        """See ResumablePart."""
        with self._there():
            descriptor = os.open(self._part, os.O_RDONLY | os.O_CLOEXEC)
            try:
                found = os.fstat(descriptor).st_size
                if found != size_bytes:
                    raise Conflict(_("{found} of {size_bytes} bytes have come.", found=found, size_bytes=size_bytes))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            reach("servers.images.stores.directory:whole")
            self._part.replace(self._final)
            reach("servers.images.stores.directory:published")
            directory_sync(self._final.parent)

    def remove(self) -> None:
        """See ResumablePart."""
        with writing(), suppress(FileNotFoundError):
            self._part.unlink()

    @contextmanager
    def _there(self) -> Iterator[None]:
        with writing():
            try:
                yield
            except FileNotFoundError as error:
                raise Conflict(_("The part of this upload was removed.")) from error
