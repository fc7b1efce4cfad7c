"""Volumes that real processes make, grow, copy, give away and remove at once: nothing over quota, nothing lost."""

from pathlib import Path

import pytest

from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.races import race_run

PROGRAM = Path(__file__).parent / "volume_race.py"
PROCESSES, VOLUMES = 4, 12

pytestmark = [pytest.mark.processes, pytest.mark.long]


def raced(url: str, state: Path) -> None:
    found = race_run(PROGRAM, PROCESSES, VOLUMES, url=url, state=state, timeout_s=3 * PATIENCE_S)
    assert found["helpers"] == [0, 0]
    assert {"create", "copy", "extend", "snapshot", "delete", "transfer"} <= set(found["done"])
    assert found["volumes"] <= VOLUMES
    assert found["gib"] == found["promised"] <= 4 * VOLUMES
    assert found["open_work"] == 0
    assert set(found["busy"]) <= {"awaiting-transfer", "error_extending", "error_deleting"}
    assert found["busy"].count("awaiting-transfer") == found["transfers"]
    assert found["findings"] == []


@pytest.mark.postgres
def test_nothing_is_promised_twice_or_left_behind(postgres_url: str, tmp_path: Path) -> None:
    raced(postgres_url, tmp_path)


def test_nothing_is_promised_twice_or_left_behind_on_sqlite(sqlite_file_url: str, tmp_path: Path) -> None:
    raced(sqlite_file_url, tmp_path)
