"""Ports that come into a security group that is deleted at that moment: one of both wins, and the other says why."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "group_delete_race.py"
ROUNDS = 40

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_either_the_group_goes_or_the_port_comes_in(either_database_url: str, tmp_path: Path) -> None:
    raced = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=500)
    (made, not_made, oddities), (deleted, not_deleted, others) = raced["made"], raced["deleted"]
    assert (oddities, others) == ([], [])
    assert (made + not_made, deleted + not_deleted) == (ROUNDS, ROUNDS)
    # A port that moved on to the next group may have left the one before in time for its deletion.
    assert not_made <= deleted
    assert not_deleted <= made
    assert (raced["groups"], raced["lost_members"]) == (not_deleted, 0)
