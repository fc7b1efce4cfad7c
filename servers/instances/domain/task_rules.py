"""How long each task may last, and what becomes of it when nobody works on it any more.

A task belongs to a piece of work. While that work is open it decides alone: whoever serves its queue takes it again,
and its own deadline ends it. The rules here are for a task without open work, which nothing else would ever end.
"""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.texts import phrase as _
from servers.instances.actions.power import REBOOT, REBOOT_SOFT, START, STOP
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.work_kinds import RESCHEDULE
from servers.states import TaskState, VmState

_T = TaskState


class TaskHeal(StrEnum):
    """What is done about a task that nobody works on."""

    RETRY = "retry"
    """The same work is written anew: doing it twice is doing it once."""
    REVERT = "revert"
    """The task ends and the stable state stays; the next power sync says what the guest is."""
    ERROR = "error"
    """Nobody knows what the guest and its disks are: ERROR with a fault, so that somebody looks."""
    FINISH_DELETION = "finish_deletion"
    """What was deleted goes: its host is told again, and without a host it is gone at once."""


@dataclass(frozen=True, slots=True)
class TaskRule:
    """`deadline_s`: seconds a task may last. `restart`: when its host's agent starts; `overdue`: after the deadline.

    `work` is the kind that RETRY writes: that of an action, or RESCHEDULE for an instance that has no host. Where that
    is impossible now, `otherwise` counts. `why` is for people.
    """

    deadline_s: float
    restart: TaskHeal
    overdue: TaskHeal
    why: str
    work: str = ""
    otherwise: TaskHeal = TaskHeal.REVERT


_SHORT, _MEDIUM, _LONG, _MOVE = 900.0, 1800.0, 3600.0, 14400.0


def _both(deadline_s: float, proposed_heal: TaskHeal, why: str) -> TaskRule:
    return TaskRule(deadline_s, proposed_heal, proposed_heal, why)


def _again(action: ActionRule, why: str) -> TaskRule:
    """Its work is written anew: only for what a host may do twice. It gets as long as the work itself."""
    return TaskRule(action.deadline_s, TaskHeal.RETRY, TaskHeal.RETRY, why, str(action.work))


_BUILD = _both(_MEDIUM, TaskHeal.ERROR, _("Disks and guest may be there in part; a second build must not find them."))
_SNAPSHOT = _both(_LONG, TaskHeal.REVERT, _("The guest is as it was; only the image is missing."))
_REBUILD = _both(_MEDIUM, TaskHeal.ERROR, _("The old disk may be gone and the new one not whole."))
_RESIZE = _both(_MOVE, TaskHeal.ERROR, _("The disks may be on either host."))
_REBOOT = _again(REBOOT, _("A reboot ends with a guest that runs, whatever it was before."))
_REBOOT_SOFT = _again(REBOOT_SOFT, _("A reboot ends with a guest that runs, whatever it was before."))
_PAUSE = _both(_SHORT, TaskHeal.REVERT, _("The memory is untouched; the hypervisor says which of both it is."))
_SHELVE_IMAGE = _both(_LONG, TaskHeal.REVERT, _("The disk is still on its host; only the image is missing."))

