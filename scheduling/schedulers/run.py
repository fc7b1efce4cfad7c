"""One run of the scheduler that the policy names: real runs, replays, trials and shadows all come through here."""

from controlplane.kernel.texts import phrase as _
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_guard
from scheduling.domain.policy import Policy
from scheduling.domain.request.request_context import RequestContext
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.schedulers.base import Scheduler
from scheduling.schedulers.check import resources_asked, trace_problem
from scheduling.schedulers.registry import BUILT_IN, scheduler_get

LONGEST = 1000
"""Characters of a failure that are kept."""


def scheduler_run(call: ScheduleCall) -> Trace:
    """The plan of the policy's scheduler; errors are those of `scheduling.engine.schedule.schedule`.

    What a scheduler that is not ours raises, and a plan that nobody could carry out, is PluginFailed with its name.
    """
    name = call.policy.scheduler
    scheduler = scheduler_get(name)
    if name not in BUILT_IN:
        scheduler = _Checked(name, scheduler)
    return scheduler.schedule(call)


def view_age_allowed_s(policy: Policy) -> float:
    """How old the first view of the fleet may be under this policy, in seconds. Raises PluginNotFound, PluginFailed."""
    scheduler = scheduler_get(policy.scheduler)
    with plugin_guard("scheduler", policy.scheduler):
        age_s = float(scheduler.view_age_s(policy))
    if not age_s >= 0.0:
        raise PluginFailed(
            _("the scheduler {scheduler} asks for a view {age_s} s old", scheduler=policy.scheduler, age_s=age_s),
            plugin=policy.scheduler,
        )
    return age_s


def periodic_tasks_run(policy: Policy) -> None:
    """What the policy's scheduler does from time to time. Raises PluginNotFound, PluginFailed."""
    scheduler = scheduler_get(policy.scheduler)
    with plugin_guard("scheduler", policy.scheduler):
        scheduler.run_periodic_tasks(RequestContext(is_admin=True))


class _Checked(Scheduler):
    """Somebody else's scheduler, between guards. A request that contradicts itself is not its mistake: Invalid."""

    def __init__(self, name: str, wrapped: Scheduler) -> None:
        self._name, self._wrapped = name, wrapped

    def schedule(self, call: ScheduleCall) -> Trace:
        """Its plan, once it was found to be one."""
        resources = resources_asked(call)
        with plugin_guard("scheduler", self._name):
            trace = self._wrapped.schedule(call)
            problem = trace_problem(trace, call, resources)
        if problem is not None:
            room = LONGEST - len(f"the scheduler {self._name}: ")
            said = problem if len(problem) <= room else problem[:room]
            raise PluginFailed(_("the scheduler {name}: {problem}", name=self._name, problem=said), plugin=self._name)
        return trace
