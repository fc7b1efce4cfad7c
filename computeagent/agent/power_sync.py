"""Tells the control plane what the hypervisor says of each guest, when it differs from what was told before.

Guests that the hypervisor names are looked at once it does; all of them are looked at now and then, for events that
were lost and for what has no event, as an address has none.
"""

import logging
import math
from collections.abc import Iterable

from computeagent.agent.context import AgentContext
from computeagent.agent.retry import JITTER
from computeagent.agent.telling import power_states_tell
from computeagent.drivers.base import DriverError, ForeignGuest
from computeagent.protocol.guests import GuestFacts

log = logging.getLogger(__name__)

FULL_EVERY_S = 60.0


class PowerSync:
    """Guests that somebody works on are left out: what was read of them may be over before it arrives.

    Afterwards they are told anew, since the work changed what the control plane holds of them; but for what the work
    itself told at its end.
    """

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._reported: dict[str, GuestFacts] = {}
        self._full_at: float | None = None
        self._last_checkpoint = 0
        # When all guests were looked at; never: the next tick looks at all.
        self._looked_at = -math.inf

    def rest_s(self) -> float:
        """How long nothing is to be done. What rests for it may wake a jitter too early."""
        to_look = self._looked_at + self._context.options.power_sync_interval_s - self._context.clock()
        return max(0.0, min(to_look, self._context.guest_events.seconds_to_next() / (1 - JITTER)))

    def tick(self) -> None:
        """Look at the guests that were named, or at all when it is time; send the changes, and once a minute all."""
        context = self._context
        now = context.clock()
        named = context.guest_events.take()
        looked_at, self._looked_at = self._looked_at, -math.inf  # a tick that fails is made up for by a look at all
        if None in named or now - looked_at >= (1 - JITTER) * context.options.power_sync_interval_s:
            self._look(None)
            looked_at = now
        elif named:
            self._look({uuid for uuid in named if uuid is not None})
        self._looked_at = looked_at

    def _look(self, named: set[str] | None) -> None:
        """At these guests, or at all that are there."""
        context = self._context
        checkpoint = context.instance_mutex.checkpoint()
        uuids = {guest.uuid for guest in context.driver.guests()} if named is None else named
        busy = {uuid for uuid in uuids if context.instance_mutex.is_busy(uuid)}
        seen = self._read(uuid for uuid in uuids if named is None or uuid not in busy)
        self._forget_stale(is_full=named is None)
        quiet = {uuid for uuid in uuids - busy if context.instance_mutex.undisturbed_since(checkpoint, uuid)}
        self._reported |= context.instance_mutex.take_reported(quiet)
        changes = {uuid: seen[uuid] for uuid in quiet & seen.keys() if self._reported.get(uuid) != seen[uuid]}
        if changes:
            power_states_tell(context, changes)
        self._note_changes(changes)
        gone = (self._reported.keys() if named is None else named) - seen.keys()
        self._reported = {uuid: facts for uuid, facts in {**self._reported, **changes}.items() if uuid not in gone}
        context.guest_events.look_after_work(uuids - quiet)
        self._last_checkpoint = checkpoint
        context.instance_mutex.forget_until(checkpoint)

    def _read(self, uuids: Iterable[str]) -> dict[str, GuestFacts]:
        """What can be read; a guest that cannot (a hung QEMU holds its lock) says nothing of the others."""
        context = self._context
        facts: dict[str, GuestFacts] = {}
        for uuid in uuids:
            try:
                known = context.driver.facts(uuid)
            except ForeignGuest:
                continue  # an event of a guest that somebody else made here
            except DriverError as error:
                context.counts.add("guest_unreadable")
                log.warning("the state of guest %s cannot be read: %s", uuid, error.message)
                continue
            if known is not None:
                facts[uuid] = known
        return facts

    def _note_changes(self, changes: dict[str, GuestFacts]) -> None:
        """Power states that changed without work: the host's usage and the end of the guest's log changed with them."""
        for uuid, facts in changes.items():
            before = self._reported.get(uuid)
            if before is not None and before.power_state is not facts.power_state:
                log.info(
                    "guest %s is %s without work of this agent; it was %s", uuid, facts.power_state, before.power_state
                )
                self._context.changes.note(uuid)

    def _forget_stale(self, *, is_full: bool) -> None:
        for uuid in self._context.changes.take_missing():
            self._reported.pop(uuid, None)
        if is_full and self._is_full_due():
            self._reported = {}
        quiet = self._context.instance_mutex.undisturbed_since
        self._reported = {uuid: facts for uuid, facts in self._reported.items() if quiet(self._last_checkpoint, uuid)}

    def _is_full_due(self) -> bool:
        now = self._context.clock()
        if self._full_at is not None and now - self._full_at < FULL_EVERY_S:
            return False
        self._full_at = now
        return True
