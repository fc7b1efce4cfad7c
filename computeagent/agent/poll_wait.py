"""How long a long poll asks to wait: as long as whatever is between agent and control plane lets it.

A proxy that cuts what says nothing for too long would else cut every poll, and the agent would rest after each as after
a failure, while work waits for it. So a poll that was cut makes the next one half as long as it lasted, and each that
was waited out to its end makes the next one a little longer.
"""

SHORTEST_S = 1.0
"""What ends sooner was not waiting: nobody was there."""
GROWTH = 1.1


class PollWait:
    """For one thread."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self.seconds = longest_s
        """For the next poll."""

    def was_answered(self, after_s: float) -> None:
        """The poll got its answer."""
        if after_s >= self.seconds:
            self.seconds = min(self._longest_s, self.seconds * GROWTH)

    def was_cut(self, after_s: float) -> None:
        """It ended without one."""
        if after_s >= SHORTEST_S:
            self.seconds = min(self._longest_s, max(SHORTEST_S, after_s / 2))
