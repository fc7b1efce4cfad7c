"""Ports that are made side by side by real processes: no address twice, and exactly as many as the pool has."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "address_race.py"
PROCESSES, ADDRESSES = 4, 60

pytestmark = [pytest.mark.processes]


def raced(url: str, state: Path) -> None:
    found = race_run(PROGRAM, PROCESSES, ADDRESSES, url=url, state=state, timeout_s=500)
    assert found["made"] == found["ports"]
    assert sorted(found["addresses"]) == sorted(f"10.0.0.{last}" for last in range(10, 10 + ADDRESSES))
    # A port that named its address has none of IPv6; each other one has one of its own.
    assert found["addresses_of_ipv6"] <= ADDRESSES
    assert found["ports_without"] == 0


@pytest.mark.postgres
def test_pool_is_given_whole_and_no_address_twice(postgres_url: str, tmp_path: Path) -> None:
    raced(postgres_url, tmp_path)


@pytest.mark.long
def test_pool_is_given_whole_on_sqlite_too(sqlite_file_url: str, tmp_path: Path) -> None:
    raced(sqlite_file_url, tmp_path)
