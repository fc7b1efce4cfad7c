"""Instances of the same volumes and of new ones, asked for, built, failed and deleted by processes at once."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "volume_instance_race.py"
ROUNDS = 4

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_no_volume_is_two_instances_and_none_is_left(either_database_url: str, tmp_path: Path) -> None:
    raced = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=500)
    assert raced["racers"] == 4
    assert raced["against"] == []
    assert raced["said"]["built"] > 2, raced["said"]
    assert raced["said"].get("named: InvalidFields", 0) + raced["said"].get("named: VolumeAttached", 0) > 0
    assert (raced["instances"], raced["attachments"], raced["used"]) == (0, 0, 0), raced
    assert raced["volumes"] == [["named", "available"]] * 3
