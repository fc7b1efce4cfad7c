"""Real processes race for the last slots: never one too many, never a leftover, no deadlock, no change missed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
TIMEOUT_S = 240
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
        env = {
            **os.environ,
            "DATABASE_URL": self.url,
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
            "SECRET_KEY": "only-for-tests-" + "x" * 50,
            "KILONOVA_STATE": str(self.state),
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, str(HERE / "claim_race.py"), mode, str(self.racers), str(providers), str(slots)]
        done = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        # Shown by `pytest -s`, and when the test fails.
        sys.stdout.write(f"{mode} by {self.racers}: {result['counts']} {result['seen']} in {result['seconds']} s\n")
        return result


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def track(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Track]:
    """A track on PostgreSQL with 16 racers, and one on SQLite with 4."""
    if request.param == "sqlite":
        yield Track(request.getfixturevalue("sqlite_file_url"), SQLITE_PROCESSES, tmp_path)
        return
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield Track(url, POSTGRES_PROCESSES, tmp_path)
    server.drop_database(url)


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
