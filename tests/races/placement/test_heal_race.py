"""Counting anew beside running claims: it never takes a claim that is under way for drift."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
SECONDS = 4
TIMEOUT_S = 120

pytestmark = pytest.mark.processes


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def raced(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What one race on this database reports."""
    if request.param == "sqlite":
        return race(request.getfixturevalue("sqlite_file_url"), tmp_path, racers=3)
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    try:
        return race(url, tmp_path, racers=6)
    finally:
        server.drop_database(url)


def race(url: str, state: Path, *, racers: int) -> Any:
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "KILONOVA_STATE": str(state),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, str(HERE / "heal_race.py"), str(racers), str(SECONDS)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    sys.stdout.write(done.stdout)
    return json.loads(done.stdout)


def test_healing_beside_claims_mends_drift_and_leaves_claims_alone(raced: Any) -> None:
    assert raced["findings"] == []
    assert raced["counts"]["claimed"] > 0
    assert raced["counts"]["healed"] > 0
    assert raced["counts"]["healed without drift"] == 0
