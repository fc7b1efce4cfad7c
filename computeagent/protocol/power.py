"""The power state of a guest."""

from enum import StrEnum


class PowerState(StrEnum):
    """What the hypervisor says about a guest."""

    NOSTATE = "nostate"
    RUNNING = "running"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    CRASHED = "crashed"
    SUSPENDED = "suspended"
