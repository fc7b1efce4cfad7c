"""kill -9 of conductor, agents and web server while ten instances are built; then everything is in order."""

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

VICTIMS = [("manage.py", "conductor"), ("compute_agent",), ("gunicorn",)]
Start = Callable[..., Installation]


@pytest.fixture
def start(processes: Processes, tmp_path: Path) -> Start:
    def started(driver: str, *, qemu_answers: Path | None = None, **env: str) -> Installation:
        return Installation(processes, tmp_path / "s", driver=driver, env=env, qemu_answers=qemu_answers).start()

    return started


def in_order(cloud: Installation) -> None:
    """All ten are ACTIVE or ERROR with a fault, and the audit finds nothing."""
    cloud.settle()
    instances = cloud.instances()
    assert len(instances) == 10
    for one in instances:
        assert one["status"] == "ACTIVE" or one["fault"], one
    audit = cloud.manage("audit")
    assert audit.returncode == 0, audit.stdout


@pytest.mark.processes
@pytest.mark.parametrize(("driver", "database"), [("fake", "sqlite"), ("test", "postgres"), ("test", "postgres+redis")])
def test_every_process_killed_during_ten_builds_loses_nothing(
    driver: str, database: str, start: Start, request: pytest.FixtureRequest
) -> None:
    env = {}
    if database.startswith("postgres"):
        env["DATABASE_URL"] = request.getfixturevalue("postgres_server").create_database()
    if database.endswith("redis"):
        env["REDIS_URL"] = request.getfixturevalue("redis_url")
    cloud = start(driver, **env)
    made = cloud.create("vm", min_count=10)
    for victim in VICTIMS:
        cloud.kill_nine(*victim)
        time.sleep(0.5)
    assert len(made["instances"]) == 10
    in_order(cloud)
    assert cloud.statuses() == ["ACTIVE"] * 10
    assert cloud.stop() == 0


@pytest.mark.processes
def test_kills_in_a_row_while_requests_come_in_lose_nothing(start: Start) -> None:
    cloud = start("fake")
    victims = itertools.cycle(VICTIMS)
    for number in range(10):
        cloud.create(f"vm{number}")
        if number % 3 == 1:
            cloud.kill_nine(*next(victims))
        time.sleep(0.2)
    in_order(cloud)


@pytest.mark.qemu
@pytest.mark.processes
def test_real_guests_survive_the_death_of_every_process(start: Start, qemu_answers: Path) -> None:
    cloud = start("qemu", qemu_answers=qemu_answers)
    cloud.create("vm", min_count=10)
    for victim in VICTIMS:
        time.sleep(0.7)
        cloud.kill_nine(*victim)
    in_order(cloud)
    assert cloud.statuses() == ["ACTIVE"] * 10
    # An agent that was killed may still be starting again what its half-started hypervisor took down with it.
    cloud.wait_for(lambda: _names_of_guests(cloud) == _names_of_instances(cloud), 90)
    for one in cloud.instances():
        cloud.call(f"instances/{one['id']}/", method="DELETE")
    cloud.wait_for(lambda: not cloud.instances(), 60)
    cloud.wait_for(lambda: not cloud.pids("qemu-system"), 10)
    assert cloud.manage("audit").returncode == 0
    assert cloud.stop() == 0


def _names_of_guests(cloud: Installation) -> list[str]:
    """Ids of instances, as QEMU's command lines have them, one for each process."""
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in cloud.pids("qemu-system")]
    return sorted(one["id"] for one in cloud.instances() for line in lines if f"uuid\0{one['id']}" in line)


def _names_of_instances(cloud: Installation) -> list[str]:
    return sorted(one["id"] for one in cloud.instances())