TASK_RULES: dict[TaskState, TaskRule] = {
    _T.SCHEDULING: TaskRule(
        _MEDIUM,
        restart=TaskHeal.ERROR,
        overdue=TaskHeal.RETRY,
        why="Without a host nothing was made, so the next host may be chosen; on a host it is a build.",
        work=RESCHEDULE,
        otherwise=TaskHeal.ERROR,
    ),
    # Of one that was never built, leaving it as it was is ERROR.
    _T.BLOCK_DEVICE_MAPPING: _both(
        _MEDIUM,
        TaskHeal.REVERT,
        _("The volume is the instance's; whether the guest has the disk can be asked for again."),
    ),
    _T.NETWORKING: _both(
        _MEDIUM,
        TaskHeal.REVERT,
        _("The port is the instance's; whether the guest has its card can be asked for again."),
    ),
    _T.SPAWNING: _BUILD,
    _T.IMAGE_SNAPSHOT: _SNAPSHOT,
    _T.IMAGE_SNAPSHOT_PENDING: _SNAPSHOT,
    _T.IMAGE_PENDING_UPLOAD: _SNAPSHOT,
    _T.IMAGE_UPLOADING: _SNAPSHOT,
    _T.IMAGE_BACKUP: _SNAPSHOT,
    _T.UPDATING_PASSWORD: _both(_SHORT, TaskHeal.REVERT, _("The old or the new password holds; it can be set again.")),
    _T.RESIZE_PREP: _both(_SHORT, TaskHeal.REVERT, _("Nothing was moved yet.")),
    _T.RESIZE_MIGRATING: _RESIZE,
    _T.RESIZE_MIGRATED: _RESIZE,
    _T.RESIZE_FINISH: _RESIZE,
    _T.RESIZE_REVERTING: _RESIZE,
    _T.RESIZE_CONFIRMING: _both(
        _LONG, TaskHeal.REVERT, _("The guest runs where it moved to; confirming again is harmless.")
    ),
    _T.REBOOTING: _REBOOT_SOFT,
    _T.REBOOT_PENDING: _REBOOT_SOFT,
    _T.REBOOT_STARTED: _REBOOT_SOFT,
    _T.REBOOTING_HARD: _REBOOT,
    _T.REBOOT_PENDING_HARD: _REBOOT,
    _T.REBOOT_STARTED_HARD: _REBOOT,
    _T.PAUSING: _PAUSE,
    _T.UNPAUSING: _PAUSE,
    _T.SUSPENDING: _both(_LONG, TaskHeal.ERROR, _("The memory may be saved in part, which a start would throw away.")),
    _T.RESUMING: _both(
        _LONG, TaskHeal.ERROR, _("The saved memory may be read in part, which a start would throw away.")
    ),
    _T.POWERING_OFF: _again(STOP, _("Stopping what is off changes nothing.")),
    _T.POWERING_ON: _again(START, _("Starting what runs changes nothing.")),
    _T.RESCUING: _both(_LONG, TaskHeal.ERROR, _("The guest may run from the rescue disk.")),
    _T.UNRESCUING: _both(
        _SHORT, TaskHeal.REVERT, _("It is still the rescued guest; leaving the rescue can be asked for again.")
    ),
    _T.REBUILDING: _REBUILD,
    _T.REBUILD_BLOCK_DEVICE_MAPPING: _REBUILD,
    _T.REBUILD_SPAWNING: _REBUILD,
    _T.MIGRATING: _both(_MOVE, TaskHeal.REVERT, _("Until the end of a live migration the guest runs on its own host.")),
    _T.DELETING: _both(_LONG, TaskHeal.FINISH_DELETION, _("Its owner gave it up; deleting twice is deleting once.")),
    _T.SOFT_DELETING: _both(_SHORT, TaskHeal.REVERT, _("Nothing was removed; deleting can be asked for again.")),
    _T.RESTORING: _both(_SHORT, TaskHeal.REVERT, _("It is still kept as deleted; restoring can be asked for again.")),
    _T.SHELVING: _SHELVE_IMAGE,
    _T.SHELVING_IMAGE_PENDING_UPLOAD: _SHELVE_IMAGE,
    _T.SHELVING_IMAGE_UPLOADING: _SHELVE_IMAGE,
    _T.SHELVING_OFFLOADING: _both(
        _LONG, TaskHeal.REVERT, _("The image is whole; leaving the host can be asked for again.")
    ),
    _T.UNSHELVING: _both(_LONG, TaskHeal.ERROR, _("Disks and guest may be there in part on the new host.")),
}
"""One rule for every task but `TaskState.NONE`, which never lasts too long."""


def task_heal_for(task: TaskState, vm_state: VmState, *, has_host: bool, is_restart: bool = False) -> TaskHeal:
    """What is done about this instance. KeyError for TaskState.NONE, for which there is nothing to do."""
    rule = TASK_RULES[task]
    if vm_state is VmState.DELETED:
        return TaskHeal.FINISH_DELETION
    proposed_heal = rule.restart if is_restart else rule.overdue
    if task is TaskState.UNSHELVING and not has_host:  # nothing was made anywhere, and its image is whole
        proposed_heal = TaskHeal.REVERT
    if proposed_heal is TaskHeal.RETRY and not _can_retry(rule, vm_state, has_host=has_host):
        proposed_heal = rule.otherwise
    # An instance that was never built has no stable state to go back to.
    return TaskHeal.ERROR if proposed_heal is TaskHeal.REVERT and vm_state is VmState.BUILDING else proposed_heal


def _can_retry(rule: TaskRule, vm_state: VmState, *, has_host: bool) -> bool:
    if rule.work == RESCHEDULE:
        return vm_state is VmState.BUILDING and not has_host
    return has_host and vm_state in ACTION_OF_WORK[rule.work].vm_states


def overdue_words(task: TaskState, *, stood_s: float, step: str, proposed_heal: TaskHeal) -> str:
    """For the fault: which step hung, for how long, and what was done."""
    rule = TASK_RULES[task]
    return _(
        "The task {task} hung in step {step} for {stood_s:.0f} s (allowed: {deadline_s:.0f} "
        "s) while nobody worked on it: {done}.",
        task=task.value,
        step=step,
        stood_s=stood_s,
        deadline_s=rule.deadline_s,
        done=_DONE[proposed_heal],
    )


def restart_words(task: TaskState, *, stood_s: float, step: str, proposed_heal: TaskHeal) -> str:
    """The same for an agent that starts and finds the task without its work."""
    return _(
        "The host's agent started and found the task {task} in step {step}, {stood_s:.0f} s "
        "old, while nobody worked on it: {done}.",
        task=task.value,
        step=step,
        stood_s=stood_s,
        done=_DONE[proposed_heal],
    )


_DONE: dict[TaskHeal, str] = {
    TaskHeal.RETRY: "it is tried again",
    TaskHeal.REVERT: "the task was ended and the instance left as it was",
    TaskHeal.ERROR: "the instance was set to ERROR",
    TaskHeal.FINISH_DELETION: "the deletion is brought to its end",
}
