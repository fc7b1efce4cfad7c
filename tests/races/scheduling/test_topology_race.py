"""Real processes want the last pinned CPUs and the last devices at once: as many get them as there are."""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
RACERS, TIMES, FIT = 6, 3, 3
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.long]


@pytest.fixture
def raced(postgres_url: str, tmp_path: Path) -> dict[str, Any]:
    """What the racers tell. On PostgreSQL: SQLite has one writer at a time anyway."""
    program = HERE / "topology_race.py"
    result: dict[str, Any] = race_run(program, RACERS, TIMES, url=postgres_url, state=tmp_path, timeout_s=TIMEOUT_S)
    return result


def test_racers_at_once_get_exactly_what_fits(raced: dict[str, Any]) -> None:
    for kind, devices in (("cpus", 0), ("devices", FIT)):
        reported = raced[kind]
        assert reported["granted"] == reported["claims"] == reported["allocations"] == FIT * TIMES
        assert reported.get("devices", 0) == devices * TIMES
        assert reported.get("findings", 0) == reported.get("left", 0) == 0
        assert reported["refused: no_valid_host"] == (RACERS - FIT) * TIMES
