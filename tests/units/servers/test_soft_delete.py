"""Which deletion is begun, for every pair of states."""

from datetime import UTC, datetime, timedelta

import pytest

from servers.instances.domain.soft_delete import Deletion, deletion_asked, ends_at
from servers.states import TaskState, VmState

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def asked(vm_state: str = "active", task_state: str = "", *, interval_s: float = 60.0, **more: bool) -> Deletion:
    facts = {"is_on_host": True, "is_launched": True, "is_forced": False, **more}
    return deletion_asked(vm_state=vm_state, task_state=task_state, interval_s=interval_s, **facts)


@pytest.mark.parametrize("vm_state", sorted(set(VmState) - {VmState.DELETED}))
@pytest.mark.parametrize("task_state", TaskState)
def test_every_pair_has_one_answer(vm_state: VmState, task_state: TaskState) -> None:
    is_deleting = task_state is TaskState.DELETING
    for_good = Deletion.NOTHING if is_deleting else Deletion.FOR_GOOD
    assert asked(vm_state, task_state, is_forced=True) is for_good
    assert asked(vm_state, task_state, interval_s=0.0) is for_good
    found = asked(vm_state, task_state)
    is_soft_deleted = vm_state is VmState.SOFT_DELETE and task_state is not TaskState.RESTORING
    is_there_already = is_deleting or task_state is TaskState.SOFT_DELETING or is_soft_deleted
    assert found is (Deletion.NOTHING if is_there_already else Deletion.SOFT)


def test_what_has_nothing_worth_restoring_goes_for_good() -> None:
    assert asked(is_on_host=False) is Deletion.FOR_GOOD
    assert asked("error", is_launched=False) is Deletion.FOR_GOOD


def test_time_ends_an_interval_after_the_deletion_or_never() -> None:
    assert ends_at(NOW, 60.0) == NOW + timedelta(minutes=1)
    assert ends_at(NOW, 0.0) is None
    assert ends_at(None, 60.0) is None
