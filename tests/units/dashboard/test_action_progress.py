"""What a page says of an action that is under way."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from django.utils import timezone

from controlplane.dashboard.instances.timeline import progress
from servers.instances.selectors.journey import JourneyRecords


class Events(list[Any]):
    """Rows of steps as a query set gives them."""

    def all(self) -> list[Any]:
        return list(self)


def step(name: str, finished_at: datetime | None) -> Any:
    return SimpleNamespace(name=name, finished_at=finished_at, done_bytes=None, total_bytes=None)


def records(action: str, *steps: Any) -> JourneyRecords:
    began = timezone.now() - timedelta(seconds=5)
    return JourneyRecords(actions=[SimpleNamespace(action=action, result="", started_at=began, events=Events(steps))])


def busy(task_state: str) -> Any:
    return SimpleNamespace(vm_state="active", task_state=task_state)


def test_an_action_of_one_step_shows_how_long_it_takes() -> None:
    found = progress(busy("powering-off"), records("stop", step("powering-off", None)))
    assert found is not None
    assert (found.text, found.done, found.steps) == ("Stopping", 0, 0)
    assert 5 <= found.seconds < 60


def test_an_action_of_many_steps_says_which_one_runs_and_how_many_are_behind_it() -> None:
    steps = [step("claim", timezone.now()), step("group_check", timezone.now()), step("networking", None)]
    found = progress(busy("networking"), records("create", *steps))
    assert found is not None
    assert found.text.endswith(": network")
    assert (found.done, found.steps) == (2, 5)


def test_what_nobody_does_has_no_progress() -> None:
    assert progress(busy(""), records("stop")) is None
