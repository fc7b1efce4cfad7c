"""What a run of the scheduler goes by besides its request, asked once and then passed on."""

from dataclasses import dataclass, field

from scheduling.fleet.cache.changes import ChangePoll
from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.selectors.policies import PoliciesInForce, policies_as_polled


@dataclass(frozen=True, slots=True)
class SchedulingInputs:
    """As of one poll of the change feed, which is one query; what is read by it costs none unless it changed.

    `facts` are what the app above knows of the instances on each host. `is_retry`: an earlier run for these instances
    may have been cut off after its claims, so they are freed first.
    """

    poll: ChangePoll
    policies: PoliciesInForce
    facts: FleetFacts = field(default_factory=FleetFacts)
    is_retry: bool = True

    def polled_again(self) -> "SchedulingInputs":
        """As of now. The facts are the caller's, and stay."""
        return scheduling_inputs(self.facts, is_retry=self.is_retry)


def scheduling_inputs(facts: FleetFacts | None = None, *, is_retry: bool = True) -> SchedulingInputs:
    """Poll, and take the policies in force. One query, and one more when some version changed."""
    poll = fleet_cache().poll_changes()
    return SchedulingInputs(poll, policies_as_polled(), facts or FleetFacts(), is_retry)
