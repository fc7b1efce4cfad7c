"""Creates of one project side by side, in real processes: together they never go over its quota."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
RACER = Path(__file__).parent / "quota_racer.py"
ROOT = RACER.parents[4]
CORES = 30


def run(url: str, *args: str) -> subprocess.Popen[str]:
    env = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT), "SECRET_KEY": "x" * 50}
    env["DJANGO_SETTINGS_MODULE"] = "controlplane.settings.dev"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, str(RACER), *args], env=env, cwd=ROOT, text=True, **pipes)


def said(process: subprocess.Popen[str], line: str = "") -> str:
    out, errors = process.communicate(line, timeout=120)
    assert process.returncode == 0, errors
    return out.strip()


def raced(url: str, processes: int) -> tuple[int, int]:
    """How many build requests all made together, and how many vCPUs are in use afterwards."""
    project = said(run(url, "setup"))
    racers = [run(url, "race", project) for _ in range(processes)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    made = sum(int(said(racer)) for racer in racers)
    return made, int(said(run(url, "count", project)))


@pytest.mark.long
def test_processes_on_sqlite_end_exactly_at_the_quota(sqlite_file_url):
    assert raced(sqlite_file_url, 3) == (CORES, CORES)


@pytest.mark.postgres
def test_processes_on_postgres_end_exactly_at_the_quota(postgres_url):
    assert raced(postgres_url, 6) == (CORES, CORES)
