"""A process with everything imported and nothing opened, that forks the processes of a drill.

Starting Python with all of Django costs seconds of CPU, and a drill starts hundreds of processes. Those forked here
are processes like any other: a session and process group of their own, killed with the process manager.

    python -m tests.drill.process_manager control-plane     reads births as JSON lines, answers each with the pid
    python -m tests.drill.process_manager hypervisor        the same for agents: nothing of Django is imported

In the harness: `ProcessManager(env, log, side)`, `.spawn(program, arguments, log) -> pid`, `.close()`.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from controlplane.launcher.die_with_parent import die_with_parent
from tests.drill.entry import run

ROOT = Path(__file__).resolve().parent.parent.parent


class Side(StrEnum):
    """Whose processes are forked."""

    CONTROL_PLANE = "control-plane"
    HYPERVISOR = "hypervisor"


KNOWN = {
    Side.CONTROL_PLANE: (
        "controlplane.urls",
        "controlplane.launcher.children",
        "controlplane.launcher.web.processes",
        "controlplane.work.cluster",
        "controlplane.work.management.commands.conductor",
        "django.core.management.commands.migrate",
        "tests.drill.auditor",
        "tests.drill.programs",
        "tests.drill.seed",
    ),
    Side.HYPERVISOR: (
        "computeagent.drivers.libvirt.driver",
        "tests.drill.agent",
    ),
}


class ProcessManager:
    """The harness's side. `env` is laid over its own environment; the process manager dies with the harness."""

    def __init__(self, env: Mapping[str, str], log: Path, side: Side) -> None:
        self.env = dict(env)
        self._log = log.open("ab")
        self._process: subprocess.Popen[str] = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "tests.drill.process_manager", side],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **env},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._answer()

    def spawn(self, program: str, arguments: Sequence[str], log: Path) -> int:
        """Fork a process that runs `program` (`module:function`), with its output at the end of `log`; its pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([program, list(arguments), str(log)]) + "\n")
        self._process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        """End it, and with it whatever of its children still runs."""
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process manager died; see {self._log.name}")
        return line


def main(side: Side) -> None:
    """Import all, then fork on demand until the harness closes the pipe."""
    if side is Side.CONTROL_PLANE:
        django: Any = import_module("django")
        django.setup()
    for name in KNOWN[side]:
        import_module(name)
    assert side is Side.CONTROL_PLANE or "django" not in sys.modules, "an agent needs nothing of Django"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the children
    print("ready", flush=True)
    for line in sys.stdin:
        program, arguments, log = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _live(program, arguments, log)
        print(pid, flush=True)


def _live(program: str, arguments: list[str], log: str) -> NoReturn:
    die_with_parent()
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, output), (2, output)):
        os.dup2(source, target)
    os.closerange(3, 256)
    sys.stdin = open(0)  # noqa: SIM115 - the old one is the process manager's pipe
    code = 1
    try:
        code = run(program, arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - it is this process that ends
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(Side(sys.argv[1]))
