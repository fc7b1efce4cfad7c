"""What a scheduler is: ours inherit from `Scheduler`; for others a method `schedule` is enough."""

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from scheduling.domain.policy import Policy
from scheduling.domain.request.request_context import RequestContext
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace


class Scheduler(ABC):
    """Chooses hosts for a batch. It holds no state: one object serves every request, from several threads.

    `max_view_age_s`: how old, in seconds, the view of the fleet may be that it is handed first; 0: as of now.
    """

    max_view_age_s: float = 0.0

    @property
    def name(self) -> str:
        """How faults call it."""
        return type(self).__name__

    def view_age_s(self, policy: Policy) -> float:
        """How old the view may be under this policy, in seconds."""
        return self.max_view_age_s

    def rules(self, policy: Policy) -> Policy:
        """The filters and weighers that it really goes by, for answers about single rules (explain, capacity)."""
        return policy

    def run_periodic_tasks(self, context: RequestContext) -> None:
        """Called about once a minute by one worker of the conductor while this is the active policy's scheduler."""
        return

    @abstractmethod
    def schedule(self, call: ScheduleCall) -> Trace:
        """A plan, with its reasons; nothing is claimed, written or changed here.

        Equal calls must give an equal trace, or replays of its decisions will differ: chance comes from the seed alone.
        """


@runtime_checkable
class HasSchedule(Protocol):
    """Anything that schedules; it need not inherit from us. All else that a `Scheduler` has may be left out."""

    def schedule(self, call: ScheduleCall) -> Trace:
        """The plan for one call, under the rules of `Scheduler.schedule`."""
