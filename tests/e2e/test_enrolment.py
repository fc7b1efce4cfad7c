"""A hypervisor joins by one printed command, with the agent's wheel and nothing of the control plane but its address;
and is locked out.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.installation import Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture(scope="module")
def cloud(
    module_processes: Processes, tmp_path_factory: pytest.TempPathFactory, migrated: MigratedDatabases
) -> Iterator[Installation]:
    """A control plane without hypervisors of its own but one, so that it is ready."""
    state = tmp_path_factory.mktemp("cloud") / "state"
    here = Installation(module_processes, state, driver="fake", hypervisors=1, migrated=migrated).start()
    yield here
    here.stop()


def agent_environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG")
    return {name: os.environ[name] for name in kept if name in os.environ}


@pytest.fixture
def agent(agent_venv: Path) -> str:
    """The program that the wheel brings, in an environment without Django."""
    return str(agent_venv / "bin/kilonova-agent")


def run(command: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, env=agent_environment(), cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def test_printed_command_makes_a_hypervisor_and_revoking_ends_it(
    cloud: Installation, agent: str, tmp_path: Path
) -> None:
    printed = cloud.manage("agent_enrol", "--host", "cmp-7", "--url", f"http://127.0.0.1:{cloud.port}")
    assert printed.returncode == 0, printed.stderr
    program, *words = shlex.split(printed.stdout)
    assert program == "kilonova-agent"
    state = tmp_path / "agent"
    config = tmp_path / "agent.conf"
    config.write_text(f"# of this hypervisor\nstate = {state}\nlibvirt-uri = fake:///cmp-7\nkeep-orphans = no\n")
    enrolled = run([agent, *words, f"@{config}", "--enrol-only"], tmp_path)
    assert enrolled.returncode == 0, enrolled.stderr
    assert "host cmp-7 is enrolled" in enrolled.stderr
    assert (state / "secret").stat().st_mode & 0o777 == 0o600
    secret = (state / "secret").read_text()
    again = run([agent, *words, f"@{config}", "--enrol-only"], tmp_path)
    assert (again.returncode, (state / "secret").read_text()) == (0, secret), again.stderr
    used_up = run([agent, *words, f"@{config}", f"--state={tmp_path / 'other'}", "--enrol-only"], tmp_path)
    assert (used_up.returncode, "does not enrol host cmp-7" in used_up.stderr) == (1, True)
    # The same command goes on with the secret that the token was traded for.
    command = [agent, *words, f"@{config}"]
    with subprocess.Popen(command, env=agent_environment(), cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        cloud.wait_for(lambda: any(one["host"] == "cmp-7" for one in cloud.call("hosts/")["results"]))
        made = cloud.create("there", availability_zone="nova:cmp-7")
        cloud.wait_for(lambda: cloud.call(f"instances/{made['id']}/")["status"] == "ACTIVE")
        assert cloud.manage("agent_revoke", "--host", "cmp-7").returncode == 0
        _, said = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 1
    assert "the agent ends: This secret is no agent's" in said
    assert said.count("is refused by the control plane") <= 1
    assert "Traceback" not in said
    # Started again, it waits, and needs nobody at its console to go on.
    waiting = cloud.processes.start(command, cwd=tmp_path)
    cloud.wait_for(lambda: "Enrol the host again" in cloud.processes.log(waiting))
    token = cloud.call("hosts/enrolments/", {"host": "cmp-7"})["token"]
    anew = [*words[: words.index("--enrol-token")], "--enrol-token", token]
    assert run([agent, *anew, f"@{config}", "--enrol-only"], tmp_path).returncode == 0
    cloud.wait_for(lambda: "host cmp-7 is registered" in cloud.processes.log(waiting))
    assert cloud.processes.log(waiting).count("Enrol the host again") == 1
    assert "Traceback" not in cloud.processes.log(waiting)


def test_agent_without_a_token_says_what_to_do(cloud: Installation, agent: str, tmp_path: Path) -> None:
    command = [
        agent, "--host", "cmp-8", "--state", str(tmp_path),
        "--control-plane", f"http://127.0.0.1:{cloud.port}", "--libvirt-uri", "fake:///cmp-8",
    ]  # fmt: skip
    for words in ([], ["--enrol-only"]):
        done = run([*command, *words], tmp_path)
        assert done.returncode == 1
        assert "manage.py agent_enrol --host cmp-8" in done.stderr


def test_command_of_nova_s_name_asks_by_http_alone(cloud: Installation, tmp_path: Path) -> None:
    """The database of its settings is one that nobody could open."""
    token = cloud.call("hosts/enrolments/", {"host": "cmp-9"})["token"]
    command = (
        "compute_agent", "--host", "cmp-9", "--libvirt-uri", "fake:///cmp-9", "--state", str(tmp_path / "agent"),
        "--control-plane", f"http://127.0.0.1:{cloud.port}", "--enrol-token", token,
    )  # fmt: skip
    cloud.processes.manage(*command, env={**cloud.env, "DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3"})
    cloud.wait_for(lambda: any(one["host"] == "cmp-9" for one in cloud.call("hosts/")["results"]))
    made = cloud.create("there", availability_zone="nova:cmp-9")
    cloud.wait_for(lambda: cloud.call(f"instances/{made['id']}/")["status"] == "ACTIVE")
