"""Guests on the hypervisor that the control plane does not place here: told to it, and removed when it says so.

They are left behind when an instance was moved away while this host was dead. They are listed before they go: the
control plane's clock counts a grace period, and it is asked once more under the guest's lock. A control plane that
does not know this node at all is never believed (a fresh database would otherwise cost every guest).
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.delete import destroy_surely
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.instance_mutex import quiet_turn
from computeagent.protocol.guests import GuestOnHypervisor

log = logging.getLogger(__name__)

NODE_FILE = "compute_id"
KEPT_BY_OPTION = "The agent was started with --keep-orphans"
KEPT_BY_DOUBT = "The agent's state directory belongs to another compute node than this control plane's"


def node_is_known(state_dir: Path, compute_node_uuid: str, *, strangers: int) -> bool:
    """Whether this is the control plane that the guests here belong to; remembers it when there is no doubt.

    As Nova's compute_id file: the node's uuid of earlier runs must be the one the control plane answers with. With
    no stranger among the guests nothing can be lost by believing it.
    """
    path = state_dir / NODE_FILE
    recorded = path.read_text().strip() if path.exists() else ""
    if recorded == compute_node_uuid:
        return True
    if strangers:
        return False
    path.write_text(compute_node_uuid + "\n")
    return True


class Orphans:
    """Tells and removes. `look` is called by one thread. `kept_because`: why none is removed; empty when they are."""

    def __init__(self, context: AgentContext, *, kept_because: str = "") -> None:
        self._context = context
        self._kept_because = kept_because
        # None: not told since the start, when rows of an earlier run may have to go.
        self._told: frozenset[str] | None = None

    def look(self, guests: Iterable[GuestOnHypervisor], placed_here: Iterable[str]) -> list[str]:
        """The orphans now. `guests` must have been read before `placed_here`, so that a new guest is no orphan."""
        placed = set(placed_here)
        strangers = {guest.uuid: guest for guest in guests if guest.uuid not in placed}
        if not strangers and self._told is not None and not self._told:
            return []
        if fresh := strangers.keys() - (self._told or frozenset()):
            log.warning("guests that no instance of this host explains: %s", ", ".join(sorted(fresh)))
        removed = {uuid for uuid in self._tell(strangers.values()) if uuid in strangers and self._remove(uuid)}
        if removed:
            # Told at once, so that the removal is booked now and not a minute later.
            self._tell(guest for uuid, guest in strangers.items() if uuid not in removed)
        return sorted(strangers)

    def _tell(self, strangers: Iterable[GuestOnHypervisor]) -> list[str]:
        """Those that the control plane would have removed."""
        told = list(strangers)
        due = self._context.conductor.strange_guests(
            host=self._context.host, guests=told, kept_because=self._kept_because
        )
        self._told = frozenset(guest.uuid for guest in told)
        return due

    def _remove(self, uuid: str) -> bool:
        """Under the guest's turn and lock, so that no build of the same instance is under way; False: it stays."""
        context = self._context
        with quiet_turn(context.turns, uuid, resume=context.inbox.put_back) as entered:
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
