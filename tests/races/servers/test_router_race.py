"""Floating addresses and routers that processes change at once: each ends in one state, and nothing hangs on it."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "router_race.py"
ROUNDS = 8

pytestmark = [pytest.mark.processes, pytest.mark.long]


def test_one_address_for_one_port_and_no_leg_of_a_router_that_is_gone(either_database_url: str, tmp_path: Path) -> None:
    raced = race_run(PROGRAM, ROUNDS, url=either_database_url, state=tmp_path, timeout_s=500)
    first, second, deleted, joined = raced["said"]
    assert {"FloatingIPInUse", "done"} >= {*first, *second}
    pairs = [tuple(pair) for pair in raced["pairs"]]
    assert len(pairs) == len(set(pairs)) <= 2  # of two ports, each with one address
    for gone, leg in zip(deleted, joined, strict=True):
        assert (gone, leg) in {("done", "RouterNotFound"), ("RouterInUse", "done")}
    stays = joined.count("done")
    assert (raced["doomed"], raced["legs"], raced["addresses_of_legs"]) == (stays, stays, stays)
    assert raced["legs_of_none"] == 0
