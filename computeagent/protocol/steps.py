"""How the steps of a piece of work ended, and whose fault a failure is."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that is over, told with the next write. Both times are seconds before that write by the agent's
    monotonic clock, so that a clock that jumps moves nothing; the control plane sets them on its own clock.
    """

    name: str
    began_ago_s: float
    ended_ago_s: float
    error: str = ""


class FailureClass(StrEnum):
    """Whose fault a failed build is: only HOST may count against the host; USER is not tried elsewhere."""

    HOST = "host"
    USER = "user"
    NETWORK = "network"
    POLICY = "policy"


class HostBlame(StrEnum):
    """When a failure of class HOST counts against its host. AT_ONCE: what failed is the host's own, whatever was asked
    for (its disk is full). NEVER: it lacks what was, which is no fault. All else could be the request's as well.
    """

    AT_ONCE = "at_once"
    IF_BUILT_ELSEWHERE = "if_built_elsewhere"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Why a build ended without a guest. Sent only after the host holds nothing of it any more. Of another class than
    HOST, `blame` means nothing.
    """

    failure_class: FailureClass
    step: str
    message: str
    details: str = ""
    blame: HostBlame = HostBlame.IF_BUILT_ELSEWHERE
