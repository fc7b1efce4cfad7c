"""A copy of a guest's volume gives way to what somebody asks of the guest: it ends with nothing left of it, is given
back, and begins again afterwards.

It has the guest to itself, since its hypervisor has one job on disks at a time, and since bytes of a guest that is off
are those of one moment only while it stays off. A large one takes hours, and what waits behind it has a deadline of
minutes.
"""

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldVolume
from computeagent.protocol.volumes import VolumeWorkKind
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict

ENDS_GUEST = frozenset(
    {
        WorkKind.STOP,
        WorkKind.REBOOT,
        WorkKind.DELETE,
        WorkKind.SOFT_DELETE,
        WorkKind.REBUILD,
        WorkKind.RESCUE,
        WorkKind.SHELVE_OFFLOAD,
    }
)
"""With the guest's hypervisor the copy would end in any case: these wait for nothing."""
BESIDE = frozenset({WorkKind.SCREENSHOT, WorkKind.SNAPSHOT, WorkKind.BACKUP})
"""A picture is not worth a copy, and a copy of the root disk has as long as this one."""
GIVES_WAY_AFTER_S = 60.0
"""For so long all other work waits, for a copy that is nearly done; its own deadline is five minutes and more."""


class GuestWanted(Conflict):
    """The copy gives way to other work on the guest."""

    code = "guest_wanted"


class GivingWay:
    """Looks now and then whether anybody waits for the guest of a copy."""

    def __init__(self, context: AgentContext, held: HeldVolume) -> None:
        self._context = context
        is_copy = held.order.kind is VolumeWorkKind.VOLUME_SNAPSHOT_CREATE
        self._guest = held.order.guest if is_copy else None
        self._since: float | None = None

    def look(self) -> None:
        """Raises GuestWanted."""
        if self._guest is None:
            return
        kinds = [one.order.kind for one in self._context.instance_mutex.waiting(self._guest.uuid)]
        wanted = [kind for kind in kinds if kind not in BESIDE]
        if not wanted:
            self._since = None
            return
        now = self._context.clock()
        self._since = now if self._since is None else self._since
        if not ENDS_GUEST.isdisjoint(wanted) or now - self._since >= GIVES_WAY_AFTER_S:
            raise GuestWanted(f"it gave way to {wanted[0]} of its guest, and begins again afterwards")
