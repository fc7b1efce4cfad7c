"""What Nova's compute service does with each state it finds when it starts, row by row, and what answers it here.

Source: `nova.compute.manager.ComputeManager.init_host` and `_init_instance`.
"""

from dataclasses import dataclass

from servers.instances.domain.task_rules import TaskHeal
from servers.states import TaskState

_T = TaskState


@dataclass(frozen=True, slots=True)
class RestartRow:
    """One row of Nova's table. `tasks` are those it is about; a row without any is about the instance or its guest.

    `heals` are the answers of `task_rules` to these tasks; `ours` says where or why it is done differently here.
    """

    found: str
    nova: str
    ours: str
    tasks: frozenset[TaskState] = frozenset()
    heals: frozenset[TaskHeal] = frozenset()


def _row(found: str, nova: str, ours: str, tasks: set[TaskState], *heals: TaskHeal) -> RestartRow:
    return RestartRow(found, nova, ours, frozenset(tasks), frozenset(heals))


NOVA_RESTART: tuple[RestartRow, ...] = (
    RestartRow("host differs", "skipped", "only instances of the host that starts are looked at"),
    RestartRow("soft-delete or error", "skipped", "left as they are while no task stands"),
    RestartRow("deleted, record alive", "deletion completed", "finish_deletion, whatever the task"),
    _row(
        "build cut off",
        "error, task cleared",
        "the open build is taken again by the agent; without one, error; an instance that was built (whose interface "
        "came or went) is left as it was",
        {_T.SCHEDULING, _T.BLOCK_DEVICE_MAPPING, _T.NETWORKING, _T.SPAWNING},
        TaskHeal.ERROR,
        TaskHeal.REVERT,
    ),
    _row(
        "rebuild cut off",
        "error",
        "the same",
        {_T.REBUILDING, _T.REBUILD_BLOCK_DEVICE_MAPPING, _T.REBUILD_SPAWNING},
        TaskHeal.ERROR,
    ),
    _row(
        "snapshot or preparation of a resize",
        "task cleared",
        "the same",
        {
            _T.IMAGE_SNAPSHOT,
            _T.IMAGE_SNAPSHOT_PENDING,
            _T.IMAGE_PENDING_UPLOAD,
            _T.IMAGE_UPLOADING,
            _T.RESIZE_PREP,
        },
        TaskHeal.REVERT,
    ),
    _row("deleting", "delete restarted, error if that fails", "the same", {_T.DELETING}, TaskHeal.FINISH_DELETION),
    _row(
        "reboot cut off",
        "retried, hard when the guest does not run",
        "always hard, which ends with a guest that runs",
        {
            _T.REBOOTING,
            _T.REBOOT_PENDING,
            _T.REBOOT_STARTED,
            _T.REBOOTING_HARD,
            _T.REBOOT_PENDING_HARD,
            _T.REBOOT_STARTED_HARD,
        },
        TaskHeal.RETRY,
    ),
    _row(
        "pausing or unpausing, guest runs",
        "task cleared, active",
        "task cleared; the power sync that follows says what the guest is",
        {_T.PAUSING, _T.UNPAUSING},
        TaskHeal.REVERT,
    ),
    _row(
        "reboot started, guest runs",
        "task cleared, active",
        "rebooted once more: a guest that runs may be the one from before",
        {_T.REBOOT_STARTED, _T.REBOOT_STARTED_HARD},
        TaskHeal.RETRY,
    ),
    _row(
        "unpausing, guest paused",
        "unpaused again",
        "task cleared; asking again is safe",
        {_T.UNPAUSING},
        TaskHeal.REVERT,
    ),
    _row("powering off", "stop retried", "the same", {_T.POWERING_OFF}, TaskHeal.RETRY),
    _row("powering on", "start retried", "the same", {_T.POWERING_ON}, TaskHeal.RETRY),
    _row(
        "move of a resize cut off",
        "disks moved back, task cleared",
        "error: where the disks are is for a person to say",
        {_T.RESIZE_MIGRATING},
        TaskHeal.ERROR,
    ),
    _row("live migration cut off", "aborted, task cleared", "task cleared", {_T.MIGRATING}, TaskHeal.REVERT),
    RestartRow(
        "should run and does not",
        "resumed if resume_guests_state_on_host_boot",
        "the agent's recovery, under the same option",
    ),
    RestartRow("interfaces cannot be plugged", "error", "the agent leaves it as the hypervisor says and counts it"),
    RestartRow("file shares cannot be mounted", "error", "there are no file shares"),
)

NOVA_LEAVES: frozenset[TaskState] = frozenset(
    {
        _T.RESIZE_MIGRATED,
        _T.RESIZE_FINISH,
        _T.RESIZE_REVERTING,
        _T.RESIZE_CONFIRMING,
        _T.SHELVING,
        _T.SHELVING_IMAGE_PENDING_UPLOAD,
        _T.SHELVING_IMAGE_UPLOADING,
        _T.SHELVING_OFFLOADING,
        _T.UNSHELVING,
        _T.RESCUING,
        _T.UNRESCUING,
        _T.SUSPENDING,
        _T.RESUMING,
        _T.UPDATING_PASSWORD,
        _T.RESTORING,
        _T.SOFT_DELETING,
        _T.IMAGE_BACKUP,
    }
)
"""Tasks that Nova's start does not know; they stay until an administrator resets the state. None is left so here."""
