"""Wraps schedulers that inherit from nothing of ours."""

from collections.abc import Callable

from scheduling.domain.policy import Policy
from scheduling.domain.request.request_context import RequestContext
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
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

    def run_periodic_tasks(self, context: RequestContext) -> None:
        """The wrapped object's, if it has some."""
        run: Callable[[RequestContext], object] | None = getattr(self._wrapped, "run_periodic_tasks", None)
        if run is not None:
            run(context)

    def schedule(self, call: ScheduleCall) -> Trace:
        """The wrapped object's plan."""
        return self._wrapped.schedule(call)
