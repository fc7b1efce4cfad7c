"""How the steps of a piece of work ended, and whose fault a failure is."""

from dataclasses import dataclass
from enum import StrEnum

from computeagent.protocol.bounds import Details, Seconds, Sentence, StepName


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that is over, told with the next write. Both times are seconds before that write by the agent's
    monotonic clock, so that a clock that jumps moves nothing; the control plane sets them on its own clock.
    """

    name: StepName
    began_ago_s: Seconds
    ended_ago_s: Seconds
    error: Sentence = ""


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
    step: StepName
    message: Sentence
    details: Details = ""
    blame: HostBlame = HostBlame.IF_BUILT_ELSEWHERE
