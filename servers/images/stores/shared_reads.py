"""One read of an object store for all that ask one web process for the same image at once.

A directory needs none of this: the kernel keeps the pages of a file for all who read it. Here a thread reads the object
from the store into a file without a name, and everyone reads that file as far as it has come, at their own pace. The
kernel removes it with its last user, even one that is killed. Where it cannot be kept (the disk is full, or the bytes
that may be kept are in use), whoever asks reads the store alone.
"""

import logging
import os
import shutil
import tempfile
import threading
from typing import IO

from controlplane.kernel.errors import KilonovaError, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.stores.store import CHUNK_BYTES, BytesName, ByteStore, ImageBytes

log = logging.getLogger(__name__)

AHEAD_BYTES = 32 * 2**20
"""So far the store is read ahead of the foremost reader: of what nobody takes, no more is fetched."""


class SharedReads:
    """Those of one process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[_Reading] = []

    def open(self, store: ByteStore, name: BytesName, *, offset: int, size_bytes: int) -> ImageBytes:
        """As `ByteStore.open`, of bytes of which there are `size_bytes` in all: from a read that is under way and is
        near to `offset`, or from one that begins now.
        """
        if store.path(name) is not None or offset >= size_bytes:
            return store.open(name, offset=offset)
        reading = self._joined(store, name, offset, size_bytes)
        if reading is None:
            return store.open(name, offset=offset)
        reader = _Reader(self, reading, offset)
        try:
            return ImageBytes(reader, max(0, reading.end_known() - offset))
        except BaseException:
            reader.close()
            raise

    def leave(self, reading: "_Reading") -> None:
        """Somebody reads no more; with the last one it is over."""
        with self._lock:
            reading.readers -= 1
            if reading.readers:
                return
            self._open.remove(reading)
        reading.give_up()

    def _joined(self, store: ByteStore, name: BytesName, offset: int, size_bytes: int) -> "_Reading | None":
        with self._lock:
            near = [one for one in self._open if one.serves(store, name, offset)]
            if near:
                reading = max(near, key=lambda one: one.begin)
            else:
                # Who goes on after a cut is seldom alone: others were cut a little before or after it.
                begin = offset - offset % AHEAD_BYTES
                file = self._file(size_bytes - begin)
                if file is None:
                    return None
                reading = _Reading(store, name, begin, size_bytes, file)
                reading.start()
                self._open.append(reading)
            reading.readers += 1
            return reading

    def _file(self, wanted_bytes: int) -> IO[bytes] | None:
        """An empty one with room for so many bytes. Called with the lock."""
        options = server_options()
        if sum(one.size_bytes for one in self._open) + wanted_bytes > options.image_shared_bytes:
            return None
        try:
            options.image_scratch_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            free = shutil.disk_usage(options.image_scratch_dir).free - sum(one.missing_bytes for one in self._open)
            if free - wanted_bytes < options.image_reserve_bytes:
                log.warning("IMAGE_SCRATCH_DIR has no room for an image of S3: who asks for it reads the store alone")
                return None
            return tempfile.TemporaryFile(dir=options.image_scratch_dir, buffering=0)
        except OSError as error:
            log.warning("IMAGE_SCRATCH_DIR keeps no image of S3: %s", error.strerror or error)
            return None


class _Reading:
    """The bytes of one object from `begin` on, read by a thread of its own. `readers` belongs to `SharedReads`."""

    def __init__(self, store: ByteStore, name: BytesName, begin: int, expected_end: int, file: IO[bytes]) -> None:
        self.store, self.name, self.begin = store, name, begin
        self.size_bytes = expected_end - begin
        self.readers = 0
        self._file = file
        self._users = 1  # the thread that fills it
        self._changed = threading.Condition()
        self._reached = self._foremost = begin
        self._end: int | None = None
        self._problem: Exception | None = None
        self._is_given_up = False

    def start(self) -> None:
        """Begin to read the store."""
        self._users += 1  # its readers, together
        threading.Thread(target=self._fill, name="image-read", daemon=True).start()

    @property
    def missing_bytes(self) -> int:
        """How many will still be written."""
        return self.begin + self.size_bytes - self._reached

    def serves(self, store: ByteStore, name: BytesName, offset: int) -> bool:
        """Whether it has what is at `offset`, or soon will."""
        is_same = (self.store, self.name) == (store, name)
        return is_same and self._problem is None and self.begin <= offset <= self._reached + AHEAD_BYTES

    def end_known(self) -> int:
        """Where the bytes end, once the store has said so. Raises Unavailable."""
        with self._changed:
            self._changed.wait_for(lambda: self._end is not None or self._problem is not None)
            if self._end is None:
                raise self._failure()
            return self._end

    def reached_beyond(self, offset: int, size: int) -> int:
        """How many bytes there are at `offset`, of `size` that are wanted; none at the end. Waits for the first.

        Raises Unavailable where the store fails, OSError where the file does.
        """
        with self._changed:
            self._foremost = max(self._foremost, offset + size)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._reached > offset or self._is_end(offset) or self._problem is not None)
            if self._reached > offset:
                return min(size, self._reached - offset)
            if self._is_end(offset):
                return 0
            raise self._failure()

    def bytes_at(self, offset: int, size: int) -> bytes:
        """What was kept there. Raises OSError."""
        return os.pread(self._file.fileno(), size, offset - self.begin)

    def give_up(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._is_given_up = True
            self._changed.notify_all()
        self._let_go()

    def _is_end(self, offset: int) -> bool:
        return self._end is not None and offset >= self._end

    def _failure(self) -> Exception:
        """One for each reader. Called with the condition."""
        if isinstance(self._problem, OSError):
            return OSError(self._problem.errno, self._problem.strerror)
        if isinstance(self._problem, KilonovaError):
            return Unavailable(self._problem.message)
        return Unavailable(_("The image store does not answer. Try again later, or ask an administrator."))

    def _fill(self) -> None:
        try:
            while not self._is_over():
                asked_from = self._reached
                try:
                    self._read_on()
                except Unavailable as error:
                    if self._reached == asked_from:
                        raise
                    log.info("an image of S3 is read on after a cut: %s", error.message)
        except (Unavailable, OSError) as error:
            self._end_by(error)
        except Exception as error:
            log.exception("reading an image of S3 failed")
            self._end_by(error)
        finally:
            self._let_go()

    def _end_by(self, problem: Exception) -> None:
        if isinstance(problem, OSError):
            log.warning("IMAGE_SCRATCH_DIR keeps no more of an image of S3: %s", problem.strerror or problem)
        with self._changed:
            self._problem = problem
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._is_given_up or self._is_end(self._reached)

    def _read_on(self) -> None:
        """To the end, or as long as anybody reads. Raises Unavailable, OSError."""
        with self.store.open(self.name, offset=self._reached) as data:
            with self._changed:
                self._end = self._reached + data.size_bytes
                self._changed.notify_all()
            while not self._is_over():
                piece = data.read(CHUNK_BYTES)
                if not piece:
                    raise Unavailable(_("The image store does not answer. Try again later, or ask an administrator."))
                self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        view, at = memoryview(piece), self._reached - self.begin
        while view:
            written = os.pwrite(self._file.fileno(), view, at)
            view, at = view[written:], at + written
        with self._changed:
            self._reached += len(piece)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_over() or self._reached < self._foremost + AHEAD_BYTES)

    def _let_go(self) -> None:
        with self._changed:
            self._users -= 1
            if not self._users:
                self._file.close()


class _Reader:
    """See `ByteSource`: one that reads along, and alone from where the file fails."""

    def __init__(self, reads: SharedReads, reading: _Reading, offset: int) -> None:
        self._reads, self._reading, self._at = reads, reading, offset
        self._alone: ImageBytes | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def read(self, size: int, /) -> bytes:
        """See ByteSource."""
        data = b""
        try:
            if self._alone is None and (size := self._reading.reached_beyond(self._at, size)):
                # Its descriptor may be another file's as soon as this reader is closed.
                with self._lock:
                    data = b"" if self._is_closed else self._reading.bytes_at(self._at, size)
        except OSError:
            self._alone = self._reading.store.open(self._reading.name, offset=self._at)
        if self._alone is not None:
            data = self._alone.read(size)
        self._at += len(data)
        return data

    def close(self) -> None:
        """See ByteSource."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if self._alone is not None:
            self._alone.close()
        self._reads.leave(self._reading)


_READS = SharedReads()


def shared_reads() -> SharedReads:
    """Those of this process."""
    return _READS
