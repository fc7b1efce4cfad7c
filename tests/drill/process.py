"""One program of the stage: started, killed, started again."""

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.drill.process_manager import ROOT, ProcessManager

QUICK_DEATH_S = 5.0
LONGEST_DELAY_S = 3.0
KILLED_S = 5.0


@dataclass
class Process:
    """A program that the stage keeps running while `wanted`.

    It is forked from the process manager, unless `env_extra` gives it an environment or `command` a command line of its
    own: then it is started from nothing. Both may be changed at any time and count from the next start on.
    """

    name: str
    program: str
    arguments: list[str]
    manager: ProcessManager
    log: Path
    env_extra: dict[str, str] = field(default_factory=dict)
    command: list[str] | None = None
    wanted: bool = False
    pid: int = 0
    pids: list[int] = field(default_factory=list)
    """Of all its lives, the present one last."""
    starts: int = 0
    started_at: float = 0.0
    _pidfd: int = -1
    _child: subprocess.Popen[bytes] | None = None
    _quick_deaths: int = 0
    _not_before: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Its lives begin and end in the stage's thread and in its keeper's."""

    def start(self) -> None:
        """Start it, and have it kept running."""
        with self._lock:
            self.wanted = True
            self._reap()
            self.pid = self._cold() if self.command or self.env_extra else self._forked()
            self.pids.append(self.pid)
            self._pidfd = _pidfd(self.pid)
            self.starts += 1
            self.started_at = time.monotonic()

    @property
    def is_alive(self) -> bool:
        """Whether the main process runs."""
        return self._pidfd >= 0 and not select.select([self._pidfd], [], [], 0)[0]

    def kill(self) -> None:
        """kill -9 the main process alone. The stage starts it again unless it is not `wanted`."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def kill_member(self, rng: random.Random) -> bool:
        """kill -9 any one process of its tree; whether there was one."""
        members = self.members()
        if members:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(members), signal.SIGKILL)
        return bool(members)

    def kill_for_good(self) -> None:
        """kill -9 the process and all it forked, and leave it dead until `start` or `restart`. All have ended then: one
        that is dying still may take a wake-up from Redis with it.
        """
        with self._lock:
            self.wanted = False
            self._kill_group()

    def restart(self) -> None:
        """Kill what is left of it and start it, now."""
        with self._lock:
            self._kill_group()
            self.start()

    def stop(self, within_s: float = 10.0) -> bool:
        """SIGTERM, and whether it ended by itself in time. It stays down."""
        self.wanted = False
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        in_time = self._pidfd < 0 or bool(select.select([self._pidfd], [], [], within_s)[0])
        self._kill_group()
        return in_time

    def pause(self) -> None:
        """SIGSTOP for it and all it forked: alive, and doing nothing."""
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal_group(signal.SIGCONT)

    def members(self) -> list[int]:
        """The main process and all processes of its session, oldest first."""
        return [pid for pid in _pids() if _session(pid) == self.pid]

    def tend(self) -> bool:
        """Start it again when it died and is wanted; whether that was done. One that dies at once waits a little."""
        with self._lock:
            if not self.wanted or self.is_alive or time.monotonic() < self._not_before:
                return False
            is_quick = time.monotonic() - self.started_at < QUICK_DEATH_S
            self._quick_deaths = self._quick_deaths + 1 if is_quick else 0
            self._not_before = time.monotonic() + min(0.1 * 2**self._quick_deaths, LONGEST_DELAY_S)
            self.restart()
            return True

    def _forked(self) -> int:
        return self.manager.spawn(self.program, self.arguments, self.log)

    def _cold(self) -> int:
        command = self.command or [sys.executable, "-m", "tests.drill.entry", self.program, *self.arguments]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                env={**os.environ, **self.manager.env, **self.env_extra},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self._child.pid

    def _signal_group(self, number: signal.Signals) -> None:
        if self.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _kill_group(self) -> None:
        if self.pid:
            self._signal_group(signal.SIGKILL)
            _wait_ended([self.pid, *(pid for pid in _pids() if _group(pid) == self.pid)])
        self._reap()

    def _reap(self) -> None:
        if self._child is not None:
            self._child.poll()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def _wait_ended(pids: Sequence[int]) -> None:
    """Wait until each has let go of its connections, whether or not its parent has looked at how it ended."""
    for pid in pids:
        descriptor = _pidfd(pid)
        if descriptor >= 0:
            select.select([descriptor], [], [], KILLED_S)
            os.close(descriptor)


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return -1


def _pids() -> list[int]:
    return sorted(int(path.name) for path in Path("/proc").glob("[0-9]*"))


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1
