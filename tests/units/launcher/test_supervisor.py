"""The supervisor with small children: they are kept running, and none outlives it."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from controlplane.launcher.supervisor import ChildDied, ChildSpec, Supervisor
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes

pytestmark = pytest.mark.processes

NEVER_S = 1e6
SLEEPER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def _spec(tmp_path: Path, code: str, name: str = "child", **env: str) -> ChildSpec:
    return ChildSpec(name=name, command=(sys.executable, "-c", code), log=tmp_path / f"{name}.log", env=env)


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _tick_until(supervisor: Supervisor, condition: object) -> None:
    def check() -> object:
        supervisor.tick()
        return condition()  # type: ignore[operator]

    eventually(check, "the supervisor got there")


def test_killed_child_is_started_again_and_reported(tmp_path: Path) -> None:
    deaths: list[ChildDied] = []
    supervisor = Supervisor([_spec(tmp_path, SLEEPER)], on_death=deaths.append)
    supervisor.start()
    first = supervisor.children[0].process
    assert first is not None
    first.kill()
    _tick_until(supervisor, lambda: supervisor.children[0].process not in {None, first})
    assert [(death.name, death.status) for death in deaths] == [("child", -signal.SIGKILL)]
    supervisor.stop(limit_s=PATIENCE_S)


def test_child_that_keeps_dying_waits_longer_each_time(tmp_path: Path) -> None:
    deaths: list[ChildDied] = []
    supervisor = Supervisor([_spec(tmp_path, "raise SystemExit(3)")], on_death=deaths.append)
    supervisor.start()
    _tick_until(supervisor, lambda: len(deaths) == 3)
    assert [death.restart_in_s for death in deaths] == [0.5, 1.0, 2.0]
    assert {death.status for death in deaths} == {3}
    supervisor.stop(limit_s=PATIENCE_S)


def test_output_and_environment_reach_the_child_and_its_log(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "import os; print('got', os.environ['COLOUR'])", COLOUR="green")
    supervisor = Supervisor([spec], on_death=lambda death: None)
    supervisor.start()
    eventually(lambda: "got green" in spec.log.read_text(), "the child's line in its log")
    supervisor.stop(limit_s=PATIENCE_S)


def test_stop_ends_willing_children_at_once(tmp_path: Path) -> None:
    specs = [_spec(tmp_path, SLEEPER, f"child-{number}") for number in range(3)]
    supervisor = Supervisor(specs, on_death=lambda death: None)
    supervisor.start()
    pids = [child.process.pid for child in supervisor.children if child.process]
    assert supervisor.stop(limit_s=PATIENCE_S) == []
    assert all(_gone(pid) for pid in pids)


def test_stop_kills_a_child_that_ignores_sigterm(tmp_path: Path) -> None:
    spec = _spec(tmp_path, DEAF, "deaf")
    supervisor = Supervisor([spec], on_death=lambda death: None)
    supervisor.start()
    eventually(lambda: "deaf" in spec.log.read_text(), "the child ignores SIGTERM")
    assert supervisor.stop(limit_s=0.5) == ["deaf"]


def test_second_request_kills_without_waiting(tmp_path: Path) -> None:
    spec = _spec(tmp_path, DEAF, "deaf")
    supervisor = Supervisor([spec], on_death=lambda death: None)
    supervisor.start()
    eventually(lambda: "deaf" in spec.log.read_text(), "the child ignores SIGTERM")
    assert supervisor.stop(limit_s=NEVER_S, hurry=lambda: True) == ["deaf"]


def test_what_a_dead_child_forked_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "grandchild"
    code = (
        "import os, subprocess; child = subprocess.Popen(['sleep', '600']); "
        f"open({str(pid_file)!r}, 'w').write(str(child.pid)); os._exit(1)"
    )
    supervisor = Supervisor([_spec(tmp_path, code)], on_death=lambda death: None)
    supervisor.start()
    _tick_until(supervisor, lambda: pid_file.exists() and pid_file.read_text() and _gone(int(pid_file.read_text())))
    supervisor.stop(limit_s=PATIENCE_S)


def test_children_die_with_a_killed_supervisor(processes: Processes, tmp_path: Path) -> None:
    code = (
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from controlplane.launcher.supervisor import ChildSpec, Supervisor\n"
        f"spec = ChildSpec('child', ('sleep', '600'), Path({str(tmp_path / 'child.log')!r}))\n"
        "supervisor = Supervisor([spec], on_death=print)\n"
        "supervisor.start()\n"
        "print(supervisor.children[0].process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = processes.python("-c", code)
    eventually(lambda: processes.log(parent).strip().isdigit(), "the child's number")
    child = int(processes.log(parent))
    time.sleep(0.3)
    os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: _gone(child), "the child died with its supervisor")
