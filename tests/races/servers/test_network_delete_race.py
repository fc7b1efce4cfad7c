"""Ports that are made in a network that is deleted at that moment: one of both wins, and the other leaves nothing."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "network_delete_race.py"
ROUNDS = 24

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_either_the_network_goes_or_the_ports_come(either_database_url: str, tmp_path: Path) -> None:
    raced = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=500)
    (made, not_made), (deleted, not_deleted) = raced["made"], raced["deleted"]
    assert (made + not_made, deleted + not_deleted) == (ROUNDS, ROUNDS)
    # Whoever comes first wins; the ports of a round are one less at its end.
    assert (made, not_made) == (not_deleted, deleted)
    assert (raced["networks"], raced["ports"]) == (made, made)
    assert (raced["lost_ports"], raced["lost_addresses"], raced["lost_subnets"]) == (0, 0, 0)
