"""Creates of one project side by side, in real processes: together they never go over its quota."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.patience import PATIENCE_S

pytestmark = pytest.mark.processes
RACER = Path(__file__).parent / "quota_racer.py"
ROOT = RACER.parents[4]
CORES = 30


def raced(url: str, processes: int) -> tuple[int, int]:
    """How many build requests all made together, and how many vCPUs are in use afterwards."""
    env = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT), "SECRET_KEY": "x" * 50}
    env["DJANGO_SETTINGS_MODULE"] = "controlplane.settings.dev"
    command = [sys.executable, str(RACER), str(processes)]
    done = subprocess.run(
        command, env=env, cwd=ROOT, text=True, capture_output=True, timeout=3 * PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    made, used = done.stdout.split()
    return int(made), int(used)


@pytest.mark.long
def test_processes_on_sqlite_end_exactly_at_the_quota(sqlite_file_url):
    assert raced(sqlite_file_url, 3) == (CORES, CORES)


@pytest.mark.postgres
def test_processes_on_postgres_end_exactly_at_the_quota(postgres_url):
    assert raced(postgres_url, 6) == (CORES, CORES)
