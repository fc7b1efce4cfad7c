"""Schedulers that choose at the same moment keep the rules that depend on each other's instances: the claims decide."""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "neighbour_race.py"
RACERS, HOSTS = 8, 6
TIMEOUT_S = 500

pytestmark = pytest.mark.processes


def raced(rule: str, rounds: int, url: str, state: Path, *, hosts: int = HOSTS) -> list[dict[str, Any]]:
    """What became of each round. No deadlock is broken in any."""
    result: dict[str, Any] = race_run(PROGRAM, rule, RACERS, hosts, rounds, url=url, state=state, timeout_s=TIMEOUT_S)
    assert result["deadlocks"] == 0
    assert len(result["rounds"]) == rounds
    return list(result["rounds"])


def affinity_kept(rounds: int, url: str, state: Path) -> None:
    for each in raced("ServerGroupAffinityFilter", rounds, url, state):
        assert (each["said"], len(each["hosts"])) == (["placed"] * RACERS, 1)


def test_members_of_a_new_affinity_group_end_on_the_host_of_the_first(either_database_url: str, tmp_path: Path) -> None:
    affinity_kept(8, either_database_url, tmp_path)


@pytest.mark.long
def test_affinity_is_kept_in_hundreds_of_rounds(either_database_url: str, tmp_path: Path) -> None:
    affinity_kept(200, either_database_url, tmp_path)


# One of each kind races in the gate; tests/services/scheduling/destinations/test_neighbour_claims.py has all rules.
@pytest.mark.parametrize("rule", ["NumInstancesFilter", pytest.param("IoOpsFilter", marks=pytest.mark.long)])
def test_host_gets_no_more_at_once_than_it_may_have(rule: str, either_database_url: str, tmp_path: Path) -> None:
    for each in raced(rule, 8, either_database_url, tmp_path, hosts=4):
        assert each["said"] == ["placed"] * RACERS
        assert sorted(map(len, each["hosts"].values())) == [2, 2, 2, 2]


@pytest.mark.long
def test_host_of_one_flavor_gets_no_other(either_database_url: str, tmp_path: Path) -> None:
    for each in raced("TypeAffinityFilter", 8, either_database_url, tmp_path):
        assert each["said"] == ["placed"] * RACERS
        assert [host for host, racers in each["hosts"].items() if len({racer % 2 for racer in racers}) > 1] == []
