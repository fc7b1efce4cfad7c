"""Waiting for a control plane that does not answer, or does not let this agent in: again and again, ever slower, never
in step with others.
"""

import logging
import random
from collections.abc import Callable
from typing import TypeVar

from computeagent.protocol.refusals import DoorRefused
from controlplane.kernel.complaints import Complaints
from controlplane.kernel.errors import Unavailable

Answer = TypeVar("Answer")
log = logging.getLogger(__name__)

AWAY = "the control plane is away"
"""One line a minute for all that is tried again, whatever each try says of itself: addresses in memory differ."""


REFUSED_FIRST_S, REFUSED_MAX_S = 2.0, 30.0
"""How long an agent rests that is not let in: nobody changes that within a second, and many may be refused at once."""
REFUSED_SAY_AGAIN_S = 3600.0

JITTER = 0.25
"""By which part a time that is spread may be shorter or longer."""


def jittered_s(seconds: float) -> float:
    """`seconds`, give or take a quarter, so that a thousand agents do not ask at the same moment."""
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads load, guards nothing


def backoff_s(failures: int, *, first_s: float = 0.2, max_s: float = 10.0) -> float:
    """How long to rest after the n-th failure in a row (n >= 1)."""
    return jittered_s(min(max_s, first_s * 2.0 ** min(failures - 1, 16)))


class Retry:
    """Repeats a call for as long as it ends in `Unavailable` and the agent is not being stopped."""

    def __init__(self, *, stopping: Callable[[], bool], pause: Callable[[float], object]) -> None:
        self._stopping = stopping
        self._pause = pause
        self._complaints = Complaints()
        self._refusals = Complaints(say_again_s=REFUSED_SAY_AGAIN_S)

    @property
    def is_stopping(self) -> bool:
        """Whether the agent was asked to end."""
        return self._stopping()

    def call(self, verb: Callable[[], Answer], *, tries: int | None = None) -> Answer:
        """The answer of `verb`. Raises Unavailable when stopping, or after `tries` calls that found nobody.

        A control plane that is there and says when to ask again (`wait_s`) is asked again then, however often.
        """
        failures = 0
        while True:
            try:
                return verb()
            except Unavailable as error:
                wait_s = error.extra.get("wait_s")
                failures += wait_s is None
                if self._stopping() or (wait_s is None and failures == tries):
                    raise
                if wait_s is None and self._complaints.is_due(AWAY):
                    log.warning("trying again, because the control plane is away: %s", error.message)
            self._pause(backoff_s(failures) if wait_s is None else jittered_s(wait_s))

    def until_let_in(self, claim: Callable[[], Answer]) -> Answer:
        """The answer of `claim`, which is asked for as long as the door refuses this agent: its host is enrolled again,
        or one of the two sides upgraded, without anybody at its console. Raises Unavailable when stopping.
        """
        refused = 0
        while True:
            try:
                return self.call(claim)
            except DoorRefused as error:
                refused += 1
                if self._stopping():
                    raise Unavailable(error.message) from error
                if self._refusals.is_due(error.message):
                    log.error("this agent is not let in, and asks again ever more seldom: %s", error.message)
            self._pause(backoff_s(refused, first_s=REFUSED_FIRST_S, max_s=REFUSED_MAX_S))
