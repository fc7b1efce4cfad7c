"""Guests that stand still for a volume failed run on once its pool can be used again.

A volume that fails stops its guest, so that neither reads nor writes are lost; QEMU repeats them when the guest runs
on. Guests whose volumes are all in pools without a problem are told to; one that stops again waits longer each time.
Guests that stand still for a disk of the host's own wait for a person.
"""

import logging
from collections.abc import Mapping

from computeagent.agent.context import AgentContext
from computeagent.agent.instance_mutex import instance_mutex_try
from computeagent.agent.pool_reports import PoolReports
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState, StateReason
from computeagent.protocol.volumes import PoolReport

log = logging.getLogger(__name__)

FIRST_S, LONGEST_S = 5.0, 300.0
"""How long a guest waits before it is told to run on, and at most after it stopped again and again."""
QUIET_S = 900.0
"""A guest that ran for so long begins with the first wait again."""


class IoErrorRelief:
    """For one thread, which calls `tick` now and then."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._reports = PoolReports(context.volumes.pools)
        self._due: dict[str, tuple[float, float]] = {}
        """By guest: when it is told next, and how long it waits then."""

    def tick(self) -> None:
        """Tell those to run on that can."""
        context = self._context
        stopped = [guest.uuid for guest in context.driver.guests() if guest.power_state is PowerState.PAUSED]
        now = context.clock()
        self._due = {uuid: due for uuid, due in self._due.items() if uuid in stopped or now - due[0] < QUIET_S}
        if not stopped:
            return
        reports = {report.name: report for report in self._reports.now()}
        for uuid in stopped:
            facts = context.driver.facts(uuid)
            if facts is not None and facts.reason == StateReason.IO_ERROR and self._pools_work(uuid, facts, reports):
                self._run_on(uuid, now)

    def _pools_work(self, uuid: str, facts: GuestFacts, reports: Mapping[str, PoolReport]) -> bool:
        """Whether the guest has volumes, and all of their pools can be used."""
        pools = self._context.volumes.pools_of(uuid) if facts.volumes else frozenset()
        return bool(pools) and all(
            name in reports and not reports[name].problem and reports[name].free_bytes > 0 for name in pools
        )

    def _run_on(self, uuid: str, now: float) -> None:
        due_at, wait_s = self._due.setdefault(uuid, (now + FIRST_S, FIRST_S))
        if now < due_at:
            return
        wait_s = min(wait_s * 2, LONGEST_S)
        self._due[uuid] = (now + wait_s, wait_s)
        context = self._context
        with instance_mutex_try(context.instance_mutex, uuid, resume=context.inbox.put_back) as entered:
            if not entered:
                return
            try:
                context.driver.unpause(uuid)
            except DriverError as error:
                log.warning("guest %s does not run on after an error of its volume: %s", uuid, error.message)
                return
        context.counts.add("run_on_after_io_error")
        context.changes.note(uuid)
        log.info("guest %s runs on: the pools of its volumes can be used again", uuid)
