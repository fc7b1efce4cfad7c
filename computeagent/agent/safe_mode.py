"""Safe mode: while the hypervisor's answers contradict each other, nothing is destroyed or started on this host.

A libvirt that lost part of its list (a state directory that is not mounted, a daemon of another configuration) looks as
if guests were gone. Who believes it starts them a second time, or removes what is not in the other half. Entered by
`Upkeep.report_resources`, and left by it once the answers agree again. A file outlives the process, so that an agent
that its supervisor starts again does not believe what the one before did not.
"""

import logging
import threading
from pathlib import Path

log = logging.getLogger(__name__)

MARK_FILE = "safe_mode"


class SafeMode:
    """Written by one thread, read by all. `path` is the file that outlives the process, if one shall."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._reason = path.read_text(errors="replace").strip() if path is not None and path.exists() else ""

    @property
    def reason(self) -> str:
        """Why this host is in safe mode, for people; empty when it is not."""
        with self._lock:
            return self._reason

    def enter(self, reason: str) -> None:
        """From now on. What is under way goes on: it was begun on answers that agreed."""
        with self._lock:
            if self._reason == reason:
                return
            self._reason = reason
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_text(reason + "\n")
        log.error("safe mode: %s Nothing is destroyed or started on this host until that is settled", reason)

    def leave(self, why: str) -> None:
        """The answers agree again, or somebody said that they are right."""
        with self._lock:
            if not self._reason:
                return
            self._reason = ""
            if self._path is not None:
                self._path.unlink(missing_ok=True)
        log.warning("safe mode ends: %s", why)
