"""Hints in a file beside an SQLite database: whoever commits appends a line, whoever listens reads on.

It holds no lock of the database and costs some microseconds. A file that has grown is thrown away; what somebody was
about to read or write there is lost with it, as a hint may be.
"""

import contextlib
import logging
import os
import time
from collections.abc import Collection

log = logging.getLogger(__name__)
MAX_BYTES = 256 * 1024
POLL_S = 0.05


class HintFile:
    """See Carrier."""

    is_cheap = True

    def __init__(self, path: str) -> None:
        self._path = path

    def send(self, topics: Collection[str]) -> None:
        """See Carrier. One write, so lines of several writers do not mix."""
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(self._path, flags, 0o600)
            try:
                os.write(file, "".join(f"{topic}\n" for topic in sorted(topics)).encode())
                is_large = os.fstat(file).st_size > MAX_BYTES
            finally:
                os.close(file)
            if is_large:
                os.unlink(self._path)
        except OSError as error:
            log.debug("hints were not told: %s", error)

    def listener(self) -> "HintFileListener":
        """See Carrier."""
        return HintFileListener(self._path)


class HintFileListener:
    """See HintListener. It looks at the file's size 20 times a second."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._inode = self._offset = 0
        self._is_interrupted = False

    def open(self) -> None:
        """From the file's end of now."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(self._path)
            self._inode, self._offset = found.st_ino, found.st_size

    def wait(self, timeout_s: float) -> set[str]:
        """See HintListener."""
        until = time.monotonic() + timeout_s
        while not (topics := self._read()) and (left := until - time.monotonic()) > 0 and not self._is_interrupted:
            time.sleep(min(POLL_S, left))
        self._is_interrupted = False
        return topics

    def interrupt(self) -> None:
        """See HintListener."""
        self._is_interrupted = True

    def close(self) -> None:
        """Nothing is held."""

    def _read(self) -> set[str]:
        """Whole lines alone; the rest is read once it is whole."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(self._path)
            if found.st_ino != self._inode or found.st_size < self._offset:
                self._inode, self._offset = found.st_ino, 0
            if found.st_size > self._offset:
                with open(self._path, "rb") as file:
                    file.seek(self._offset)
                    text, newline, _ = file.read(2 * MAX_BYTES).rpartition(b"\n")
                self._offset += len(text) + len(newline)
                return set(text.decode(errors="replace").split("\n")) if text else set()
        return set()
