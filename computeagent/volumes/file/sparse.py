"""Files with holes: copied without filling them, shared where the file system can, read and compared."""

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

COPY_BYTES = 16 * 2**20
PIECE_BYTES = 256 * 1024
"""What is read and compared at once."""
_FICLONE = 0x40049409
_NOT_SHARED = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS, errno.EPERM, errno.ETXTBSY}
_NO_LOCKS = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOLCK, errno.ENOSYS}
# Of QEMU's locks on an image (block/file-posix.c): byte 100 and a bit's number of the permission to write.
_WRITE_PERMISSION_BYTE = 100 + 1
_FLOCK = struct.Struct("hhqqi4x")
_ZEROS = bytes(PIECE_BYTES)
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02
_fallocate = ctypes.CDLL(None, use_errno=True).fallocate
_fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def copy(source: int, target: int, moved: Callable[[int], None]) -> None:
    """Have the bytes of the open file `source` in the open, empty file `target`: shared, or copied without the holes.

    `moved` is called with how many bytes were copied since the last call.
    """
    size = os.fstat(source).st_size
    if share(source, target):
        return
    os.ftruncate(target, size)
    for begin, end in extents(source, size):
        at = begin
        while at < end:
            done = _copy_some(source, target, at, min(COPY_BYTES, end - at))
            at += done
            moved(done)


def share(source: int, target: int) -> bool:
    """Let the target share all blocks of the source; False where the file system cannot."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _NOT_SHARED:
            return False
        raise
    return True


def extents(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of the parts of a file that are no holes."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(file, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # there is nothing but a hole
                return
            raise
        at = min(os.lseek(file, begin, os.SEEK_HOLE), size)
        if begin < at:
            yield begin, at


def data_bytes(path: Path) -> int:
    """How many bytes of a file are no hole: what a copy of it takes."""
    with path.open("rb") as file:
        return sum(end - begin for begin, end in extents(file.fileno(), os.fstat(file.fileno()).st_size))


def pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of all pieces of a file that are not zero throughout."""
    with path.open("rb") as file:
        for offset in _offsets(file.fileno()):
            piece = os.pread(file.fileno(), PIECE_BYTES, offset)
            if piece != _ZEROS[: len(piece)]:
                yield offset, piece


def differing(path: Path, before: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of all pieces of `path` that are not the same in `before`, where nothing counts as zeros."""
    with path.open("rb") as now, before.open("rb") as then:
        for offset in sorted({*_offsets(now.fileno()), *_offsets(then.fileno())}):
            piece = os.pread(now.fileno(), PIECE_BYTES, offset)
            if piece != os.pread(then.fileno(), len(piece), offset).ljust(len(piece), b"\0"):
                yield offset, piece


def holes_freed(path: Path) -> None:
    """Give back the space that was reserved for parts of a file that read as holes, as far as its file system can.
    Nobody may write to the file meanwhile.
    """
    with path.open("r+b") as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        for begin, end in [*extents(file.fileno(), size), (size, size)]:
            if at < begin and _fallocate(file.fileno(), _KEEP_SIZE_AND_PUNCH, at, begin - at):
                code = ctypes.get_errno()
                if code in _NOT_SHARED:
                    return
                raise OSError(code, os.strerror(code), str(path))
            at = end


def begins_with_data(path: Path) -> bool:
    """Whether something but zeros stands at the beginning of a file."""
    with path.open("rb") as file:
        return bool(file.read(512).strip(b"\0"))


def is_open_for_writing(path: Path) -> bool:
    """Whether a QEMU, of this host or another that shares the file, has the image open for writing. False
    where the file system has no locks.
    """
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _WRITE_PERMISSION_BYTE, 1, 0)
    with path.open("rb") as file:
        try:
            answer = fcntl.fcntl(file.fileno(), fcntl.F_OFD_GETLK, asked)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
    return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)


def _offsets(file: int) -> Iterator[int]:
    """Of the pieces that are no holes, each once."""
    following = 0
    for begin, end in extents(file, os.fstat(file).st_size):
        first = max(following, begin - begin % PIECE_BYTES)
        following = end + -end % PIECE_BYTES
        yield from range(first, following, PIECE_BYTES)


def _copy_some(source: int, target: int, at: int, count: int) -> int:
    """At most `count` bytes, by the kernel or the server of the file system where they can. Returns how many."""
    try:
        if done := os.copy_file_range(source, target, count, at, at):
            return done
    except OSError as error:
        if error.errno not in _NOT_SHARED:
            raise
    return os.pwrite(target, os.pread(source, count, at), at)
