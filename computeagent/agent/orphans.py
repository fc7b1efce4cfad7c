"""Guests on the hypervisor that the control plane does not place here: listed, and after a grace period removed.

They are left behind when an instance was moved away while this host was dead. Two sightings and a grace period
stand before the removal; and a control plane that does not know this node at all is never believed (a fresh
database would otherwise cost every guest).
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.delete import destroy_surely
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.turns import quiet_turn

log = logging.getLogger(__name__)

NODE_FILE = "compute_id"


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
    """Keeps the sightings. `look` is called by one thread."""

    def __init__(self, context: AgentContext, *, may_reap: bool) -> None:
        self._context = context
        self._may_reap = may_reap
        self._first_seen: dict[str, float] = {}

    def look(self, guests: Iterable[str], placed_here: Iterable[str]) -> list[str]:
        """The orphans now. `guests` must have been read before `placed_here`, so that a new guest is no orphan."""
        now = self._context.clock()
        strangers = set(guests) - set(placed_here)
        fresh = strangers - self._first_seen.keys()
        if fresh:
            log.warning("guests that no instance of this host explains: %s", ", ".join(sorted(fresh)))
        self._first_seen = {uuid: self._first_seen.get(uuid, now) for uuid in strangers}
        if self._may_reap:
            for uuid in sorted(strangers - fresh):
                if now - self._first_seen[uuid] >= self._context.options.orphan_grace_s:
                    self._reap(uuid)
        return sorted(strangers)

    def _reap(self, uuid: str) -> None:
        context = self._context
        with quiet_turn(context.turns, uuid, resume=context.inbox.put_back) as entered:
            if not entered:
                return
            try:
                with instance_lock(context.state_dir, uuid):
                    destroy_surely(context, uuid)
            except (InstanceBusy, CleanupFailed) as error:
                log.warning("orphan %s stays for now: %s", uuid, error.message)
                return
        context.counts.add("orphans_reaped")
        log.warning("orphan %s is removed", uuid)
