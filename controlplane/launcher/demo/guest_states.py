"""In which states the guests of a demo are, and how many in each."""

from enum import Enum
from random import Random

from computeagent.protocol.power import PowerState, StateReason
from servers.states import VmState


class GuestState(Enum):
    """A state of an instance with that of its guest, and why the guest is in it by itself."""

    RUNNING = (VmState.ACTIVE, PowerState.RUNNING, "")
    STOPPED = (VmState.STOPPED, PowerState.SHUTDOWN, "")
    PAUSED = (VmState.PAUSED, PowerState.PAUSED, "")
    SUSPENDED = (VmState.SUSPENDED, PowerState.SUSPENDED, "")
    CRASHED = (VmState.STOPPED, PowerState.CRASHED, "")
    PANICKED = (VmState.STOPPED, PowerState.CRASHED, StateReason.PANICKED.value)
    IO_ERROR = (VmState.PAUSED, PowerState.PAUSED, StateReason.IO_ERROR.value)
    OFF_BY_ITSELF = (VmState.ACTIVE, PowerState.SHUTDOWN, "")
    SHELVED = (VmState.SHELVED_OFFLOADED, PowerState.NOSTATE, "")

    @property
    def vm_state(self) -> VmState:
        """What the instance is."""
        return self.value[0]

    @property
    def power_state(self) -> PowerState:
        """What its guest is."""
        return self.value[1]

    @property
    def reason(self) -> str:
        """Why the guest is so by itself."""
        return self.value[2]

    @property
    def is_on(self) -> bool:
        """Whether the guest counts as running on its host."""
        return self.power_state is PowerState.RUNNING

    @property
    def is_crash(self) -> bool:
        """Whether the guest ended by itself."""
        return self.power_state is PowerState.CRASHED


# In a thousand.
SHARES = {
    GuestState.RUNNING: 904.0,
    GuestState.STOPPED: 72.0,
    GuestState.PAUSED: 6.0,
    GuestState.SUSPENDED: 4.0,
    GuestState.SHELVED: 10.0,
    GuestState.CRASHED: 0.8,
    GuestState.PANICKED: 0.4,
    GuestState.IO_ERROR: 0.4,
    GuestState.OFF_BY_ITSELF: 0.4,
}


def state_of(rng: Random) -> GuestState:
    """The state of one more guest."""
    return rng.choices(tuple(SHARES), tuple(SHARES.values()))[0]
