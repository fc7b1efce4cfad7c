"""Tells the control plane what the hypervisor says of each guest, when it differs from what was told before."""

import logging

from computeagent.agent.context import AgentContext
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts

log = logging.getLogger(__name__)

FULL_EVERY_S = 60.0


class PowerSync:
    """Guests that somebody works on are left out: what was read of them may be over before it arrives.

    Afterwards they are told anew, since the work changed what the control plane holds of them.
    """

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._reported: dict[str, GuestFacts] = {}
        self._full_at: float | None = None
        self._last_checkpoint = 0

    def tick(self) -> None:
        """Send the changes, and once a minute everything."""
        context = self._context
        checkpoint = context.instance_mutex.checkpoint()
        seen = self._read()
        self._forget_stale()
        changes = {
            uuid: facts
            for uuid, facts in seen.items()
            if self._reported.get(uuid) != facts and context.instance_mutex.undisturbed_since(checkpoint, uuid)
        }
        if changes:
            context.conductor.power_states(host=context.host, facts=changes)
        self._reported = {uuid: facts for uuid, facts in {**self._reported, **changes}.items() if uuid in seen}
        self._last_checkpoint = checkpoint
        context.instance_mutex.forget_until(checkpoint)

    def _read(self) -> dict[str, GuestFacts]:
        """What can be read; a guest that cannot (a hung QEMU holds its lock) says nothing of the others."""
        context = self._context
        facts: dict[str, GuestFacts] = {}
        for guest in context.driver.guests():
            try:
                known = context.driver.facts(guest.uuid)
            except DriverError as error:
                context.counts.add("guest_unreadable")
                log.warning("the state of guest %s cannot be read: %s", guest.uuid, error.message)
                continue
            if known is not None:
                facts[guest.uuid] = known
        return facts

    def _forget_stale(self) -> None:
        for uuid in self._context.changes.take_missing():
            self._reported.pop(uuid, None)
        if self._is_full_due():
            self._reported = {}
        quiet = self._context.instance_mutex.undisturbed_since
        self._reported = {uuid: facts for uuid, facts in self._reported.items() if quiet(self._last_checkpoint, uuid)}

    def _is_full_due(self) -> bool:
        now = self._context.clock()
        if self._full_at is not None and now - self._full_at < FULL_EVERY_S:
            return False
        self._full_at = now
        return True
