"""A host that is removed while conductors choose it: no instance lands on a host that is gone, none is lost."""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
CONDUCTORS, ROUNDS, INSTANCES = 2, 8, 4
TIMEOUT_S = 500

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.long]


@pytest.fixture
def raced(postgres_url: str, tmp_path: Path) -> dict[str, Any]:
    """What the rounds led to."""
    program = HERE / "host_removal_race.py"
    result: dict[str, Any] = race_run(
        program, CONDUCTORS, ROUNDS, INSTANCES, url=postgres_url, state=tmp_path, timeout_s=TIMEOUT_S
    )
    return result


def test_no_instance_lands_on_a_host_that_is_removed_at_that_moment(raced: dict[str, Any]) -> None:
    assert raced["landed_on_nothing"] == []
    assert raced["violations"] == []
    assert raced["pending"] == 0
    # Whoever was not left behind by force is on a host that is there, being built.
    assert raced["states"] == {"building": CONDUCTORS * ROUNDS * INSTANCES - raced["left"]}
    assert raced["removed"], raced["said"]
