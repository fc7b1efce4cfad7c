"""Errors of the host's files, files that survive a power cut, and locks between processes."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass, HostBlame

LOCK_TIMEOUT_S = 900.0
_LOCK_POLL_S = 0.05
_OF_THE_HOST = frozenset(
    {
        errno.EACCES, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EPERM,
        errno.EROFS, errno.ESTALE,
    }
)  # fmt: skip


@contextmanager
def host_errors(doing: str) -> Iterator[None]:
    """Turn an OSError inside into a DriverError of class HOST: a full disk or a missing right is the host's own fault,
    for anything else (a name that is too long) the request may be to blame.
    """
    try:
        yield
    except OSError as error:
        blame = HostBlame.AT_ONCE if error.errno in _OF_THE_HOST else HostBlame.IF_BUILT_ELSEWHERE
        raise DriverError(f"{doing}: {error}", blame=blame) from error


def directory_sync(directory: Path) -> None:
    """Make renames in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_replace(path: Path, content: bytes) -> None:
    """Write `content` so that a reader or a crash finds the old file or the new one, never a half."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def tree_used_bytes(directory: Path) -> int:
    """What the files below `directory` take on disk; those that vanish meanwhile count nothing."""
    used = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                used += os.lstat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return used


@contextmanager
def locked(
    path: Path, *, wait_s: float = LOCK_TIMEOUT_S, failure_class: FailureClass = FailureClass.HOST
) -> Iterator[None]:
    """Hold the lock file. flock belongs to the open file, so threads of one process wait for each other too.

    Raises DriverError of this class after `wait_s` seconds.
    """
    with path.open("wb") as file:
        deadline = time.monotonic() + wait_s
        while not _flock(file):
            if time.monotonic() > deadline:
                raise DriverError(
                    f"somebody else holds {path.name} for more than {wait_s:.0f} s", failure_class=failure_class
                )
            time.sleep(_LOCK_POLL_S)
        yield


def _flock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
