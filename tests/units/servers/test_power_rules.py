"""What follows when guest and instance say different things: Nova's table, row by row."""

import pytest

from computeagent.protocol.power import PowerState
from servers.repair.domain.power_rules import POWER_RULES, power_heal
from servers.states import VmState

IGNORED = ["building", "rescued", "resized", "suspended", "error", "soft-delete", "deleted", "shelved"]


@pytest.mark.parametrize(
    ("vm_state", "power_state", "proposed_heal"),
    [
        ("active", "running", "nothing"),
        ("active", "shutdown", "follow"),
        ("active", "crashed", "follow"),
        ("active", "suspended", "nothing"),
        ("active", "paused", "nothing"),
        ("active", "nostate", "start"),
        ("stopped", "running", "stop"),
        ("stopped", "paused", "stop"),
        ("stopped", "suspended", "stop"),
        ("stopped", "shutdown", "nothing"),
        ("stopped", "crashed", "nothing"),
        ("stopped", "nostate", "nothing"),
        ("paused", "paused", "nothing"),
        ("paused", "shutdown", "follow"),
        ("paused", "crashed", "follow"),
        ("paused", "nostate", "start"),
    ],
)
def test_row_of_the_table(vm_state: str, power_state: str, proposed_heal: str) -> None:
    assert power_heal(vm_state, power_state) == proposed_heal


@pytest.mark.parametrize("vm_state", IGNORED)
def test_state_that_nova_ignores_is_left_alone_whatever_its_guest_is(vm_state: str) -> None:
    assert {power_heal(vm_state, power) for power in PowerState} == {"nothing"}


def test_no_rule_is_about_a_pair_that_has_no_row_above() -> None:
    assert {vm for vm, _ in POWER_RULES} == {VmState.ACTIVE, VmState.STOPPED, VmState.PAUSED}
