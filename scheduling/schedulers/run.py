"""One run of the scheduler that the policy names: real runs, replays, trials and shadows all come through here."""

from collections.abc import Mapping

from controlplane.kernel.reasons import Refusal
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_guard
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.engine.schedule import Stopwatch, no_stopwatch
from scheduling.schedulers.base import Scheduler
from scheduling.schedulers.check import resources_asked, trace_problem
from scheduling.schedulers.registry import BUILT_IN, scheduler_get


def scheduler_run(
    table: HostTable,
    request: ScheduleRequest,
    policy: Policy,
    seed: int,
    *,
    candidates: CandidateSet | None = None,
    claims_lost: Mapping[str, Refusal] | None = None,
    stopwatch: Stopwatch = no_stopwatch,
) -> Trace:
    """The plan of the policy's scheduler; arguments and errors are those of `scheduling.engine.schedule.schedule`.

    What a scheduler that is not ours raises, and a plan that nobody could carry out, is PluginFailed with its name.
    """
    scheduler = scheduler_get(policy.scheduler)
    if policy.scheduler not in BUILT_IN:
        scheduler = _Checked(policy.scheduler, scheduler)
    return scheduler.schedule(
        table, request, policy, seed, candidates=candidates, claims_lost=claims_lost, stopwatch=stopwatch
    )


def view_age_allowed_s(policy: Policy) -> float:
    """How old the first view of the fleet may be under this policy, in seconds. Raises PluginNotFound, PluginFailed."""
    scheduler = scheduler_get(policy.scheduler)
    with plugin_guard("scheduler", policy.scheduler):
        age_s = float(scheduler.view_age_s(policy))
    if not age_s >= 0.0:
        raise PluginFailed(f"the scheduler {policy.scheduler} asks for a view {age_s} s old", plugin=policy.scheduler)
    return age_s


class _Checked(Scheduler):
    """Somebody else's scheduler, between guards. A request that contradicts itself is not its mistake: Invalid."""

    def __init__(self, name: str, wrapped: Scheduler) -> None:
        self._name, self._wrapped = name, wrapped

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
        """Its plan, once it was found to be one."""
        resources = resources_asked(table, request, policy)
        with plugin_guard("scheduler", self._name):
            trace = self._wrapped.schedule(
                table, request, policy, seed, candidates=candidates, claims_lost=claims_lost, stopwatch=stopwatch
            )
            problem = trace_problem(trace, table, request, policy=policy, seed=seed, resources=resources)
        if problem is not None:
            raise PluginFailed(f"the scheduler {self._name}: {problem}"[:1000], plugin=self._name)
        return trace
