"""The agent's secret in its state directory: made here, readable by nobody else, known to the control plane by hash.

A new secret lies in `secret.next` until it is known to work, and the one that it took the place of in `secret.previous`
until the rotation after: a control plane whose database was restored from a backup may know that one alone. So whatever
is cut off, at least one of the files holds a secret that works.
"""

import os
import secrets
import time
from pathlib import Path

SECRET_FILE = "secret"  # noqa: S105 - a file's name
NEXT_FILE = "secret.next"
PREVIOUS_FILE = "secret.previous"
PREFIX = "kna_"
RANDOM_BYTES = 32


class SecretFile:
    """The files below one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._current = state_dir / SECRET_FILE
        self._next = state_dir / NEXT_FILE
        self._previous = state_dir / PREVIOUS_FILE

    def read(self) -> str | None:
        """The secret in use; None before the agent enrolled."""
        return _read(self._current)

    def next_secret(self) -> str:
        """The secret that is to take its place: made now, unless one waits already."""
        waiting = self.waiting()
        if waiting is not None:
            return waiting
        made = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        self._write_next(made)
        return made

    def waiting(self) -> str | None:
        """The next secret, if one was made and not taken into use."""
        return _read(self._next)

    def previous(self) -> str | None:
        """The secret before the one in use, if a rotation replaced it."""
        return _read(self._previous)

    def take(self, secret: str, *, keeps_previous: bool = False) -> None:
        """Use this secret from now on; it waits as the next one, unless another process took it into use already. The
        one in use till now is kept, or nothing of it is.
        """
        if self.read() == secret:
            return
        if self.waiting() != secret:
            self._write_next(secret)
        if keeps_previous and self._current.exists():
            part = _part_of(self._previous)
            os.link(self._current, part)
            part.replace(self._previous)
            part.unlink(missing_ok=True)  # a name stays where both were the same file already
        self._next.replace(self._current)
        os.utime(self._current)
        if not keeps_previous:
            self._previous.unlink(missing_ok=True)
        self._keep_names()

    def forget_next(self) -> None:
        """The next secret can never be this host's: another one is made when it is wanted."""
        self._next.unlink(missing_ok=True)
        self._keep_names()

    def age_s(self) -> float:
        """Seconds since the secret in use was taken into use; 0 without one. Less where the clock was ahead then, or
        is behind now.
        """
        return time.time() - self._current.stat().st_mtime if self._current.exists() else 0.0

    def count_from_now(self) -> None:
        """The secret in use is as if it was taken into use now."""
        os.utime(self._current)

    def _write_next(self, secret: str) -> None:
        self._next.parent.mkdir(parents=True, exist_ok=True, mode=0o711)  # QEMU passes
        part = _part_of(self._next)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._next)
        self._keep_names()

    def _keep_names(self) -> None:
        """What was renamed outlives a loss of power before the control plane is told of it."""
        descriptor = os.open(self._current.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _part_of(path: Path) -> Path:
    """Where a file is made before it gets its name; what an earlier try left there is gone."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    return part


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None
