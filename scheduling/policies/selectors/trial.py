"""Running a request under any policy on a fleet that was seen before. Nothing is claimed, nothing is written."""

from collections.abc import Mapping

from controlplane.kernel.reasons import Refusal
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.selectors.replay import fleet_candidates
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.request_filters import filter_request, surroundings_of
from scheduling.schedulers.run import scheduler_run


def policy_trial(
    *, fleet: FleetSeen, request: ScheduleRequest, policy: Policy, seed: int, excluded: Mapping[str, Refusal] | None
) -> Trace:
    """What the policy's scheduler says; Placement is asked what the request filters of this policy make of the request.

    `excluded` are compute nodes that the decision had to leave out. Raises what the engine raises.
    """
    asked = filter_request(request, surroundings_of(fleet.table, policy)).request
    candidates = fleet_candidates(fleet, asked)
    return scheduler_run(
        ScheduleCall(fleet.table, request, policy, seed, candidates=candidates, claims_lost=excluded or {})
    )
