"""Which state may follow which: of an instance, its task, its actions, the attempts on hosts, and work. One table each.

Services change states by compare-and-set only, and `servers.instances.services.state` asks these tables for what may be
replaced; rows of work are changed by `controlplane.work.work`, whose verbs are tested against the table here.
"""

from collections.abc import Mapping
from functools import cache

from servers.states import DELETING_TASKS, TaskState, VmState

_V, _T = VmState, TaskState
ANY_VM: frozenset[VmState] = frozenset(VmState)

VM_TRANSITIONS: dict[VmState, frozenset[VmState]] = {
    _V.BUILDING: frozenset({_V.ACTIVE, _V.STOPPED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}),
    _V.ACTIVE: ANY_VM - {_V.BUILDING},
    _V.PAUSED: frozenset(
        {_V.ACTIVE, _V.STOPPED, _V.SHELVED, _V.SHELVED_OFFLOADED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}
    ),
    _V.SUSPENDED: frozenset(
        {_V.ACTIVE, _V.STOPPED, _V.SHELVED, _V.SHELVED_OFFLOADED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}
    ),
    _V.STOPPED: ANY_VM - {_V.BUILDING, _V.PAUSED, _V.SUSPENDED},
    _V.RESCUED: frozenset({_V.ACTIVE, _V.STOPPED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}),
    _V.RESIZED: frozenset({_V.ACTIVE, _V.STOPPED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}),
    _V.SOFT_DELETE: frozenset({_V.ACTIVE, _V.STOPPED, _V.ERROR, _V.DELETED}),
    _V.ERROR: frozenset({_V.ACTIVE, _V.STOPPED, _V.RESCUED, _V.BUILDING, _V.DELETED, _V.SOFT_DELETE}),
    _V.SHELVED: frozenset({_V.ACTIVE, _V.STOPPED, _V.SHELVED_OFFLOADED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}),
    _V.SHELVED_OFFLOADED: frozenset({_V.ACTIVE, _V.STOPPED, _V.ERROR, _V.DELETED, _V.SOFT_DELETE}),
    _V.DELETED: frozenset(),
}
"""Which state may follow which. Nothing follows `deleted`; `building` follows only `error`, by scheduling again."""

FIRST_STATES: frozenset[tuple[VmState, TaskState]] = frozenset({(_V.BUILDING, _T.SCHEDULING), (_V.ERROR, _T.NONE)})
"""In which an instance gets its row: on its way to a host, or in cell0."""

NEXT_OF_DELETING: frozenset[TaskState] = frozenset({_T.NONE, _T.DELETING})
"""Only the end of a deletion, or a deletion, may replace `deleting`; every other task may be replaced by any."""

TASK_TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    task: NEXT_OF_DELETING if task in DELETING_TASKS else frozenset(TaskState) for task in TaskState
}

ACTION_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "": frozenset({"success", "error", "cancelled"}),
    "success": frozenset(),
    "error": frozenset(),
    "cancelled": frozenset(),
}
"""Results of an action; empty while it is open. The result of an ended one does not change."""

ATTEMPT_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "": frozenset({"active", "rescheduled", "failed", "cancelled"}),
    "active": frozenset(),
    "rescheduled": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""Outcomes of an attempt on a host; empty while it runs."""

WORK_TRANSITIONS: Mapping[str, frozenset[str]] = {
    "waiting": frozenset({"running", "failed", "cancelled"}),
    "running": frozenset({"running", "waiting", "done", "failed", "cancelled"}),
    "done": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""Taken, taken over after a lease, given back, ended. What waits was not begun, so it is never done."""


def vm_can_become(old: VmState, new: VmState) -> bool:
    """Whether `new` may follow `old`; staying is always possible."""
    return old is new or new in VM_TRANSITIONS[old]


def task_can_become(old: TaskState, new: TaskState) -> bool:
    """Whether `new` may follow `old`."""
    return new in TASK_TRANSITIONS[old]


@cache
def vm_sources(new: VmState) -> frozenset[VmState]:
    """The states that `new` may follow, itself included."""
    return frozenset(old for old in VmState if vm_can_become(old, new))


@cache
def task_sources(new: TaskState) -> frozenset[TaskState]:
    """The tasks that `new` may replace."""
    return frozenset(old for old in TaskState if task_can_become(old, new))
