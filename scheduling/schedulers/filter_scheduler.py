"""The scheduler of every day: the policy's filters, then its weighers."""

from collections.abc import Mapping

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.engine.schedule import Stopwatch, schedule
from scheduling.schedulers.base import Scheduler


class FilterScheduler(Scheduler):
    """Filter, weigh, take the best. Schedulers that only bend the policy override `rules`."""

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
        """The engine's answer under `rules`."""
        return schedule(
            table,
            request,
            self.rules(policy),
            seed,
            candidates=candidates,
            claims_lost=claims_lost,
            stopwatch=stopwatch,
        )
