"""The agent's secret in its state directory: made here, readable by nobody else, known to the control plane by hash.

A new secret lies in `secret.next` until the control plane is known to have taken it. So whatever is cut off, at least
one of the two files holds a secret that works.
"""

import os
import secrets
import time
from pathlib import Path

SECRET_FILE = "secret"  # noqa: S105 - a file's name
NEXT_FILE = "secret.next"
PREFIX = "kna_"
RANDOM_BYTES = 32


class SecretFile:
    """The files below one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._current = state_dir / SECRET_FILE
        self._next = state_dir / NEXT_FILE

    def read(self) -> str | None:
        """The secret in use; None before the agent enrolled."""
        return _read(self._current)

    def next_secret(self) -> str:
        """The secret that is to take its place: made now, unless one waits already."""
        waiting = self.waiting()
        if waiting is not None:
            return waiting
        made = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        self._next.parent.mkdir(parents=True, exist_ok=True, mode=0o711)  # QEMU passes
        part = self._next.with_name(self._next.name + ".part")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(made + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._next)
        return made

    def waiting(self) -> str | None:
        """The next secret, if one was made and not taken into use."""
        return _read(self._next)

    def take_next(self) -> str:
        """Use the next secret from now on."""
        found = self.next_secret()
        self._next.replace(self._current)
        os.utime(self._current)
        return found

    def age_s(self) -> float:
        """Seconds since the secret in use was taken into use."""
        return max(0.0, time.time() - self._current.stat().st_mtime)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None
