"""A thread's body that does one thing again and again, and rests longer while the control plane is away or
refuses it."""

import logging
import threading
from collections.abc import Callable

from computeagent.agent.context import AgentContext
from computeagent.agent.retry import backoff_s, jittered_s
from computeagent.agent.threads import ThreadHeartbeats
from computeagent.drivers.base import DriverError
from controlplane.kernel.errors import KilonovaError, Unavailable

log = logging.getLogger(__name__)

SETTLE_S = 1.0
"""How long a woken thread waits for more of the same, so that a batch of builds is one report."""


class Periodic:
    """Calls `tick` every `interval_s()` seconds until stopped, sooner (`settle_s` later) when `wake` is set.

    A tick may take `tick_takes_s`.
    Expected failures are logged and counted, and the next tick comes; anything else is a defect and ends the
    thread, and with it the process.
    """

    def __init__(
        self,
        context: AgentContext,
        *,
        name: str,
        tick: Callable[[], None],
        interval_s: Callable[[], float],
        stopping: threading.Event,
        heartbeats: ThreadHeartbeats,
        tick_takes_s: float = 0.0,
        wake: threading.Event | None = None,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._context = context
        self._name = name
        self._tick = tick
        self._interval_s = interval_s
        self._stopping = stopping
        self._heartbeats = heartbeats
        self._tick_takes_s = tick_takes_s
        self._wake = wake
        self._settle_s = settle_s
        self._failures = 0

    def run(self) -> None:
        """The thread's body."""
        while not self._stopping.is_set():
            self._heartbeats.beat(self._name, next_within_s=self._interval_s() + self._tick_takes_s)
            self._tick_once()
            self._rest()

    def _tick_once(self) -> None:
        try:
            self._tick()
            self._failures = 0
        except Unavailable as error:
            self._failures += 1
            self._context.counts.add("unavailable")
            if self._failures == 1:
                log.warning("%s: the control plane does not answer: %s", self._name, error.message)
        except KilonovaError as error:
            # The control plane's own words: where this was asked says no more.
            self._failures += 1
            self._context.counts.add(f"{self._name}_failed")
            if self._context.complaints.is_due(error.message):
                log.warning("%s is refused by the control plane: %s", self._name, error.message)
        except (DriverError, OSError):
            self._failures += 1
            self._context.counts.add(f"{self._name}_failed")
            log.exception("%s failed", self._name)

    def _rest(self) -> None:
        seconds = backoff_s(self._failures) if self._failures else jittered_s(self._interval_s())
        if self._wake is None or self._failures:
            self._context.pause(seconds)
            return
        if self._wake.wait(seconds):
            self._context.pause(min(self._settle_s, seconds))
        self._wake.clear()
