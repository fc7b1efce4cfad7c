"""POSIX locks of files, which say who lives: the kernel lets go of a lock with the process that holds it."""

import fcntl
import os
import struct
from pathlib import Path

_FLOCK = "hhqqi4x"  # struct flock of fcntl(2) on 64-bit Linux


def lock_holder(path: Path) -> int | None:
    """The process that holds a POSIX lock on this file, as libvirtd does on its pid file; None where nobody does.

    The kernel's word, unlike the number in the file, which may be another process's by now.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    return None if kind == fcntl.F_UNLCK else pid
