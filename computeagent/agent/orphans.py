"""Guests on the hypervisor that the control plane does not place here: told to it, and removed when it says so.

They are left behind when an instance was moved away while this host was dead. They are listed before they go: the
control plane's clock counts a grace period, and it is asked once more under the guest's lock. A control plane that
does not know this node at all is never believed (a fresh database would otherwise cost every guest).
"""

import logging
from collections.abc import Collection, Iterable
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.delete import destroy_surely
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.instance_mutex import instance_mutex_try
from computeagent.protocol.bounds import ORPHANS_MAX
from computeagent.protocol.guests import GuestOnHypervisor

log = logging.getLogger(__name__)

NAMED = 20
NODE_FILE = "compute_id"
NOT_REMOVED_BY_OPTION = "The agent was started with --keep-orphans"
NOT_REMOVED_BY_DOUBT = "The agent's state directory belongs to another compute node than this control plane's"
NOT_REMOVED_BY_SAFE_MODE = "The host is in safe mode: its hypervisor's answers contradict each other"


def node_is_known(state_dir: Path, compute_node_uuid: str, *, orphan_guests: int) -> bool:
    """Whether this is the control plane that the guests here belong to; remembers it when there is no doubt.

    As Nova's compute_id file: the node's uuid of earlier runs must be the one the control plane answers with. With
    no stranger among the guests nothing can be lost by believing it.
    """
    path = state_dir / NODE_FILE
    recorded = path.read_text().strip() if path.exists() else ""
    if recorded == compute_node_uuid:
        return True
    if orphan_guests:
        return False
    path.write_text(compute_node_uuid + "\n")
    return True


class Orphans:
    """Tells and removes. `report_and_remove` is called by one thread. `not_removed_because`: why none is removed; empty
    when they are.
    """

    def __init__(self, context: AgentContext, *, not_removed_because: str = "") -> None:
        self._context = context
        self._not_removed_because = not_removed_because
        # None: not told since the start, when rows of an earlier run may have to go.
        self._reported: frozenset[str] | None = None

    def report_and_remove(self, guests: Iterable[GuestOnHypervisor], placed_here: Iterable[str]) -> list[str]:
        """The orphans now. `guests` must have been read before `placed_here`, so that a new guest is no orphan."""
        placed = set(placed_here)
        orphan_guests = {guest.uuid: guest for guest in guests if guest.uuid not in placed}
        if not orphan_guests and self._reported is not None and not self._reported:
            return []
        if fresh := orphan_guests.keys() - (self._reported or frozenset()):
            log.warning("guests that no instance of this host explains: %s", _named(fresh))
        removed = {
            uuid for uuid in self._report(orphan_guests.values()) if uuid in orphan_guests and self._remove(uuid)
        }
        if removed:
            # Told at once, so that the removal is booked now and not a minute later.
            self._report(guest for uuid, guest in orphan_guests.items() if uuid not in removed)
        return sorted(orphan_guests)

    def _report(self, orphan_guests: Iterable[GuestOnHypervisor]) -> list[str]:
        """Those that the control plane would have removed."""
        reported = list(orphan_guests)
        because = self._not_removed_because or (NOT_REMOVED_BY_SAFE_MODE if self._context.safe_mode.reason else "")
        # The same ones each time, so that those that are listed have their grace period.
        listed = sorted(reported, key=lambda guest: guest.uuid)[:ORPHANS_MAX]
        due = self._context.conductor.orphan_guests(
            host=self._context.host, guests=listed, not_removed_because=because, more=len(reported) - len(listed)
        )
        self._reported = frozenset(guest.uuid for guest in reported)
        return due

    def _remove(self, uuid: str) -> bool:
        """Under the guest's turn and lock, so that no build of the same instance is under way; False: it stays."""
        context = self._context
        if context.safe_mode.reason:
            return False
        with instance_mutex_try(context.instance_mutex, uuid, resume=context.inbox.put_back) as entered:
            if not entered:
                return False
            try:
                with instance_lock(context.state_dir, uuid):
                    if not context.conductor.release_guest(host=context.host, guest_uuid=uuid):
                        return False
                    destroy_surely(context, uuid)
            except (InstanceBusy, CleanupFailed) as error:
                log.warning("orphan %s stays for now: %s", uuid, error.message)
                return False
        context.counts.add("orphans_reaped")
        log.warning("orphan %s is removed", uuid)
        return True


def _named(uuids: Collection[str]) -> str:
    named = ", ".join(sorted(uuids)[:NAMED])
    return named if len(uuids) <= NAMED else f"{named} and {len(uuids) - NAMED} more"
