"""Real processes race for the last slots: never one too many, never a leftover, no deadlock, no change missed."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
TIMEOUT_S = 500
POSTGRES_PROCESSES, SQLITE_PROCESSES = 16, 4

pytestmark = pytest.mark.processes


@dataclass(frozen=True)
class Track:
    """An empty database of its own, and how many race on it."""

    url: str
    racers: int
    state: Path

    def race(self, mode: str, *, providers: int, slots: int) -> dict[str, Any]:
        """Run one race; its JSON. Its standard error is shown when it fails."""
        program, words = HERE / "claim_race.py", (mode, self.racers, providers, slots)
        result: dict[str, Any] = race_run(program, *words, url=self.url, state=self.state, timeout_s=TIMEOUT_S)
        # Shown by `pytest -s`, and when the test fails.
        sys.stdout.write(f"{mode} by {self.racers}: {result['counts']} {result['seen']} in {result['seconds']} s\n")
        return result


@pytest.fixture
def track(either_database_url: str, tmp_path: Path) -> Track:
    """A track on PostgreSQL with 16 racers, and one on SQLite with 4."""
    is_sqlite = either_database_url.startswith("sqlite")
    return Track(either_database_url, SQLITE_PROCESSES if is_sqlite else POSTGRES_PROCESSES, tmp_path)


def assert_fair(result: dict[str, Any]) -> None:
    """No deadlock (not even one that was tried again), nothing that the audit finds, no change that a reader missed."""
    assert result["counts"].get("OperationalError", 0) == result["deadlocks"] == 0
    assert result["findings"] == []
    assert result["consumers"] == result["holders"]
    assert result["seen"]["differs"] == 0


def test_racers_for_the_last_slots_fill_them_exactly(track: Track) -> None:
    result = track.race("grab", providers=5, slots=20)

    assert_fair(result)
    assert result["over"] == []
    assert set(result["free"]) == {0}
    assert result["vcpus_allocated"] == 5 * 20


def test_racers_that_claim_and_free_leave_nothing_behind(track: Track) -> None:
    result = track.race("churn", providers=5, slots=10)

    assert_fair(result)
    assert result["counts"].get("freed_again", 0) == 0
    assert set(result["used"]) == {0}
    assert result["consumers"] == result["vcpus_allocated"] == 0


def test_racers_with_the_same_consumers_hold_and_give_back_each_once(track: Track) -> None:
    result = track.race("same", providers=3, slots=10)

    assert_fair(result)
    assert result["counts"]["claimed"] == result["counts"]["freed"] > 0
    assert result["consumers"] == result["vcpus_allocated"] == 0


@pytest.mark.long
def test_hot_provider_refuses_nobody_for_want_of_retries(track: Track) -> None:
    result = track.race("hot", providers=1, slots=20)

    assert_fair(result)
    assert result["counts"].get("Conflict", 0) == 0
    assert set(result["counts"]) <= {"won", "writes", "freed", "NoCapacity", "ConsumerChanged"}
    assert result["generations"] == 1 + result["counts"]["writes"]
    assert set(result["used"]) == {0}


def test_racers_for_one_member_per_host_get_exactly_one(track: Track) -> None:
    result = track.race("group", providers=1, slots=100)

    assert_fair(result)
    assert result["counts"]["won"] == result["consumers"] == 25
    assert result["counts"]["NoCapacity"] == (track.racers - 1) * 25


def test_racers_that_must_be_together_are_never_apart_and_never_wait_for_each_other(track: Track) -> None:
    result = track.race("together", providers=5, slots=100)

    assert_fair(result)
    assert result["counts"].get("torn", 0) == 0
    assert result["counts"]["freed"] == 2 * result["counts"]["won"] > 0
    assert result["counts"]["NoCapacity"] > 0
    assert result["consumers"] == 0
