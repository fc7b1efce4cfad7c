"""Named steps of a piece of work: each is written down, none is begun on a lease that is over.

A step that can hang is a row before it begins, so that rows always tell what hangs. All else is told with the next
write, in its transaction: which steps ended, when they began, and with what error. A death in between loses these
words alone; the work is taken again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import CleanupFailed, Refused, StepFailed, failure_of
from computeagent.agent.held_leases import HeldLease
from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import StepEnd
from controlplane.kernel.errors import Fenced
from controlplane.kernel.kill_points import reach


@dataclass(frozen=True, slots=True)
class _Over:
    """A step that ended; times by the agent's monotonic clock."""

    name: str
    began: float
    ended: float
    error: str


class StepRecorder:
    """Brackets the steps of one held piece of work, and carries its writes. For one thread."""

    def __init__(self, context: AgentContext, held: HeldLease) -> None:
        self._context = context
        self._hold = held
        self._over: list[_Over] = []

    @contextmanager
    def step(self, name: str, *, can_hang: bool = True) -> Iterator[None]:
        """Remember start and end of `name`. A failure inside is remembered and raised as StepFailed; a clean-up that
        failed passes, and so does Fenced. `can_hang` False: it calls nobody, and is no row until it ended.
        """
        if can_hang:
            self.write(lambda ended: self._record(ended, name))
        began = self._context.clock()
        reach(f"computeagent.agent.{self._hold.order.kind}.{name}:started")
        try:
            yield
        except (DriverError, Refused) as error:
            failure = failure_of(name, error)
            self._end(name, began, failure.message)
            raise StepFailed(failure) from error
        except CleanupFailed as error:
            self._end(name, began, error.message)
            raise
        self._end(name, began)
        reach(f"computeagent.agent.{self._hold.order.kind}.{name}:finished")

    def happened(self, name: str) -> None:
        """Remember what has no length: it is told with the next write."""
        now = self._context.clock()
        self._over.append(_Over(name, now, now, ""))

    def report(self) -> None:
        """Write down now what ended, where nothing else is to be written. Raises Fenced."""
        self.write(lambda ended: self._record(ended, ""))

    def write(self, verb: Callable[[tuple[StepEnd, ...]], None]) -> None:
        """Write under the lease, waiting for the control plane if need be. Raises Fenced, and never writes again.

        `verb` is given the steps that ended and were not told yet; whatever it writes tells them.
        """
        try:
            self._context.retry.call(lambda: self._write_once(verb))
        except Fenced:
            self._hold.fence()
            raise

    def _write_once(self, verb: Callable[[tuple[StepEnd, ...]], None]) -> None:
        self._hold.check()
        now = self._context.clock()
        verb(tuple(StepEnd(over.name, now - over.began, now - over.ended, over.error) for over in self._over))
        self._over.clear()

    def _record(self, ended: tuple[StepEnd, ...], begins: str) -> None:
        self._context.conductor.record_steps(lease=self._hold.lease, ended=ended, begins=begins)

    def _end(self, name: str, began: float, error: str = "") -> None:
        self._over.append(_Over(name, began, self._context.clock(), error))
