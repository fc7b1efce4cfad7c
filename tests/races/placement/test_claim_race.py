"""Real processes race for the last slots: never one too many, never a leftover, no deadlock."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
TIMEOUT_S = 180
POSTGRES_PROCESSES, SQLITE_PROCESSES = 16, 4

pytestmark = pytest.mark.processes


@dataclass(frozen=True)
class Track:
    """A database of its own, with providers to race for."""

    env: Mapping[str, str]
    racers: int

    def referee(self, *args: str) -> Any:
        """What the referee says."""
        command = [sys.executable, str(HERE / "referee.py"), *args]
        done = subprocess.run(
            command, env=self.env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def race(self, mode: str, providers: list[str]) -> Counter[str]:
        """Start all racers at once; the sum of what they report. None may fail or hang."""
        racers = [self._racer(mode, seed, providers) for seed in range(self.racers)]
        try:
            for racer in racers:
                assert racer.stdout is not None
                assert racer.stdout.readline() == "ready\n", self._fate(racer)
            start = time.monotonic()
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write("go\n")
                racer.stdin.flush()
            sums: Counter[str] = Counter()
            for racer in racers:
                out, err = racer.communicate(timeout=TIMEOUT_S)
                assert racer.returncode == 0, err
                sums.update(json.loads(out.splitlines()[-1]))
            # Shown by `pytest -s`, and when the test fails.
            sys.stdout.write(f"{mode} by {self.racers}: {dict(sums)} in {time.monotonic() - start:.2f} s\n")
            return sums
        finally:
            for racer in racers:
                racer.kill()
                racer.wait()

    def _racer(self, mode: str, seed: int, providers: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(HERE / "claim_racer.py"), mode, str(seed), *providers],
            env=self.env,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def _fate(racer: subprocess.Popen[str]) -> str:
        racer.kill()
        return racer.communicate()[1]


def track_env(url: str, state: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": os.environ.get("RACE_SETTINGS", "controlplane.settings.dev"),
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "KILONOVA_STATE": str(state),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def track(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Track]:
    """A track on PostgreSQL with 16 racers, and one on SQLite with 4."""
    if request.param == "sqlite":
        yield Track(track_env(request.getfixturevalue("sqlite_file_url"), tmp_path), SQLITE_PROCESSES)
        return
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield Track(track_env(url, tmp_path), POSTGRES_PROCESSES)
    server.drop_database(url)


def test_racers_for_the_last_slots_fill_them_exactly(track: Track) -> None:
    providers = track.referee("setup", "5", "20")

    counts = track.race("grab", providers)

    verdict = track.referee("verdict")
    assert counts["OperationalError"] == verdict["deadlocks"] == 0
    assert verdict["findings"] == verdict["over"] == []
    assert {classes["VCPU"] for classes in verdict["used"].values()} == {20}
    assert {classes["MEMORY_MB"] for classes in verdict["used"].values()} == {20 * 512}
    assert verdict["consumers"] == verdict["holders"]
    assert verdict["allocated"] == 100


def test_racers_that_claim_and_free_leave_nothing_behind(track: Track) -> None:
    providers = track.referee("setup", "5", "10")

    counts = track.race("churn", providers)

    verdict = track.referee("verdict")
    assert counts["OperationalError"] == verdict["deadlocks"] == 0
    assert counts["freed_again"] == 0
    assert verdict["findings"] == []
    assert {used for classes in verdict["used"].values() for used in classes.values()} == {0}
    assert verdict["consumers"] == verdict["allocated"] == 0


def test_racers_with_the_same_consumers_hold_and_give_back_each_once(track: Track) -> None:
    providers = track.referee("setup", "3", "10")

    counts = track.race("same", providers)

    verdict = track.referee("verdict")
    assert counts["OperationalError"] == verdict["deadlocks"] == 0
    assert counts["claimed"] == counts["freed"] > 0
    assert verdict["findings"] == []
    assert verdict["consumers"] == verdict["allocated"] == 0
