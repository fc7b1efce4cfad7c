"""Wraps schedulers that inherit from nothing of ours."""

from collections.abc import Callable, Mapping

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.engine.schedule import Stopwatch
from scheduling.schedulers.base import HasSchedule, Scheduler


class ForeignScheduler(Scheduler):
    """An object with a method `schedule`."""

    def __init__(self, wrapped: HasSchedule) -> None:
        self._wrapped = wrapped
        self.max_view_age_s = getattr(wrapped, "max_view_age_s", 0.0)

    @property
    def name(self) -> str:
        """The name of the wrapped class."""
        return type(self._wrapped).__name__

    def rules(self, policy: Policy) -> Policy:
        """The wrapped object's answer, the policy itself if it has none."""
        ask: Callable[[Policy], Policy] | None = getattr(self._wrapped, "rules", None)
        return policy if ask is None else ask(policy)

    def schedule(
        self,
        table: HostTable,
        request: ScheduleRequest,
        policy: Policy,
        seed: int,
        *,
        candidates: CandidateSet | None,
        claims_lost: Mapping[str, Refusal] | None,
        stopwatch: Stopwatch,
    ) -> Trace:
        """The wrapped object's plan."""
        return self._wrapped.schedule(
            table, request, policy, seed, candidates=candidates, claims_lost=claims_lost, stopwatch=stopwatch
        )
