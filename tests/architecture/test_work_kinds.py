"""Every kind of work that code can write is declared, with what happens when it passes its deadline."""

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.work.jobs import KINDS
from servers.images.domain.work_kinds import IMAGE_WORK
from servers.instances import work_kinds
from servers.instances.actions.table import ACTION_OF_WORK, ACTIONS

CONDUCTORS = sorted(value for name, value in vars(work_kinds).items() if name.isupper() and isinstance(value, str))
DECLARED = sorted([*CONDUCTORS, *IMAGE_WORK, *WorkKind])


def test_there_are_kinds() -> None:
    assert {"schedule_and_build", "build", "delete"} <= set(DECLARED)


@pytest.mark.parametrize("kind", DECLARED)
def test_kind_is_registered_with_an_overdue_handler(kind: str) -> None:
    assert kind in KINDS
    assert callable(KINDS[kind].overdue)


def test_conductor_answers_the_wakeups_of_its_own_queue() -> None:
    for kind in (work_kinds.SCHEDULE_AND_BUILD, work_kinds.RESCHEDULE, *IMAGE_WORK):
        assert callable(KINDS[kind].handler)


@pytest.mark.parametrize("action", [name for name, rule in ACTIONS.items() if rule.work])
def test_action_writes_a_declared_kind(action: str) -> None:
    assert ACTIONS[action].work in DECLARED


def test_each_kind_that_an_agent_knows_is_the_work_of_one_action() -> None:
    assert sorted(ACTION_OF_WORK) == sorted(WorkKind)
