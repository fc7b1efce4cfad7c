"""Names of the kinds of work that carry an instance from request to end."""

from controlplane.work.work import compute_queue

SCHEDULE_AND_BUILD = "schedule_and_build"
RESCHEDULE = "reschedule"
BUILD = "build"
DELETE = "delete"
START = "start"
STOP = "stop"
REBOOT = "reboot"
DRIFT_CHECK = "drift_check"

DELETE_DEADLINE_S = 86400.0
ACTION_DEADLINE_S = 900.0

__all__ = [
    "BUILD",
    "DELETE",
    "DRIFT_CHECK",
    "REBOOT",
    "RESCHEDULE",
    "SCHEDULE_AND_BUILD",
    "START",
    "STOP",
    "compute_queue",
]
