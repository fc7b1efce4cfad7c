"""The drill, cut to what `make test-long` has time for: the points where most would be lost, on each kind of server.

`make drill` is the whole of it; `docs/drill.md` says what it shows.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.long]

# One of each: API, conductor, agent, volumes, delete, power, consoles, backups. What does not depend on the carrier of
# wake-ups is struck on one of both.
POINTS = {
    "postgres": (
        "services.create._created:after-commit",
        "._dispatch:before-commit",
        "computeagent.driver.spawn:after",
        "work_ends.volume_work_done:before-commit",
        "computeagent.volumes.backup:read",
        "computeagent.volumes.retype:written",
        "computeagent.build_volumes:emptied",
        "launcher.consoles:joined",
    ),
    "redis": (
        "._dispatch:before-commit",
        "computeagent.networks.plug:after",
        "computeagent.volumes.volume_create:after",
        "stores.directory:published",
        "computeagent.volumes.upload:packed",
        "computeagent.volumes.backup:compared",
        "delete_done:before-commit",
        "action_done:after-commit",
    ),
}
QUIET_S = "300"
"""For a busy machine."""
POINTS_OF_REAL_GUESTS = (
    "computeagent.agent.console:dialled",
    "drivers.image_cache:renamed",
    "libvirt.driver:started",
    "build_done:before-commit",
    "libvirt.driver:forgotten",
)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short name: sockets have little room for theirs."""
    path = Path(tempfile.mkdtemp(prefix="kd-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def drill(directory: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, report as JSON, and all that was said."""
    report = directory / "report.txt"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.drill",
            "--directory",
            str(directory / "d"),
            "--report",
            str(report),
            "--quiet",
            QUIET_S,
            *options,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    found = json.loads(report.with_suffix(".json").read_text()) if report.exists() else {}
    return done.returncode, found, done.stdout + done.stderr


@pytest.mark.parametrize("environment", list(POINTS))
def test_kills_at_the_points_that_matter_lose_nothing(environment: str, directory: Path) -> None:
    points = POINTS[environment]
    code, report, printed = drill(
        directory, "--kills", str(len(points)), "--environments", environment, "--real", "0", "--simulated", "2",
        "--points", ",".join(points),
    )  # fmt: skip
    assert (code, report["violations"], report["kills"]) == (0, 0, len(points)), printed
    injected = {injection["point"] for injection in report["environments"][0]["injections"] if injection["process"]}
    assert len(injected) == len(points), printed


@pytest.mark.qemu
def test_real_guests_survive_kills_while_they_are_started(directory: Path) -> None:
    code, report, printed = drill(
        directory, "--kills", "5", "--environments", "sqlite", "--real", "1", "--simulated", "1",
        "--points", ",".join(POINTS_OF_REAL_GUESTS),
    )  # fmt: skip
    assert (code, report["violations"], report["kills"]) == (0, 0, 5), printed
    killed = [injection["process"] for injection in report["environments"][0]["injections"]]
    assert "agent-q1" in killed, f"only a host with real guests fetches images\n{printed}"


@pytest.mark.parametrize("program", ["tests.drill", "tests.drill.faults"])
def test_server_that_is_missing_is_told_before_anything_begins(program: str, tmp_path: Path) -> None:
    """With a PATH on which there is no Redis; PostgreSQL is found without a PATH where Debian has it."""
    environment = {**os.environ, "PATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-m", program], env=environment, cwd=ROOT, capture_output=True, timeout=180, check=False
    )
    assert ended.returncode == 2
    assert "is not installed" in ended.stderr.decode()
    assert not ended.stdout
