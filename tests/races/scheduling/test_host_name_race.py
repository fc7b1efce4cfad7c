"""Agents that register at the same moment under names which differ in capitals alone: one is let in."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "host_name_race.py"
ROUNDS = 15
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_one_of_the_names_is_registered_and_the_others_are_told(either_database_url: str, tmp_path: Path) -> None:
    rounds = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=TIMEOUT_S)

    assert [each["said"] for each in rounds] == [["conflict", "conflict", "registered"]] * ROUNDS
    assert [len(each["hosts"]) for each in rounds] == [1] * ROUNDS
