"""Which deletion is meant where deleted instances can be restored for a time, and until when that is.

Source: Nova's `reclaim_instance_interval`. As there, an instance that never ran has nothing worth restoring.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from servers.states import TaskState, VmState


class Deletion(StrEnum):
    """What a request for deletion begins."""

    NOTHING = "nothing"
    """It is deleted already, as far as was asked: asking twice is asking once."""
    SOFT = "soft"
    """Its guest is powered off, and all that it has stays until the interval is over."""
    FOR_GOOD = "for_good"
    """Its guest and its disks are removed."""


def deletion_asked(
    *, vm_state: str, task_state: str, is_on_host: bool, is_launched: bool, interval_s: float, is_forced: bool
) -> Deletion:
    """What is begun. `interval_s`: seconds for which deleted instances can be restored, 0 for not at all."""
    if task_state == TaskState.DELETING:
        return Deletion.NOTHING
    if is_forced or interval_s <= 0:
        return Deletion.FOR_GOOD
    is_restoring = task_state == TaskState.RESTORING
    if task_state == TaskState.SOFT_DELETING or (vm_state == VmState.SOFT_DELETE and not is_restoring):
        return Deletion.NOTHING
    return Deletion.SOFT if is_on_host and is_launched else Deletion.FOR_GOOD


def ends_at(since: datetime | None, interval_s: float) -> datetime | None:
    """From when on a state that began then may be ended; None where it did not begin, or nothing ever ends it."""
    return None if since is None or interval_s <= 0 else since + timedelta(seconds=interval_s)
