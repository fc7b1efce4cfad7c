"""Volumes of one small pool that processes make, grow and remove at once: never more is promised than there is."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "volume_claim_race.py"
ROUNDS = 6

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_claims_are_the_rows_and_each_work_is_ended_once(either_database_url: str, tmp_path: Path) -> None:
    raced = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=500)
    said = raced["said"]
    assert raced["racers"] == 4
    assert raced["too_many"] == 0
    assert (raced["differing"], raced["open"], raced["sightings"]) == ([], 0, 0)
    assert raced["used"] == raced["rows"] <= 12
    assert said["make: done"] > 2
    assert said["make: NoValidBackend"] > 0
    assert raced["ended"] >= said["ended"] > 2
