"""Every task has a deadline and a rule, and every row of Nova's table of restarts has an answer."""

import pytest

from computeagent.protocol.work import WorkKind
from servers.instances import work_kinds
from servers.instances.actions.table import VERBS
from servers.instances.domain.task_rules import TASK_RULES, TaskHeal, overdue_words, restart_words, task_heal_for
from servers.instances.domain.transitions import task_can_become, vm_can_become
from servers.repair.domain.nova_restart import NOVA_LEAVES, NOVA_RESTART, RestartRow
from servers.states import TaskState, VmState

TASKS = [task for task in TaskState if task]


def test_every_task_has_a_rule_and_none_has_not() -> None:
    assert set(TASK_RULES) == set(TASKS)
    assert len(TASK_RULES) == 42


@pytest.mark.parametrize("task", TASKS)
def test_rule_has_a_deadline_between_a_quarter_of_an_hour_and_a_day_and_a_reason(task: TaskState) -> None:
    assert 900 <= TASK_RULES[task].deadline_s <= 86400
    assert TASK_RULES[task].why.endswith(".")


@pytest.mark.parametrize("task", TASKS)
def test_rule_names_work_exactly_when_it_is_tried_again(task: TaskState) -> None:
    rule = TASK_RULES[task]
    assert bool(rule.work) == (rule.overdue is TaskHeal.RETRY)
    assert not rule.work or rule.work in {*VERBS, work_kinds.RESCHEDULE}
    assert rule.otherwise is not TaskHeal.RETRY


@pytest.mark.parametrize("task", TASKS)
def test_heal_never_leaves_a_building_instance_without_a_task(task: TaskState) -> None:
    for has_host in (True, False):
        for is_restart in (True, False):
            assert (
                task_heal_for(task, VmState.BUILDING, has_host=has_host, is_restart=is_restart) is not TaskHeal.REVERT
            )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("vm_state", VmState)
def test_heal_is_a_change_that_the_tables_of_transitions_allow(task: TaskState, vm_state: VmState) -> None:
    proposed_heal = task_heal_for(task, vm_state, has_host=True)
    if proposed_heal is TaskHeal.ERROR:
        assert vm_can_become(vm_state, VmState.ERROR)
    if proposed_heal in {TaskHeal.ERROR, TaskHeal.REVERT}:
        assert task_can_become(task, TaskState.NONE)


@pytest.mark.parametrize(
    ("task", "vm_state", "has_host", "proposed_heal"),
    [
        ("scheduling", "building", False, "retry"),
        ("scheduling", "building", True, "error"),
        ("spawning", "building", True, "error"),
        ("image_uploading", "active", True, "revert"),
        ("powering-off", "active", True, "retry"),
        ("powering-off", "stopped", True, "revert"),
        ("powering-on", "stopped", True, "retry"),
        ("powering-on", "stopped", False, "revert"),
        ("reboot_started", "active", True, "retry"),
        ("rebooting_hard", "rescued", True, "retry"),
        ("rebooting_hard", "resized", True, "revert"),
        ("rebuild_spawning", "active", True, "error"),
        ("resize_migrating", "active", True, "error"),
        ("migrating", "active", True, "revert"),
        ("deleting", "active", True, "finish_deletion"),
        ("deleting", "error", False, "finish_deletion"),
        ("soft-deleting", "active", True, "revert"),
        ("pausing", "deleted", True, "finish_deletion"),
        ("unshelving", "shelved_offloaded", True, "error"),
    ],
)
def test_overdue_task_is_healed_by_its_rule(task: str, vm_state: str, has_host: bool, proposed_heal: str) -> None:
    assert task_heal_for(TaskState(task), VmState(vm_state), has_host=has_host) == proposed_heal


def test_instance_on_its_way_to_a_host_that_starts_is_an_error_and_not_scheduled_again() -> None:
    assert task_heal_for(TaskState.SCHEDULING, VmState.BUILDING, has_host=True, is_restart=True) is TaskHeal.ERROR


def test_table_of_restarts_has_all_of_novas_rows() -> None:
    assert [row.found for row in NOVA_RESTART] == [
        "host differs",
        "soft-delete or error",
        "deleted, record alive",
        "build cut off",
        "rebuild cut off",
        "snapshot or preparation of a resize",
        "deleting",
        "reboot cut off",
        "pausing or unpausing, guest runs",
        "reboot started, guest runs",
        "unpausing, guest paused",
        "powering off",
        "powering on",
        "move of a resize cut off",
        "live migration cut off",
        "should run and does not",
        "interfaces cannot be plugged",
        "file shares cannot be mounted",
    ]


@pytest.mark.parametrize("row", NOVA_RESTART, ids=lambda row: row.found)
def test_row_of_novas_table_is_answered_as_it_says(row: RestartRow) -> None:
    assert row.nova
    assert row.ours
    assert {TASK_RULES[task].restart for task in row.tasks} == row.heals


def test_tasks_that_nova_leaves_are_seventeen_and_each_has_a_rule_here() -> None:
    known = {task for row in NOVA_RESTART for task in row.tasks}
    assert len(NOVA_LEAVES) == 17
    assert known | NOVA_LEAVES == set(TASKS)
    assert not known & NOVA_LEAVES
    assert set(TASK_RULES) >= NOVA_LEAVES


def test_words_of_a_fault_name_step_and_how_long_it_hung() -> None:
    words = overdue_words(TaskState.POWERING_OFF, stood_s=1234.4, step="stop", proposed_heal=TaskHeal.RETRY)
    assert "powering-off hung in step stop for 1234 s (allowed: 900 s)" in words
    assert "tried again" in words


def test_words_of_a_restart_name_step_and_age() -> None:
    words = restart_words(TaskState.SPAWNING, stood_s=12.0, step="spawning", proposed_heal=TaskHeal.ERROR)
    assert "spawning in step spawning, 12 s old" in words


def test_kinds_of_work_are_spelled_as_the_services_spell_them() -> None:
    assert {rule.work for rule in TASK_RULES.values() if rule.work} == {
        work_kinds.RESCHEDULE,
        WorkKind.START,
        WorkKind.STOP,
        WorkKind.REBOOT,
        WorkKind.REBOOT_SOFT,
    }
