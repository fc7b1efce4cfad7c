"""The scheduler of every day: the policy's filters, then its weighers."""

from dataclasses import replace

from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine.schedule import schedule
from scheduling.schedulers.base import Scheduler


class FilterScheduler(Scheduler):
    """Filter, weigh, take the best. Schedulers that only bend the policy override `rules`."""

    def schedule(self, call: ScheduleCall) -> Trace:
        """The engine's answer under `rules`."""
        return schedule(replace(call, policy=self.rules(call.policy)))
