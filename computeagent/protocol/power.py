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


class StateReason(StrEnum):
    """Why a guest is in its power state, where it got there by itself. Newer agents may know more."""

    CRASHED = "crashed"
    """What ran it on its host died."""
    PANICKED = "panicked"
    """The system inside said that it crashed."""
    IO_ERROR = "io_error"
    """It stands still, for one of its disks failed or has no space left."""
    WATCHDOG = "watchdog"
    """It stands still, for its watchdog fired."""
