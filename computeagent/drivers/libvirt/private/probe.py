"""Looking at a libvirtd from outside: who is it, and does it answer?"""

import os
import socket
import struct
import time
from contextlib import suppress
from enum import Enum
from pathlib import Path

from controlplane.kernel.file_locks import lock_holder

PROBE_S = 3.0
_AUTH_LIST = struct.pack(">7I", 28, 0x20008086, 1, 66, 0, 0, 0)
"""The first call of each connection: length, program (libvirt), version, procedure, type, serial, status."""


class Answer(Enum):
    """How a daemon met a call."""

    GIVEN = "given"
    SILENT = "silent"
    """It takes connections, or did until its queue was full, and says nothing."""
    NOBODY = "nobody"
    """Nobody listens."""


def daemon_answers(path: Path, *, timeout_s: float = PROBE_S) -> Answer:
    """Call the libvirtd on this socket. Raises OSError for what is wrong with the socket itself (rights)."""
    end = time.monotonic() + timeout_s
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(timeout_s)
        try:
            caller.connect(str(path))
            caller.sendall(_AUTH_LIST)
            caller.settimeout(max(0.1, end - time.monotonic()))
            return Answer.GIVEN if caller.recv(4) else Answer.NOBODY
        except (FileNotFoundError, ConnectionError):
            return Answer.NOBODY
        except (TimeoutError, BlockingIOError):
            return Answer.SILENT


def process_end(pid: int, signal_number: int, *, pid_file: Path, limit_s: float) -> bool:
    """Send a signal to the daemon that holds `pid_file`, and wait until it does no more. Whether it ended in time."""
    if lock_holder(pid_file) == pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal_number)
    end = time.monotonic() + limit_s
    while lock_holder(pid_file) == pid:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
