"""Is a stored decision still what the scheduler would decide on what it saw?"""

import logging
from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.infra.answer_budget import answer_budget
from controlplane.work.conf import work_options
from scheduling.decisions.ledger.difference import TraceDifference
from scheduling.decisions.selectors.decisions import decision_get
from scheduling.decisions.selectors.replay import ReplayState, replay_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """`same` is None where nothing could be compared; `sentence` says why."""

    decision_id: UUID
    state: ReplayState
    same: bool | None
    sentence: str
    difference: TraceDifference | None = None


def decision_replay(*, caller: Caller, decision_id: UUID) -> ReplayReport:
    """Run the decision again on the fleet that it saw, with its policy, seed and request; nothing is claimed.

    Compares all that was decided, to the bit; times are not compared. Raises NotFound, also for another project's.
    """
    decision = decision_get(caller=caller, decision_id=decision_id)
    with answer_budget.spend(
        f"replay:{caller.own_project_id}", seconds_a_minute=work_options().answer_seconds_a_minute
    ):
        replay = replay_of(decision=decision)
    if replay.state in (ReplayState.DIFFERENT, ReplayState.FAILED):
        log.warning("decision=%s %s", decision_id, replay.sentence)
    compared = replay.state in (ReplayState.SAME, ReplayState.DIFFERENT)
    return ReplayReport(
        decision_id=decision_id,
        state=replay.state,
        same=replay.state is ReplayState.SAME if compared else None,
        sentence=replay.sentence,
        difference=replay.difference,
    )
