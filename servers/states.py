"""States of an instance, spelled as Nova spells them, and the one status that its API derives from them."""

from enum import StrEnum
from functools import lru_cache

from computeagent.protocol.power import PowerState
from controlplane.kernel.texts import gettext_noop


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


POWERED_ON = frozenset({PowerState.RUNNING, PowerState.PAUSED})
"""A guest in one of these has a screen, a console and counters."""

POWER_STATE_CODES: dict[PowerState, int] = {
    PowerState.NOSTATE: 0,
    PowerState.RUNNING: 1,
    PowerState.PAUSED: 3,
    PowerState.SHUTDOWN: 4,
    PowerState.CRASHED: 6,
    PowerState.SUSPENDED: 7,
}
"""Nova's numbers for power states, which its API shows."""

_POWER_WORDS: dict[str, str] = {
    PowerState.NOSTATE: gettext_noop("none"),
    PowerState.RUNNING: gettext_noop("running"),
    PowerState.PAUSED: gettext_noop("paused"),
    PowerState.SHUTDOWN: gettext_noop("shutdown"),
    PowerState.CRASHED: gettext_noop("crashed"),
    PowerState.SUSPENDED: gettext_noop("suspended"),
}
_TASK_WORDS: dict[str, str] = {
    TaskState.SCHEDULING: gettext_noop("scheduling"),
    TaskState.BLOCK_DEVICE_MAPPING: gettext_noop("block device mapping"),
    TaskState.NETWORKING: gettext_noop("networking"),
    TaskState.SPAWNING: gettext_noop("spawning"),
    TaskState.IMAGE_SNAPSHOT: gettext_noop("image snapshot"),
    TaskState.IMAGE_SNAPSHOT_PENDING: gettext_noop("image snapshot pending"),
    TaskState.IMAGE_PENDING_UPLOAD: gettext_noop("image pending upload"),
    TaskState.IMAGE_UPLOADING: gettext_noop("image uploading"),
    TaskState.IMAGE_BACKUP: gettext_noop("image backup"),
    TaskState.UPDATING_PASSWORD: gettext_noop("updating password"),
    TaskState.RESIZE_PREP: gettext_noop("resize prep"),
    TaskState.RESIZE_MIGRATING: gettext_noop("resize migrating"),
    TaskState.RESIZE_MIGRATED: gettext_noop("resize migrated"),
    TaskState.RESIZE_FINISH: gettext_noop("resize finish"),
    TaskState.RESIZE_REVERTING: gettext_noop("resize reverting"),
    TaskState.RESIZE_CONFIRMING: gettext_noop("resize confirming"),
    TaskState.REBOOTING: gettext_noop("rebooting"),
    TaskState.REBOOT_PENDING: gettext_noop("reboot pending"),
    TaskState.REBOOT_STARTED: gettext_noop("reboot started"),
    TaskState.REBOOTING_HARD: gettext_noop("rebooting hard"),
    TaskState.REBOOT_PENDING_HARD: gettext_noop("reboot pending hard"),
    TaskState.REBOOT_STARTED_HARD: gettext_noop("reboot started hard"),
    TaskState.PAUSING: gettext_noop("pausing"),
    TaskState.UNPAUSING: gettext_noop("unpausing"),
    TaskState.SUSPENDING: gettext_noop("suspending"),
    TaskState.RESUMING: gettext_noop("resuming"),
    TaskState.POWERING_OFF: gettext_noop("powering off"),
    TaskState.POWERING_ON: gettext_noop("powering on"),
    TaskState.RESCUING: gettext_noop("rescuing"),
    TaskState.UNRESCUING: gettext_noop("unrescuing"),
    TaskState.REBUILDING: gettext_noop("rebuilding"),
    TaskState.REBUILD_BLOCK_DEVICE_MAPPING: gettext_noop("rebuild block device mapping"),
    TaskState.REBUILD_SPAWNING: gettext_noop("rebuild spawning"),
    TaskState.MIGRATING: gettext_noop("migrating"),
    TaskState.DELETING: gettext_noop("deleting"),
    TaskState.SOFT_DELETING: gettext_noop("soft deleting"),
    TaskState.RESTORING: gettext_noop("restoring"),
    TaskState.SHELVING: gettext_noop("shelving"),
    TaskState.SHELVING_IMAGE_PENDING_UPLOAD: gettext_noop("shelving image pending upload"),
    TaskState.SHELVING_IMAGE_UPLOADING: gettext_noop("shelving image uploading"),
    TaskState.SHELVING_OFFLOADING: gettext_noop("shelving offloading"),
    TaskState.UNSHELVING: gettext_noop("unshelving"),
}

