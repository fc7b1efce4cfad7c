"""Doorbells and work rows between real processes, on PostgreSQL, SQLite and Redis."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.processes import ROOT, Processes

SECRET = "x" * 60
TAKERS = 6
WORKS = 40

TAKER = """
import sys, time, django
django.setup()
from controlplane.infra.doorbells import bell_open
from controlplane.infra.work import work_take, work_finish, untaken_work
won = []
bell = bell_open("race")
print("ready", flush=True)
quiet_since = time.monotonic()
while time.monotonic() - quiet_since < 1.5:
    refs = [ring.ref for ring in bell.wait(0.3)] + [str(pk) for _, pk in untaken_work(queue="race")]
    for ref in refs:
        taken = work_take(work_id=ref, owner=sys.argv[1])
        if taken:
            work_finish(lease=taken[1])
            won.append(ref)
            quiet_since = time.monotonic()
print(__import__("json").dumps(won), flush=True)
"""
RINGER = """
import uuid, django
django.setup()
from controlplane.infra.work import NewWork, work_create
for number in range(int(__import__("sys").argv[1])):
    work_create(NewWork("race", "probe", uuid.uuid4(), 600.0))
"""
LATENCY = """
import time, uuid, django
django.setup()
from controlplane.infra.doorbells import bell_open
bell = bell_open("latency")
bell.wait(0.05)
print("ready", flush=True)
rings = []
while not rings:
    rings = bell.wait(5)
print(time.time(), flush=True)
"""
RING_ONE = """
import time, django
django.setup()
from controlplane.infra.doorbells import doorbell_ring
print(time.time(), flush=True)
doorbell_ring(queue="latency", code="probe", ref="1")
"""


def environment(tmp_path: Path, database_url: str, redis_url: str = "") -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "SECRET_KEY": SECRET,
        "KILONOVA_STATE": str(tmp_path / "state"),
    }


def run(env: dict[str, str], *args: str) -> str:
    done = subprocess.run(
        [sys.executable, *args], env={**os.environ, **env}, cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


@pytest.fixture(params=["sqlite", "postgres", "postgres+redis"])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    name = request.param
    url = request.getfixturevalue("postgres_url" if name.startswith("postgres") else "sqlite_file_url")
    redis_url = request.getfixturevalue("redis_url") if name.endswith("redis") else ""
    found = environment(tmp_path, url, redis_url)
    run(found, "manage.py", "migrate", "-v0")
    return found


@pytest.mark.processes
def test_each_work_is_taken_by_exactly_one_of_many_processes(env: dict[str, str], processes: Processes) -> None:
    takers = [processes.python("-c", TAKER, f"taker-{number}", env=env) for number in range(TAKERS)]
    wait_for(lambda: all("ready" in processes.log(taker) for taker in takers))
    run(env, "-c", RINGER, str(WORKS))
    for taker in takers:
        assert taker.wait(60) == 0, processes.log(taker)
    won = [ref for taker in takers for ref in json.loads(processes.log(taker).splitlines()[-1])]
    assert len(won) == len(set(won)) == WORKS


@pytest.mark.processes
def test_a_ring_is_heard_in_another_process_within_a_second(env: dict[str, str], processes: Processes) -> None:
    listener = processes.python("-c", LATENCY, env=env)
    wait_for(lambda: "ready" in processes.log(listener))
    rung_at = float(run(env, "-c", RING_ONE).split()[-1])
    assert listener.wait(10) == 0
    assert float(processes.log(listener).split()[-1]) - rung_at < 1.0


def wait_for(condition: object, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
