"""Which instances may be scheduled again."""

from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

import pytest

from controlplane.identity.domain import Caller, Role
from servers.catalog.domain.quota import UNLIMITED, QuotaAmounts, overruns
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.states import VmState

WHO = Caller(UUID(int=1), "mary", UUID(int=2), "demo", frozenset({Role.MEMBER}))
IN_CELL0 = {"vm_state": "error", "task_state": "", "host": "", "launched_at": None, "locked": False, "locked_as": ""}


def refusal_of(**states: object) -> str:
    return schedule_again_refusal(SimpleNamespace(**{"failure_class": "", **states}), WHO)  # type: ignore[arg-type]


def test_one_in_error_on_no_host_that_never_ran_may() -> None:
    assert refusal_of(**IN_CELL0) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vm_state": "building"}, "being built already"),
        ({"task_state": "deleting"}, "busy with deleting"),
        ({"host": "h1"}, "is on a host"),
        ({"launched_at": datetime(2026, 1, 1, tzinfo=UTC)}, "has run before"),
    ],
)
def test_any_other_is_told_why_not(change: dict[str, object], words: str) -> None:
    assert words in refusal_of(**{**IN_CELL0, **change})


@pytest.mark.parametrize("state", [state for state in VmState if state is not VmState.ERROR])
def test_no_state_but_error_may(state: VmState) -> None:
    assert refusal_of(**{**IN_CELL0, "vm_state": state.value})


def test_overrun_is_what_is_in_use_beyond_a_lowered_limit() -> None:
    found = overruns(used=QuotaAmounts(3, 8, 512), limits=QuotaAmounts(2, 8, UNLIMITED))
    assert [one.sentence for one in found] == ["instances: 3 in use, 2 allowed."]


def test_one_that_failed_by_its_own_request_may_only_with_another_flavor() -> None:
    failed = SimpleNamespace(**IN_CELL0, failure_class="user", flavor={"id": "f-1", "given_id": "1", "name": "m1"})
    assert "No host can build what was asked for" in schedule_again_refusal(failed, WHO)  # type: ignore[arg-type]
    assert schedule_again_refusal(failed, WHO, flavor="m2") == ""  # type: ignore[arg-type]
    for same in ("f-1", "1", "m1"):
        assert schedule_again_refusal(failed, WHO, flavor=same)  # type: ignore[arg-type]


@pytest.mark.parametrize("failure_class", ["host", "network", "policy"])
def test_one_that_failed_by_another_fault_may(failure_class: str) -> None:
    assert refusal_of(**IN_CELL0, failure_class=failure_class) == ""
