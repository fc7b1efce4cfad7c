"""States of volumes as pages show them."""

from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import BUSY

GOOD = {VolumeState.AVAILABLE.value, VolumeState.IN_USE.value}
BUSY_STATES = {
    *(state.value for state in BUSY),
    VolumeSnapshotState.CREATING.value,
    VolumeSnapshotState.DELETING.value,
    BackupState.RESTORING.value,
}


def state_look(state: str) -> str:
    """The class of a state's pill: good, busy, bad or warn."""
    if state in GOOD:
        return "good"
    if state in BUSY_STATES:
        return "busy"
    return "bad" if state.startswith("error") else "warn"


def is_busy(state: str) -> bool:
    """Whether it will change by itself soon, so that a page looks again."""
    return state in BUSY_STATES
