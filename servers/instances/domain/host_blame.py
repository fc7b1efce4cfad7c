"""Which failed attempts count against their host. Pure.

A host is blamed for what is its own in any case, at once, and for what nobody can tell at the time only when the same
request is then built on another host. Where no host builds it, it is the request's.
"""

from enum import StrEnum

from computeagent.protocol.steps import BuildFailure, HostBlame
from servers.instances.domain.build_ends import FAILURE_RULES


class AttemptBlame(StrEnum):
    """Of a failed attempt. PENDING: until the instance is built elsewhere, or asked for again. DUE: to be counted, by
    whoever comes first.
    """

    NONE = ""
    PENDING = "pending"
    DUE = "due"
    COUNTED = "counted"


def blame_of(failure: BuildFailure) -> AttemptBlame:
    """What a failure means for its host now."""
    if not FAILURE_RULES[failure.failure_class].counts_against_host or failure.blame is HostBlame.NEVER:
        return AttemptBlame.NONE
    if failure.blame is HostBlame.AT_ONCE:
        return AttemptBlame.COUNTED
    return AttemptBlame.PENDING
