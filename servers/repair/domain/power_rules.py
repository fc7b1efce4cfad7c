"""What follows when the hypervisor says something else of a guest than its instance's state does.

Source of the table: `nova.compute.manager.ComputeManager._sync_instance_power_state`, for instances without a task.
"""

from enum import StrEnum

from computeagent.protocol.power import PowerState
from servers.states import VmState

_V, _P = VmState, PowerState


class PowerHeal(StrEnum):
    """What is done about one pair of states."""

    NOTHING = "nothing"
    """They agree, or the difference says nothing that one could act on."""
    FOLLOW = "follow"
    """The guest went off by itself: the instance becomes stopped."""
    STOP = "stop"
    """The guest is to be off and is not: it is stopped."""
    REBUILD_GUEST = "start"
    """The guest is not on its host: it is defined anew from its disks and started. One that runs after all is left
    alone, which a reboot would not do.
    """


_OFF = (_P.SHUTDOWN, _P.CRASHED)
POWER_RULES: dict[tuple[VmState, PowerState], PowerHeal] = {
    **{(_V.ACTIVE, power): PowerHeal.FOLLOW for power in _OFF},
    (_V.ACTIVE, _P.NOSTATE): PowerHeal.REBUILD_GUEST,
    **{(_V.STOPPED, power): PowerHeal.STOP for power in (_P.RUNNING, _P.PAUSED, _P.SUSPENDED)},
    **{(_V.PAUSED, power): PowerHeal.FOLLOW for power in _OFF},
    (_V.PAUSED, _P.NOSTATE): PowerHeal.REBUILD_GUEST,
}
"""Pairs that are missing here are left alone. An active guest that sleeps is shown so; Nova stops it, and what it has
in memory is lost. Nova ignores active but paused, and building, rescued, resized, suspended and error whatever their
guest is. Nova's stop of an active guest that is off ends as FOLLOW does. Nova only logs a guest that is not there; here
it comes back, but not by the power sync: only once it lasts."""

AT_ONCE = frozenset({PowerHeal.FOLLOW, PowerHeal.STOP})
"""What the power sync does itself, as soon as it is reported."""


def power_heal(vm_state: str, power_state: str) -> PowerHeal:
    """What is done about an instance without a task. ValueError for words that are no states."""
    return POWER_RULES.get((VmState(vm_state), PowerState(power_state)), PowerHeal.NOTHING)
