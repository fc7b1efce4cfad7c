"""What a request filter is: a pure function from a request and its surroundings to what it adds to the request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.schedule_request import ScheduleRequest


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What request filters know besides the request.

    `min_service_version` is the smallest version among compute services that are not forced down; 0 if none says.
    """

    aggregates: Sequence[AggregateRow]
    options: PolicyOptions
    min_service_version: int = 0


@dataclass(frozen=True, slots=True)
class Addition:
    """What one request filter asks of hosts, on top of the request.

    Traits are those of the root provider. `member_of`: one aggregate (uuid) of the set, None for no such condition;
    an empty set lets no host pass. `notes` are for the trace.
    """

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


RequestFilter = Callable[[ScheduleRequest, Surroundings], Addition]

NOTHING = Addition()


def traits(*names: str) -> Addition:
    """The root provider must have these."""
    return Addition(required=frozenset(names))
