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
    """Whose fault a failed build is: only HOST counts against the host; USER is not tried elsewhere."""

    HOST = "host"
    USER = "user"
    NETWORK = "network"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class BuildFailure:
    """Why a build ended without a guest. Sent only after the host holds nothing of it any more."""

    failure_class: FailureClass
    step: StepName
    message: Sentence
    details: Details = ""
