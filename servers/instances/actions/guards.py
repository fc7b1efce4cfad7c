"""In which states which action is allowed: Nova's API guards as a table, for every action and not only those served.

`servers.instances.actions.table` says what our actions do; this module says when they may begin.
"""

from dataclasses import dataclass

from controlplane.kernel.texts import any_of
from controlplane.kernel.texts import phrase as _
from servers.states import DELETING_TASKS, TaskState, VmState

_V, _T = VmState, TaskState
ANY_VM: frozenset[VmState] = frozenset(VmState)
ANY_TASK: frozenset[TaskState] = frozenset(TaskState)
NO_TASK: frozenset[TaskState] = frozenset({_T.NONE})


@dataclass(frozen=True, slots=True)
class Guard:
    """States in which an action may begin. `must_be_launched`: not before the instance ran once."""

    vm_states: frozenset[VmState]
    task_states: frozenset[TaskState] = NO_TASK
    must_be_launched: bool = True


def _in(*states: VmState, tasks: frozenset[TaskState] = NO_TASK, launched: bool = True) -> Guard:
    return Guard(frozenset(states), tasks, launched)


_ANYTIME = Guard(ANY_VM, ANY_TASK, must_be_launched=False)
_HARD_REBOOT_TASKS = frozenset(
    {
        _T.NONE,
        _T.REBOOTING,
        _T.REBOOT_PENDING,
        _T.REBOOT_STARTED,
        _T.REBOOTING_HARD,
        _T.RESUMING,
        _T.UNPAUSING,
        _T.PAUSING,
        _T.SUSPENDING,
    }
)
_AT_REST = (_V.ACTIVE, _V.STOPPED, _V.PAUSED, _V.SUSPENDED)
_VOLUME = (_V.ACTIVE, _V.PAUSED, _V.STOPPED, _V.RESIZED, _V.SOFT_DELETE, _V.SHELVED, _V.SHELVED_OFFLOADED)

METADATA_WRITE = "metadata_write"

GUARDS: dict[str, Guard] = {
    "delete": _ANYTIME,
    "force_delete": _ANYTIME,
    "soft_delete": _ANYTIME,
    "restore": _in(_V.SOFT_DELETE),
    "start": _in(_V.STOPPED),
    "stop": _in(_V.ACTIVE, _V.ERROR),
    "reboot_soft": _in(_V.ACTIVE),
    # Nova reboots nothing that is rescued; here it may be, and stays in rescue.
    "reboot_hard": _in(*_AT_REST, _V.ERROR, _V.RESCUED, tasks=_HARD_REBOOT_TASKS),
    "pause": _in(_V.ACTIVE),
    "unpause": _in(_V.PAUSED),
    "suspend": _in(_V.ACTIVE),
    "resume": _in(_V.SUSPENDED),
    "rescue": _in(_V.ACTIVE, _V.STOPPED, _V.ERROR),
    "unrescue": _in(_V.RESCUED),
    "rebuild": _in(_V.ACTIVE, _V.STOPPED, _V.ERROR),
    "resize": _in(_V.ACTIVE, _V.STOPPED),
    "migrate": _in(_V.ACTIVE, _V.STOPPED),
    "confirm_resize": _in(_V.RESIZED),
    "revert_resize": _in(_V.RESIZED),
    "live_migrate": _in(_V.ACTIVE, _V.PAUSED),
    "live_migration_force_complete": _in(_V.ACTIVE, tasks=frozenset({_T.MIGRATING})),
    "live_migration_abort": Guard(ANY_VM, frozenset({_T.MIGRATING})),
    "evacuate": _in(_V.ACTIVE, _V.STOPPED, _V.ERROR, tasks=ANY_TASK),
    "shelve": _in(*_AT_REST),
    "shelve_offload": _in(_V.SHELVED),
    "unshelve": _in(_V.SHELVED, _V.SHELVED_OFFLOADED),
    "create_image": _in(*_AT_REST),
    "create_backup": _in(*_AT_REST),
    "change_password": _in(_V.ACTIVE),
    "attach_volume": _in(*_VOLUME),
    "detach_volume": _in(*_VOLUME),
    "swap_volume": _in(_V.ACTIVE, _V.PAUSED, _V.RESIZED),
    "attach_interface": _in(_V.ACTIVE, _V.PAUSED, _V.STOPPED),
    "detach_interface": _in(_V.ACTIVE, _V.PAUSED, _V.STOPPED),
    METADATA_WRITE: _in(*_AT_REST, tasks=ANY_TASK),
    "trigger_crash_dump": _in(_V.ACTIVE, _V.PAUSED, _V.RESCUED, _V.RESIZED, _V.ERROR),
    "console": Guard(ANY_VM, ANY_TASK - {_T.DELETING, _T.MIGRATING}),
    "reset_state": _ANYTIME,
    "lock": _ANYTIME,
    "unlock": _ANYTIME,
    # Not Nova's. What is deleted and can be restored counts for no quota, so nobody may hold on to it.
    "protect": Guard(ANY_VM - {_V.DELETED, _V.SOFT_DELETE}, ANY_TASK - DELETING_TASKS, must_be_launched=False),
    "unprotect": _ANYTIME,
    # Not Nova's. What never ran cannot crash.
    "on_crash": Guard(ANY_VM - {_V.DELETED}, ANY_TASK - DELETING_TASKS),
    # Not Nova's. Once it is started again, nothing is left to be seen.
    "crash_seen": Guard(frozenset({_V.STOPPED}), frozenset({_T.NONE})),
    # Not Nova's.
    "screenshot": Guard(
        frozenset({_V.ACTIVE, _V.PAUSED, _V.RESCUED, _V.RESIZED, _V.ERROR}), ANY_TASK - DELETING_TASKS - {_T.MIGRATING}
    ),
    # Nova renames in any state; what is being deleted is its owner's no more.
    "update": Guard(ANY_VM - {_V.DELETED}, ANY_TASK - DELETING_TASKS, must_be_launched=False),
    # Not a request of Nova's API: the states in which a host may report the steps of a build.
    "create": _in(_V.BUILDING, tasks=ANY_TASK - DELETING_TASKS, launched=False),
    # Not Nova's: see `servers.instances.domain.schedule_again`.
    "schedule_again": _in(_V.ERROR, launched=False),
}


def guard_refusal(action: str, *, vm_state: str, task_state: str, is_launched: bool) -> str:
    """Why the action may not begin now, as a sentence; empty when it may. KeyError for an action nobody knows."""
    guard, verb = GUARDS[action], action.replace("_", " ")
    task = TaskState(task_state or "")
    if VmState(vm_state) not in guard.vm_states:
        return _(
            "The instance is {vm_state}; {verb} needs {vm_states}.",
            vm_state=vm_state,
            verb=verb,
            vm_states=_words(guard.vm_states),
        )
    if task not in guard.task_states:
        wanted = _words(guard.task_states) if guard.task_states != NO_TASK else _("no task")
        return _(
            "The instance is busy with {task}; {verb} needs {wanted}.",
            task=task.value or "nothing",
            verb=verb,
            wanted=wanted,
        )
    if guard.must_be_launched and not is_launched:
        return _("The instance was never launched; {verb} needs one that was.", verb=verb)
    return ""


def _words(states: frozenset[VmState] | frozenset[TaskState]) -> str:
    return any_of(sorted(state.value or _("no task") for state in states))
