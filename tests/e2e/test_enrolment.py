"""A hypervisor joins by one printed command, with nothing of the control plane but its address; and is locked out."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.installation import Installation
from tests.fixtures.processes import ROOT, Processes

pytestmark = pytest.mark.processes


@pytest.fixture
def cloud(processes: Processes, tmp_path: Path) -> Iterator[Installation]:
    """A control plane without hypervisors of its own but one, so that it is ready."""
    here = Installation(processes, tmp_path / "state", driver="fake", hypervisors=1).start()
    yield here
    here.stop()


def agent_environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG")
    return {name: os.environ[name] for name in kept if name in os.environ}


def test_printed_command_makes_a_hypervisor_and_revoking_ends_it(cloud: Installation, tmp_path: Path) -> None:
    printed = cloud.manage("agent_enrol", "--host", "cmp-7", "--url", f"http://127.0.0.1:{cloud.port}")
    assert printed.returncode == 0, printed.stderr
    python, *words = shlex.split(printed.stdout)
    assert (python, words[:2]) == ("python", ["-m", "computeagent"])
    state = tmp_path / "agent"
    config = tmp_path / "agent.conf"
    config.write_text(f"# of this hypervisor\nstate = {state}\nlibvirt-uri = fake:///cmp-7\nkeep-orphans = no\n")
    command = [sys.executable, *words, f"@{config}"]
    with subprocess.Popen(command, env=agent_environment(), cwd=ROOT, stderr=subprocess.PIPE, text=True) as agent:
        cloud.wait_for(lambda: any(one["host"] == "cmp-7" for one in cloud.call("hosts/")["results"]))
        made = cloud.create("there", availability_zone="nova:cmp-7")
        cloud.wait_for(lambda: cloud.call(f"instances/{made['id']}/")["status"] == "ACTIVE")
        assert (state / "secret").stat().st_mode & 0o777 == 0o600
        assert cloud.manage("agent_revoke", "--host", "cmp-7").returncode == 0
        agent.wait(timeout=60)
        assert agent.returncode == 1
    refused = subprocess.run(
        command, env=agent_environment(), cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert refused.returncode == 1
    assert "Enrol the host again" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_agent_without_a_token_says_what_to_do(cloud: Installation, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "computeagent", "--host", "cmp-8", "--state", str(tmp_path),
        "--control-plane", f"http://127.0.0.1:{cloud.port}", "--libvirt-uri", "fake:///cmp-8",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=agent_environment(), cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "manage.py agent_enrol --host cmp-8" in done.stderr


def test_agent_needs_no_django() -> None:
    code = "import sys, computeagent.__main__; print([name for name in sys.modules if name.split('.')[0] == 'django'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
