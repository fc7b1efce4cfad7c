import pytest

from computeagent.protocol.power import PowerState
from servers.images.domain.images import TRANSITIONS, ImageStatus
from servers.instances.actions.guards import GUARDS, guard_refusal
from servers.instances.actions.rescue import REBUILD
from servers.instances.actions.table import ACTIONS, VERBS
from servers.instances.domain.action_offers import OFFERED
from servers.instances.domain.transitions import vm_can_become
from servers.states import POWER_STATE_CODES, TaskState, VmState, api_status, status_states


def test_states_are_all_of_novas():
    assert len(VmState) == 12
    assert len([task for task in TaskState if task]) == 42


def test_each_power_state_has_novas_number():
    assert set(POWER_STATE_CODES) == set(PowerState)


@pytest.mark.parametrize(
    ("vm_state", "task_state", "status"),
    [
        ("active", "", "ACTIVE"),
        ("active", "rebooting", "REBOOT"),
        ("active", "reboot_started_hard", "HARD_REBOOT"),
        ("active", "updating_password", "PASSWORD"),
        ("active", "rebuild_spawning", "REBUILD"),
        ("active", "resize_finish", "RESIZE"),
        ("active", "migrating", "MIGRATING"),
        ("active", "image_uploading", "ACTIVE"),
        ("building", "spawning", "BUILD"),
        ("stopped", "", "SHUTOFF"),
        ("stopped", "resize_prep", "RESIZE"),
        ("resized", "", "VERIFY_RESIZE"),
        ("resized", "resize_reverting", "REVERT_RESIZE"),
        ("soft-delete", "", "SOFT_DELETED"),
        ("error", "", "ERROR"),
        ("nonsense", "", "UNKNOWN"),
    ],
)
def test_status_is_derived_as_nova_does(vm_state, task_state, status):
    assert api_status(vm_state, task_state) == status


def test_every_pair_of_states_has_a_status():
    assert all(api_status(vm, task) != "UNKNOWN" for vm in VmState for task in TaskState)


def test_states_of_a_status_show_as_it():
    pairs = status_states("HARD_REBOOT")
    assert pairs
    assert {api_status(vm, task) for vm, task in pairs} == {"HARD_REBOOT"}


def test_start_of_active_instance_is_refused_with_both_states():
    reason = guard_refusal("start", vm_state="active", task_state="", is_launched=True)
    assert reason == "The instance is active; start needs stopped."


def test_stop_during_a_task_is_refused_with_the_task():
    reason = guard_refusal("stop", vm_state="active", task_state="rebooting_hard", is_launched=True)
    assert reason == "The instance is busy with rebooting_hard; stop needs no task."


def test_action_before_first_launch_is_refused():
    assert "never launched" in guard_refusal("rebuild", vm_state="error", task_state="", is_launched=False)


def test_delete_is_allowed_in_every_state():
    assert not any(
        guard_refusal("delete", vm_state=vm, task_state=task, is_launched=False) for vm in VmState for task in TaskState
    )


def test_console_is_refused_while_deleting():
    assert guard_refusal("console", vm_state="active", task_state="deleting", is_launched=True)


@pytest.mark.parametrize(("name", "guard"), [("start", "start"), ("stop", "stop"), ("reboot", "reboot_hard")])
def test_verbs_begin_only_where_nova_lets_them(name, guard):
    action = VERBS[name]
    assert action.guard == guard
    assert action.vm_states <= GUARDS[guard].vm_states
    assert action.task_states <= GUARDS[guard].task_states


def test_verbs_end_in_states_that_may_follow():
    for action in VERBS.values():
        assert (action.work is None) == (action.changes is not None)
        assert action.work is not None or action.vm_state_after is None
        assert all(vm_can_become(before, action.vm_state_end(before)) for before in action.vm_states)


def test_action_comes_back_only_to_where_it_may_begin_and_fails_to_a_state_that_may_follow():
    for action in ACTIONS.values():
        assert action.comes_back_to <= action.vm_states
        failed = action.vm_state_on_failure
        assert failed is None or all(vm_can_become(before, failed) for before in action.vm_states)


def test_rebuilt_instance_that_was_off_stays_off():
    ends = {before: (REBUILD.vm_state_end(before), REBUILD.power_state_end(before)) for before in REBUILD.vm_states}
    assert ends == {
        VmState.ACTIVE: (VmState.ACTIVE, PowerState.RUNNING),
        VmState.ERROR: (VmState.ACTIVE, PowerState.RUNNING),
        VmState.STOPPED: (VmState.STOPPED, PowerState.SHUTDOWN),
    }


def test_image_upload_can_begin_again_after_a_cut_but_not_over_data():
    assert ImageStatus.SAVING in TRANSITIONS[ImageStatus.SAVING]
    assert ImageStatus.SAVING in TRANSITIONS[ImageStatus.KILLED]
    assert ImageStatus.SAVING not in TRANSITIONS[ImageStatus.ACTIVE]
    assert ImageStatus.SAVING not in TRANSITIONS[ImageStatus.DELETED]


def test_every_action_that_a_person_asks_for_says_what_it_does() -> None:
    assert [rule.name for rule in OFFERED if not rule.help.endswith(".")] == []
