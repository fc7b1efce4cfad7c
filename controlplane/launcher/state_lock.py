"""One `up` per state directory: a lock that the kernel releases when its holder dies."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from controlplane.kernel.errors import Conflict


class StateInUse(Conflict):
    """Another `manage.py up` runs on this state directory; `extra` has its pid."""

    code = "state_in_use"
    retryable = False


class StateLock:
    """A context manager around the life of one `up`. The file `up.lock` holds the pid, for people."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "up.lock"
        self._handle = -1

    def __enter__(self) -> "StateLock":
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._handle)
            raise StateInUse(
                f"manage.py up already runs on {self.path.parent} (process {holder}); stop it or use --state",
                pid=holder,
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The file stays: removing it would let two processes lock two files of one name.
        os.ftruncate(self._handle, 0)
        os.close(self._handle)
