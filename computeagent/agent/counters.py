"""Reports what the guests use: one question to the hypervisor and one message for all of them, once an interval."""

import itertools
import logging

from computeagent.agent.context import AgentContext
from computeagent.protocol.bounds import GUESTS_TOGETHER
from controlplane.kernel.errors import NotFound

log = logging.getLogger(__name__)


class CountersReporter:
    """A control plane without the verb is left alone until its heartbeats tell of another version."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._refused_by: str | None = None

    def tick(self, control_plane: str) -> None:
        """Send the counters of all guests that run; `control_plane` is the version that it told last."""
        if self._refused_by == control_plane:
            return
        items = iter(self._context.driver.guest_counters().items())
        while batch := dict(itertools.islice(items, GUESTS_TOGETHER)):
            try:
                self._context.conductor.guest_counters(host=self._context.host, counters=batch)
            except NotFound:
                self._refused_by = control_plane
                log.info("the control plane is of an earlier release and takes no counters of guests")
                return
        self._refused_by = None
