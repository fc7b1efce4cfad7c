"""States of an instance, spelled as Nova spells them, and the one status that its API derives from them."""

from enum import StrEnum

from computeagent.protocol.power import PowerState


class VmState(StrEnum):
    """What the instance stably is. Changed only when an action ends."""

    ACTIVE = "active"
    BUILDING = "building"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    STOPPED = "stopped"
    RESCUED = "rescued"
    RESIZED = "resized"
    SOFT_DELETE = "soft-delete"
    DELETED = "deleted"
    ERROR = "error"
    SHELVED = "shelved"
    SHELVED_OFFLOADED = "shelved_offloaded"


class TaskState(StrEnum):
    """What is being done to it now. NONE, the empty string, means that nothing is."""

    NONE = ""
    SCHEDULING = "scheduling"
    BLOCK_DEVICE_MAPPING = "block_device_mapping"
    NETWORKING = "networking"
    SPAWNING = "spawning"
    IMAGE_SNAPSHOT = "image_snapshot"
    IMAGE_SNAPSHOT_PENDING = "image_snapshot_pending"
    IMAGE_PENDING_UPLOAD = "image_pending_upload"
    IMAGE_UPLOADING = "image_uploading"
    IMAGE_BACKUP = "image_backup"
    UPDATING_PASSWORD = "updating_password"  # noqa: S105  (a state's name)
    RESIZE_PREP = "resize_prep"
    RESIZE_MIGRATING = "resize_migrating"
    RESIZE_MIGRATED = "resize_migrated"
    RESIZE_FINISH = "resize_finish"
    RESIZE_REVERTING = "resize_reverting"
    RESIZE_CONFIRMING = "resize_confirming"
    REBOOTING = "rebooting"
    REBOOT_PENDING = "reboot_pending"
    REBOOT_STARTED = "reboot_started"
    REBOOTING_HARD = "rebooting_hard"
    REBOOT_PENDING_HARD = "reboot_pending_hard"
    REBOOT_STARTED_HARD = "reboot_started_hard"
    PAUSING = "pausing"
    UNPAUSING = "unpausing"
    SUSPENDING = "suspending"
    RESUMING = "resuming"
    POWERING_OFF = "powering-off"
    POWERING_ON = "powering-on"
    RESCUING = "rescuing"
    UNRESCUING = "unrescuing"
    REBUILDING = "rebuilding"
    REBUILD_BLOCK_DEVICE_MAPPING = "rebuild_block_device_mapping"
    REBUILD_SPAWNING = "rebuild_spawning"
    MIGRATING = "migrating"
    DELETING = "deleting"
    SOFT_DELETING = "soft-deleting"
    RESTORING = "restoring"
    SHELVING = "shelving"
    SHELVING_IMAGE_PENDING_UPLOAD = "shelving_image_pending_upload"
    SHELVING_IMAGE_UPLOADING = "shelving_image_uploading"
    SHELVING_OFFLOADING = "shelving_offloading"
    UNSHELVING = "unshelving"


POWER_STATE_CODES: dict[PowerState, int] = {
    PowerState.NOSTATE: 0,
    PowerState.RUNNING: 1,
    PowerState.PAUSED: 3,
    PowerState.SHUTDOWN: 4,
    PowerState.CRASHED: 6,
    PowerState.SUSPENDED: 7,
}
"""Nova's numbers for power states, which its API shows."""

_T = TaskState
_SOFT_REBOOT = {_T.REBOOTING, _T.REBOOT_PENDING, _T.REBOOT_STARTED}
_HARD_REBOOT = {_T.REBOOTING_HARD, _T.REBOOT_PENDING_HARD, _T.REBOOT_STARTED_HARD}
_REBUILD = {_T.REBUILDING, _T.REBUILD_BLOCK_DEVICE_MAPPING, _T.REBUILD_SPAWNING}
_RESIZE = {_T.RESIZE_PREP, _T.RESIZE_MIGRATING, _T.RESIZE_MIGRATED, _T.RESIZE_FINISH}
DELETING_TASKS = frozenset({_T.DELETING, _T.SOFT_DELETING})
"""Tasks that nothing but the end of the deletion may replace."""


def _named(status: str, tasks: set[TaskState]) -> dict[TaskState, str]:
    return dict.fromkeys(tasks, status)


STATUS_DEFAULT: dict[VmState, str] = {
    VmState.ACTIVE: "ACTIVE",
    VmState.BUILDING: "BUILD",
    VmState.PAUSED: "PAUSED",
    VmState.SUSPENDED: "SUSPENDED",
    VmState.STOPPED: "SHUTOFF",
    VmState.RESCUED: "RESCUE",
    VmState.RESIZED: "VERIFY_RESIZE",
    VmState.SOFT_DELETE: "SOFT_DELETED",
    VmState.DELETED: "DELETED",
    VmState.ERROR: "ERROR",
    VmState.SHELVED: "SHELVED",
    VmState.SHELVED_OFFLOADED: "SHELVED_OFFLOADED",
}

STATUS_DURING_TASK: dict[VmState, dict[TaskState, str]] = {
    VmState.ACTIVE: {
        **_named("REBOOT", _SOFT_REBOOT),
        **_named("HARD_REBOOT", _HARD_REBOOT),
        **_named("REBUILD", _REBUILD),
        **_named("RESIZE", _RESIZE),
        _T.UPDATING_PASSWORD: "PASSWORD",
        _T.MIGRATING: "MIGRATING",
    },
    VmState.STOPPED: {
        **_named("RESIZE", _RESIZE),
        **_named("REBUILD", _REBUILD),
        **_named("HARD_REBOOT", _HARD_REBOOT),
    },
    VmState.PAUSED: {_T.MIGRATING: "MIGRATING", **_named("HARD_REBOOT", _HARD_REBOOT)},
    VmState.SUSPENDED: _named("HARD_REBOOT", _HARD_REBOOT),
    VmState.RESIZED: {_T.RESIZE_REVERTING: "REVERT_RESIZE"},
    VmState.ERROR: {**_named("REBUILD", _REBUILD), **_named("HARD_REBOOT", _HARD_REBOOT)},
}

STATUSES: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *STATUS_DEFAULT.values(),
            *(status for row in STATUS_DURING_TASK.values() for status in row.values()),
            "UNKNOWN",
        ]
    )
)
"""Every status that the API can show; UNKNOWN while an instance's cell does not answer."""


def api_status(vm_state: str, task_state: str) -> str:
    """The status users see (Nova's `api/openstack/common.py`). An unknown `vm_state` gives UNKNOWN."""
    try:
        state = VmState(vm_state)
        task = TaskState(task_state or "")
    except ValueError:
        return "UNKNOWN"
    return STATUS_DURING_TASK.get(state, {}).get(task, STATUS_DEFAULT[state])


def status_states(status: str) -> list[tuple[VmState, TaskState]]:
    """Every pair of states that shows as `status`: what a filter on status asks the rows for."""
    return [(vm, task) for vm in VmState for task in TaskState if api_status(vm, task) == status]
