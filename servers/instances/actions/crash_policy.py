"""Whether a guest that crashed or hangs is started again: its policy, and for how often."""

from enum import StrEnum


class CrashPolicy(StrEnum):
    """What follows a crash or a hang."""

    STOP = "stop"
    """The instance of a guest that crashed is stopped, as in Nova; a guest that hangs stands still."""
    RESTART = "restart"
    """Its guest is started again, a few times."""


class CrashOutcome(StrEnum):
    """What is done about one crash or hang."""

    STAY_OFF = "stay_off"
    RESTART = "restart"
    GIVE_UP = "give_up"


DEFAULT = "default"
"""What an instance is set to so that the installation's setting counts for it."""


def crash_outcome(policy: str, *, restarts: int, limit: int) -> CrashOutcome:
    """`restarts`: how often it was started again lately, of `limit` times."""
    if policy != CrashPolicy.RESTART:
        return CrashOutcome.STAY_OFF
    return CrashOutcome.RESTART if restarts < limit else CrashOutcome.GIVE_UP
