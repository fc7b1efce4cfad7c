"""What the pools of this host say of themselves. One that hangs is a problem of its own, and keeps nobody waiting."""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from computeagent.protocol.volumes import PoolReport
from computeagent.volumes.base import VolumeBackend

WAIT_S = 5.0


class PoolReports:
    """Asks each pool in a thread of its own, since a file system that is away does not even refuse. For one caller."""

    def __init__(self, pools: Mapping[str, VolumeBackend], *, wait_s: float = WAIT_S) -> None:
        self._pools = pools
        self._wait_s = wait_s
        self._asking: dict[str, tuple[threading.Thread, float]] = {}
        self._last: dict[str, PoolReport] = {}

    def now(self) -> tuple[PoolReport, ...]:
        """All of them, by name. One that does not answer in time is as it was last, with that for its problem; one
        that never did is left out.
        """
        until = time.monotonic() + self._wait_s
        for name in self._pools:
            self._ask(name)
        return tuple(report for name in sorted(self._pools) if (report := self._answer(name, until)) is not None)

    def _ask(self, name: str) -> None:
        thread, _ = self._asking.get(name, (None, 0.0))
        if thread is None or not thread.is_alive():
            thread = threading.Thread(target=self._read, args=(name,), name=f"pool-{name}", daemon=True)
            self._asking[name] = (thread, time.monotonic())
            thread.start()

    def _read(self, name: str) -> None:
        self._last[name] = self._pools[name].report()

    def _answer(self, name: str, until: float) -> PoolReport | None:
        thread, asked_at = self._asking[name]
        thread.join(max(0.0, until - time.monotonic()))
        last = self._last.get(name)
        if last is None or not thread.is_alive():
            return last
        return replace(last, problem=f"it did not answer within {time.monotonic() - asked_at:.0f} s")
