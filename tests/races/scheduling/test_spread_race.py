"""Schedulers that run at the same time spread instances as one alone would: each sees the others' claims in time.

Nova's schedulers rank by numbers that compute nodes report later: of a burst each sends up to 47 requests to one host.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
SCHEDULERS, REQUESTS, HOSTS = 2, 50, 50
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.long]


@pytest.fixture
def raced(postgres_url: str, tmp_path: Path) -> dict[str, Any]:
    """What the bursts led to."""
    program = HERE / "spread_race.py"
    result: dict[str, Any] = race_run(
        program, SCHEDULERS, REQUESTS, HOSTS, url=postgres_url, state=tmp_path, timeout_s=TIMEOUT_S
    )
    return result


def test_two_schedulers_spread_a_burst_over_equal_hosts_as_one_does(raced: dict[str, Any]) -> None:
    assert raced["one"] == {"said": {"placed": REQUESTS}, "hosts": HOSTS, "maximum": 1}
    assert raced["several"] == raced["one"]
