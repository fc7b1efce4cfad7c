"""Keeps children running until it is asked to stop; then stops all of them within a bounded time.

Each child leads a session and a process group of its own, so that a Ctrl-C on the terminal reaches only the
supervisor and a kill reaches everything a child forked. Guests of a hypervisor leave that group by themselves
(libvirt daemonises QEMU) and so survive.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
STABLE_AFTER_S = 60.0
POLL_S = 0.1
LOG_ROTATE_BYTES = 20 * 1024 * 1024
WRAPPER = Path(__file__).with_name("die_with_parent.py")


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One program to keep running. `env` is laid over the supervisor's own environment."""

    name: str
    command: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class ChildDied:
    """A child ended without being asked to. `status` is its exit status, or minus the signal that ended it."""

    name: str
    status: int
    restart_in_s: float
    log: Path


class Child:
    """One spec and the process that runs it now, if any."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self.quick_deaths = 0
        self.started_at = 0.0
        self.start_at = 0.0

    def start(self) -> None:
        """Start the program; its output goes to the end of its log."""
        self.spec.log.parent.mkdir(parents=True, exist_ok=True)
        # Here alone a log can be rotated: while the program runs it holds the file open. One older log stays.
        if self.spec.log.exists() and self.spec.log.stat().st_size > LOG_ROTATE_BYTES:
            self.spec.log.replace(self.spec.log.with_name(self.spec.log.name + ".1"))
        with self.spec.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-S", "-E", str(WRAPPER), str(os.getpid()), *self.spec.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.spec.env},
                cwd=self.spec.cwd,
                start_new_session=True,
            )
        self.started_at = time.monotonic()

    def ended(self) -> bool:
        """Whether it ended. What it forked is killed before its number can be given to another process."""
        if self.process is None or self.process.returncode is not None:
            return True
        if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return False
        self.signal_group(signal.SIGKILL)
        self.process.wait()
        return True

    def after_death(self) -> ChildDied:
        """Plan the next start: at once for a first death, later and later for one that keeps dying."""
        now = time.monotonic()
        stable = now - self.started_at >= STABLE_AFTER_S
        self.quick_deaths = 1 if stable else self.quick_deaths + 1
        delay_s = min(FIRST_DELAY_S * 2 ** (self.quick_deaths - 1), LONGEST_DELAY_S)
        self.start_at = now + delay_s
        status = self.process.returncode if self.process else 0
        self.process = None
        return ChildDied(name=self.spec.name, status=status, restart_in_s=delay_s, log=self.spec.log)

    def signal_leader(self, number: signal.Signals) -> None:
        """Ask the program itself; it stops what it forked in the order it needs."""
        if self.process is not None and self.process.returncode is None:
            # Not Popen.send_signal: it would reap, and free the number of a group that may still have members.
            os.kill(self.process.pid, number)

    def signal_group(self, number: signal.Signals) -> None:
        """Reach the program and all that it forked."""
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)


class Supervisor:
    """Runs children. Not thread-safe: all calls come from the thread that made it."""

    def __init__(self, specs: Sequence[ChildSpec], *, on_death: Callable[[ChildDied], None]) -> None:
        self.children = [Child(spec) for spec in specs]
        self._on_death = on_death

    def start(self) -> None:
        for child in self.children:
            child.start()

    def tick(self) -> None:
        """Poll once: report children that died, start those whose delay is over."""
        for child in self.children:
            if child.process is not None and child.ended():
                self._on_death(child.after_death())
            if child.process is None and time.monotonic() >= child.start_at:
                child.start()

    def stop(self, *, limit_s: float, hurry: Callable[[], bool] = lambda: False) -> list[str]:
        """Ask all to end, wait, then kill the groups of those that did not; the names of these.

        `hurry` is asked while waiting: true means kill now.
        """
        for child in self.children:
            child.signal_leader(signal.SIGTERM)
        end = time.monotonic() + limit_s
        waiting = self._running()
        while waiting and time.monotonic() < end and not hurry():
            time.sleep(POLL_S)
            waiting = [child for child in waiting if not child.ended()]
        for child in waiting:
            child.signal_group(signal.SIGKILL)
            if child.process is not None:
                child.process.wait()
        return [child.spec.name for child in waiting]

    def _running(self) -> list[Child]:
        return [child for child in self.children if child.process is not None and not child.ended()]
