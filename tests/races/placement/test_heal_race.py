"""Counting anew beside running claims: it never takes a claim that is under way for drift."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
SECONDS = 4
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture
def raced(either_database_url: str, tmp_path: Path) -> Any:
    """What one race on this database reports."""
    racers = 3 if either_database_url.startswith("sqlite") else 6
    program = HERE / "heal_race.py"
    result = race_run(program, racers, SECONDS, url=either_database_url, state=tmp_path, timeout_s=TIMEOUT_S)
    sys.stdout.write(f"{result}\n")
    return result


def test_healing_beside_claims_mends_drift_and_leaves_claims_alone(raced: Any) -> None:
    assert raced["findings"] == []
    assert raced["counts"]["claimed"] > 0
    assert raced["counts"]["healed"] > 0
    assert raced["counts"]["healed without drift"] == 0
