"""A scheduler that is interrupted: after each plan, before the claim that follows it, the next of `ACTS` happens."""

from collections.abc import Callable

from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler, ScheduleCall

ACTS: list[Callable[[], object]] = []
NAME = f"{__name__}.Interrupted"


class Interrupted(FilterScheduler):
    """The filter scheduler, interrupted."""

    def schedule(self, call: ScheduleCall) -> Trace:
        trace = super().schedule(call)
        if ACTS:
            ACTS.pop(0)()
        return trace
