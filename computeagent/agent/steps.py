"""Named steps of a piece of work: each recorded before and after, none begun on a lease that is over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import Refused, StepFailed, failure_of
from computeagent.agent.holds import Hold
from computeagent.agent.kill_points import reach
from computeagent.drivers.base import DriverError
from controlplane.kernel.errors import Fenced


class Steps:
    """Brackets the steps of one held piece of work, and carries its writes."""

    def __init__(self, context: AgentContext, hold: Hold) -> None:
        self._context = context
        self._hold = hold

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record start and end of `name`. A failure inside is recorded and raised as StepFailed; Fenced passes."""
        conductor, lease = self._context.conductor, self._hold.lease
        self.write(lambda: conductor.step_started(lease=lease, step=name))
        reach(f"{self._hold.order.kind}:{name}:started")
        try:
            yield
        except (DriverError, Refused) as error:
            failure = failure_of(name, error)
            self.write(lambda: conductor.step_finished(lease=lease, step=name, error=failure.message))
            raise StepFailed(failure) from error
        reach(f"{self._hold.order.kind}:{name}:finished")
        self.write(lambda: conductor.step_finished(lease=lease, step=name))

    def write(self, verb: Callable[[], None]) -> None:
        """Write under the lease, waiting for the control plane if need be. Raises Fenced, and never writes again."""
        try:
            self._context.patience.call(lambda: self._write_once(verb))
        except Fenced:
            self._hold.fence()
            raise

    def _write_once(self, verb: Callable[[], None]) -> None:
        self._hold.check()
        verb()
