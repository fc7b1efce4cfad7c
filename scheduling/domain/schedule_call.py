"""What a scheduler is called with: one object, so that what is added later changes nobody's signature."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest

Stopwatch = Callable[[], int]


def no_stopwatch() -> int:
    """Always 0: the engine has no clock of its own."""
    return 0


@dataclass(frozen=True, slots=True)
class ScheduleCall:
    """One question to a scheduler. Equal calls must give equal plans, so that decisions can be replayed.

    A scheduler that bends a part of it hands `dataclasses.replace(call, policy=...)` on.
    """

    table: HostTable
    """The fleet as columns, one row for each compute node; never changed."""

    request: ScheduleRequest
    """The batch: its instances, flavor, image, zone, hints and group."""

    policy: Policy
    """The version that counts. `policy.options.extra` is for plug-ins."""

    seed: int
    """The only source of chance."""

    candidates: CandidateSet | None = None
    """What Placement says of the fleet; without it each host is judged as one provider, by the table alone."""

    claims_lost: Mapping[str, Refusal] = field(default_factory=dict)
    """Compute nodes (uuid) where the claim of an earlier pass failed, and why: refused at stage `claim`."""

    stopwatch: Stopwatch = no_stopwatch
    """Gives microseconds, for the times in the trace."""
