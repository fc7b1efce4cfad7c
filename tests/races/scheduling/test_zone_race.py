"""A zone that is renamed while schedulers choose in it: an instance is in the zone that its host is in."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "zone_race.py"
RACERS, ROUNDS = 3, 30
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_instances_are_scheduled_into_the_zone_that_their_host_keeps(either_database_url: str, tmp_path: Path) -> None:
    result = race_run(PROGRAM, RACERS, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=TIMEOUT_S)

    assert result["deadlocks"] == 0
    assert len(result["rounds"]) == ROUNDS
    for each in result["rounds"]:
        assert each["scheduled"] == [each["zone"]] * RACERS