_T = TaskState
DELETING_TASKS = frozenset({_T.DELETING, _T.SOFT_DELETING})
"""Tasks that nothing but the end of the deletion may replace."""

STATUS_DEFAULT: dict[VmState, str] = {
    VmState.ACTIVE: gettext_noop("ACTIVE"),
    VmState.BUILDING: gettext_noop("BUILD"),
    VmState.PAUSED: gettext_noop("PAUSED"),
    VmState.SUSPENDED: gettext_noop("SUSPENDED"),
    VmState.STOPPED: gettext_noop("SHUTOFF"),
    VmState.RESCUED: gettext_noop("RESCUE"),
    VmState.RESIZED: gettext_noop("VERIFY_RESIZE"),
    VmState.SOFT_DELETE: gettext_noop("SOFT_DELETED"),
    VmState.DELETED: gettext_noop("DELETED"),
    VmState.ERROR: gettext_noop("ERROR"),
    VmState.SHELVED: gettext_noop("SHELVED"),
    VmState.SHELVED_OFFLOADED: gettext_noop("SHELVED_OFFLOADED"),
}


def _named(status: str, *tasks: TaskState) -> dict[TaskState, str]:
    return dict.fromkeys(tasks, status)


_SOFT_REBOOT = _named(gettext_noop("REBOOT"), _T.REBOOTING, _T.REBOOT_PENDING, _T.REBOOT_STARTED)
_HARD_REBOOT = _named(gettext_noop("HARD_REBOOT"), _T.REBOOTING_HARD, _T.REBOOT_PENDING_HARD, _T.REBOOT_STARTED_HARD)
_REBUILD = _named(gettext_noop("REBUILD"), _T.REBUILDING, _T.REBUILD_BLOCK_DEVICE_MAPPING, _T.REBUILD_SPAWNING)
_RESIZE = _named(gettext_noop("RESIZE"), _T.RESIZE_PREP, _T.RESIZE_MIGRATING, _T.RESIZE_MIGRATED, _T.RESIZE_FINISH)
_MIGRATING = _named(gettext_noop("MIGRATING"), _T.MIGRATING)

STATUS_DURING_TASK: dict[VmState, dict[TaskState, str]] = {
    VmState.ACTIVE: {
        **_SOFT_REBOOT,
        **_HARD_REBOOT,
        **_REBUILD,
        **_RESIZE,
        _T.UPDATING_PASSWORD: gettext_noop("PASSWORD"),
        **_MIGRATING,
    },
    VmState.STOPPED: {**_RESIZE, **_REBUILD, **_HARD_REBOOT},
    VmState.PAUSED: {**_MIGRATING, **_HARD_REBOOT},
    VmState.SUSPENDED: _HARD_REBOOT,
    VmState.RESCUED: _HARD_REBOOT,
    VmState.RESIZED: {_T.RESIZE_REVERTING: gettext_noop("REVERT_RESIZE")},
    VmState.ERROR: {**_REBUILD, **_HARD_REBOOT},
}

STATUSES: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *STATUS_DEFAULT.values(),
            *(status for row in STATUS_DURING_TASK.values() for status in row.values()),
            gettext_noop("UNKNOWN"),
        ]
    )
)
"""Every status that the API can show; UNKNOWN while an instance's cell does not answer."""


@lru_cache(maxsize=512)
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


def power_name(power_state: str) -> str:
    """A power state as people read it: where there is no guest, it is none."""
    return _POWER_WORDS.get(power_state, power_state)


def task_name(task_state: str) -> str:
    """A task as people read it."""
    return _TASK_WORDS.get(task_state, task_state.replace("_", " ").replace("-", " "))
