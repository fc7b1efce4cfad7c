"""Real processes activate versions at the same moment: one is active, and who named the old one is told the truth."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
RACERS, TIMES = 4, 10
TIMEOUT_S = 240

pytestmark = pytest.mark.processes


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database of its own."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_file_url")
        return
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture
def raced(database_url: str, tmp_path: Path) -> dict[str, Any]:
    """What the racers tell."""
    env = {
        **os.environ,
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "KILONOVA_STATE": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, str(HERE / "policy_race.py"), str(RACERS), str(TIMES)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_activations_at_once_leave_one_version_active(raced: dict[str, Any]) -> None:
    assert raced["blind"] == {"activated": RACERS * TIMES}
    assert raced["named"]["activated"] >= TIMES
    assert raced["named"]["activated"] + raced["named"].get("refused", 0) == RACERS * TIMES
    assert raced["named"]["active"] == RACERS * TIMES
    assert raced["states"]["active"] == 1
    assert raced["version"] != "defaults"
