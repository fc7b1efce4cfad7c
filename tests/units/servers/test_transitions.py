"""Which state may follow which, row by row."""

import pytest

from controlplane.work.models import WorkState
from servers.instances.domain.transitions import (
    ACTION_TRANSITIONS,
    ATTEMPT_TRANSITIONS,
    TASK_TRANSITIONS,
    VM_TRANSITIONS,
    WORK_TRANSITIONS,
    task_sources,
    vm_can_become,
    vm_sources,
)
from servers.models import AttemptRecord
from servers.states import TaskState, VmState

GONE = "deleted error soft-delete"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("building", f"active stopped {GONE}"),
        ("active", f"paused suspended stopped rescued resized shelved shelved_offloaded {GONE}"),
        ("paused", f"active stopped shelved shelved_offloaded {GONE}"),
        ("suspended", f"active stopped shelved shelved_offloaded {GONE}"),
        ("stopped", f"active rescued resized shelved shelved_offloaded {GONE}"),
        ("rescued", f"active stopped {GONE}"),
        ("resized", f"active stopped {GONE}"),
        ("soft-delete", "active stopped deleted error"),
        ("error", "active stopped rescued building deleted soft-delete"),
        ("shelved", f"active stopped shelved_offloaded {GONE}"),
        ("shelved_offloaded", f"active stopped {GONE}"),
        ("deleted", ""),
    ],
)
def test_row_of_vm_states(old: str, new: str) -> None:
    assert set(VM_TRANSITIONS[VmState(old)]) - {VmState(old)} == set(new.split())


@pytest.mark.parametrize("task", TaskState)
def test_row_of_task_states(task: TaskState) -> None:
    """Nothing but its end, or a deletion, replaces a deletion."""
    is_deletion = task in {"deleting", "soft-deleting"}
    assert TASK_TRANSITIONS[task] == ({"", "deleting"} if is_deletion else set(TaskState))


def test_tables_have_every_state() -> None:
    assert (set(VM_TRANSITIONS), set(TASK_TRANSITIONS)) == (set(VmState), set(TaskState))
    assert set(WORK_TRANSITIONS) == set(WorkState.values)
    outcomes = {value for value, _ in AttemptRecord._meta.get_field("outcome").choices}
    assert set(ATTEMPT_TRANSITIONS) == outcomes | {""}


@pytest.mark.parametrize("table", [ACTION_TRANSITIONS, ATTEMPT_TRANSITIONS, WORK_TRANSITIONS])
def test_what_ended_stays_as_it_ended(table: dict[str, frozenset[str]]) -> None:
    ends = {state for state, following in table.items() if not following}
    assert ends == set().union(*table.values()) - {"running", "waiting"}


def test_sources_are_the_table_read_backwards() -> None:
    assert vm_sources(VmState.BUILDING) == {VmState.BUILDING, VmState.ERROR}
    assert VmState.DELETED not in vm_sources(VmState.ACTIVE)
    assert TaskState.DELETING not in task_sources(TaskState.SPAWNING)
    assert vm_can_become(VmState.DELETED, VmState.DELETED)
