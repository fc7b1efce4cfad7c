"""Real processes activate versions at the same moment: one is active, and who named the old one is told the truth."""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
RACERS, TIMES = 4, 10
TIMEOUT_S = 500

pytestmark = pytest.mark.processes


@pytest.fixture
def raced(either_database_url: str, tmp_path: Path) -> dict[str, Any]:
    """What the racers tell."""
    program = HERE / "policy_race.py"
    result: dict[str, Any] = race_run(
        program, RACERS, TIMES, url=either_database_url, state=tmp_path, timeout_s=TIMEOUT_S
    )
    return result


def test_activations_at_once_leave_one_version_active(raced: dict[str, Any]) -> None:
    assert raced["blind"] == {"activated": RACERS * TIMES}
    assert raced["named"]["activated"] >= TIMES
    assert raced["named"]["activated"] + raced["named"].get("refused", 0) == RACERS * TIMES
    assert raced["named"]["active"] == RACERS * TIMES
    assert raced["states"]["active"] == 1
    assert raced["version"] != "defaults"
