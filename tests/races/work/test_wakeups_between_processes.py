"""Wakeups and work rows between real processes, on PostgreSQL, SQLite and Redis."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.work.wakeups.many_queues import SAFETY_POLL_S
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes

SECRET = "x" * 60
TAKERS = 6
WORKS = 40

TAKER = """
import json, multiprocessing, os, sys, time, django
django.setup()
from controlplane.work.wakeups import waiter_open
from controlplane.work.models import Work
from controlplane.work.work import work_take, work_finish, untaken_work
def take(name):
    won = []
    bell = waiter_open("race")
    written = Work.objects.filter(queue="race").count
    before = written()
    os.write(1, b"ready\\n")  # in one piece: print writes the end of a line apart, and others write between
    quiet_since = time.monotonic()
    # However long the other process takes to start, nobody goes home before it has rung.
    while time.monotonic() - quiet_since < (1.5 if written() > before else 30):
        refs = [ring.ref for ring in bell.wait(0.3)] + [str(pk) for _, pk in untaken_work(queue="race")]
        for ref in refs:
            taken = work_take(work_id=ref, owner=name)
            if taken:
                work_finish(lease=taken[1])
                won.append(ref)
                quiet_since = time.monotonic()
    os.write(1, f"{json.dumps(won)}\\n".encode())
fork = multiprocessing.get_context("fork")
takers = [fork.Process(target=take, args=(f"taker-{number}",)) for number in range(int(sys.argv[1]))]
for taker in takers:
    taker.start()
for taker in takers:
    taker.join()
sys.exit(any(taker.exitcode for taker in takers))
"""
RINGER = """
import uuid, django
django.setup()
from controlplane.work.work import NewWork, work_create
for number in range(int(__import__("sys").argv[1])):
    work_create(NewWork("race", "probe", uuid.uuid4(), 600.0))
"""
LATENCY = """
import time, uuid, django
django.setup()
from controlplane.work.wakeups import waiter_open
bell = waiter_open("latency")
bell.wait(0.05)
print("ready", flush=True)
rings = []
while not rings:
    rings = bell.wait(60)
print(time.time(), flush=True)
"""
SEND_ONE = """
import time, django
django.setup()
from controlplane.work.wakeups import wakeup_send
print(time.time(), flush=True)
wakeup_send(queue="latency", code="probe", ref="1")
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


@pytest.fixture(scope="module")
def urls(postgres_url: str, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A migrated database of each kind, for the whole module."""
    path = tmp_path_factory.mktemp("wakeups") / "kilonova.sqlite3"
    return {"sqlite": migrated.sqlite(path), "postgres": postgres_url}


@pytest.fixture(params=["sqlite", "postgres", "postgres+redis"])
def env(request: pytest.FixtureRequest, urls: dict[str, str], tmp_path: Path) -> dict[str, str]:
    database, _, queue = request.param.partition("+")
    return environment(tmp_path, urls[database], request.getfixturevalue("redis_url") if queue else "")


# Where takers run side by side, and nothing but the database wakes them; tests/services/work take on SQLite too.
@pytest.mark.processes
@pytest.mark.parametrize(
    "env",
    [
        pytest.param("sqlite", marks=pytest.mark.long),
        "postgres",
        pytest.param("postgres+redis", marks=pytest.mark.long),
    ],
    indirect=True,
)
def test_each_work_is_taken_by_exactly_one_of_many_processes(env: dict[str, str], processes: Processes) -> None:
    takers = processes.python("-c", TAKER, str(TAKERS), env=env)
    eventually(lambda: processes.log(takers).count("ready") == TAKERS)
    run(env, "-c", RINGER, str(WORKS))
    assert takers.wait(PATIENCE_S) == 0, processes.log(takers)
    reported = [json.loads(line) for line in processes.log(takers).splitlines() if line != "ready"]
    won = [ref for one in reported for ref in one]
    assert len(reported) == TAKERS
    assert len(won) == len(set(won)) == WORKS


@pytest.mark.processes
def test_a_wakeup_arrives_in_another_process(env: dict[str, str], processes: Processes) -> None:
    listener = processes.python("-c", LATENCY, env=env)
    eventually(lambda: "ready" in processes.log(listener))
    woken_at = float(run(env, "-c", SEND_ONE).split()[-1])
    assert listener.wait(PATIENCE_S) == 0
    took_s = float(processes.log(listener).split()[-1]) - woken_at
    print(f"heard after {took_s:.3f} s")
    assert took_s < SAFETY_POLL_S / 2, "by a look in vain, and not by the wake-up"
