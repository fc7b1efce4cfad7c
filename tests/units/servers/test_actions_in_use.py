"""The states of Nova's tasks and its guards: whatever an action here could be in is one that an action is in."""

from servers.consoles.services import GUARD as CONSOLE
from servers.instances.actions.guards import GUARDS, METADATA_WRITE
from servers.instances.actions.table import ACTIONS
from servers.states import TaskState

_T = TaskState
OF_MOVES = frozenset(
    {
        _T.MIGRATING,
        _T.RESIZE_PREP,
        _T.RESIZE_MIGRATING,
        _T.RESIZE_MIGRATED,
        _T.RESIZE_FINISH,
        _T.RESIZE_REVERTING,
        _T.RESIZE_CONFIRMING,
    }
)
GUARDS_OF_MOVES = frozenset(
    {
        "resize",
        "confirm_resize",
        "revert_resize",
        "migrate",
        "live_migrate",
        "live_migration_abort",
        "live_migration_force_complete",
        "evacuate",
        "swap_volume",
    }
)


def test_every_task_state_but_those_of_moves_is_that_of_an_action() -> None:
    tasks = {
        task
        for rule in ACTIONS.values()
        for task in (rule.task, *rule.later_tasks, *(step.task for step in rule.steps))
        if task
    }
    assert set(TaskState) - tasks - {_T.NONE} == OF_MOVES


def test_every_guard_but_those_of_moves_is_asked() -> None:
    asked = {rule.guard for rule in ACTIONS.values()} | {CONSOLE, METADATA_WRITE}
    assert asked <= set(GUARDS)
    assert set(GUARDS) - asked == GUARDS_OF_MOVES
