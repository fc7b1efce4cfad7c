"""Every kind of work that code can write is declared, with what happens when it passes its deadline."""

import pytest

from controlplane.work.jobs import KINDS
from servers.instances import work_kinds
from servers.instances.domain import power_actions

DECLARED = sorted(value for name, value in vars(work_kinds).items() if name.isupper() and isinstance(value, str))


def test_there_are_kinds() -> None:
    assert {"schedule_and_build", "build", "delete"} <= set(DECLARED)


@pytest.mark.parametrize("kind", DECLARED)
def test_kind_is_registered_with_an_overdue_handler(kind: str) -> None:
    assert kind in KINDS
    assert callable(KINDS[kind].overdue)


def test_conductor_answers_the_wakeups_of_its_own_queue() -> None:
    for kind in (work_kinds.SCHEDULE_AND_BUILD, work_kinds.RESCHEDULE):
        assert callable(KINDS[kind].handler)


@pytest.mark.parametrize("action", sorted(power_actions.POWER_ACTIONS))
def test_action_writes_a_declared_kind(action: str) -> None:
    assert power_actions.POWER_ACTIONS[action].kind in DECLARED
