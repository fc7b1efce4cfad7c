"""A stage: the real processes of one installation, with a load, a keeper that starts again what died, and a verdict.

    with Stage(Environment.SQLITE, Path("/tmp/s"), agents(qemu=1, test=2)) as stage:
        stage.arm("servers.instances.services.create.instances_create:after-commit", "kill")
        stage.load.burst(stage.rows()["instances"])
        seconds = stage.wait_quiet(60)
        assert stage.verdict() == []

Everything below `directory`, which must have a short name (sockets live there): `drill/` is KILONOVA_DRILL of all
processes (`seen`, `armed`, `fired`), `logs/NAME.log` their output, `agents/HOST` the agents' own state, `hv/` the
hypervisors, `ears/` the sockets on which agents and auditor answer.

The processes, by name in `Stage.processes`: `web` (as `manage.py up` runs it), `conductor-0` ..., `agent-HOST`, which
know the web server's address and a secret of their own and nothing else. Change `.command` (a whole command line),
`.arguments` or `.env_extra` before `.start()`/`.restart()` to run something else in its place. `AgentSpec.wraps` names
functions (`module:function`, Driver -> Driver) around the agent's driver.
"""

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from computeagent.drivers.libvirt.simulated_host import simulated_host_write
from computeagent.volumes.file.directory import pool_begin
from controlplane.kernel.kill_points import VARIABLE, file_name
from tests.drill.backup_files import backup_faults, backups_under_way, restored, restored_fault
from tests.drill.client import Client
from tests.drill.consoles import console_faults
from tests.drill.guests import HostGuests, guests_of, qemu_pid_of, qemu_pids, qemu_processes
from tests.drill.image_load import import_settings
from tests.drill.json_socket import ask
from tests.drill.load import Load
from tests.drill.names import own_pool
from tests.drill.process import Process
from tests.drill.process_manager import ROOT, ProcessManager, Side
from tests.drill.servers import Restartable, RestartablePostgres, RestartableRedis
from tests.drill.settings import SETTINGS
from tests.drill.simulated_devices import virtual_functions_add
from tests.drill.verdict import guest_faults, promise_faults, secret_faults, under_way
from tests.drill.volume_files import upload_leftovers, volume_faults, volume_files, volumes_under_way
from tests.fixtures.file_server import file_server
from tests.fixtures.ovn_databases import TlsDatabase
from tests.fixtures.servers import free_port

TEND_EVERY_S = 0.05
POLL_EVERY_S = 0.15
LOOK_EVERY_S = 6.0
START_LIMIT_S = 180.0
HOST_MEMORY_MIB = 2048
HOST_VCPUS = 16
HOST_DISK_GIB = 100

NOTHING_OF_THE_CONTROL_PLANE = dict.fromkeys(
    (*SETTINGS, "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS", "KILONOVA_STATE"), ""
)
"""An agent's environment: whatever the harness itself was started with."""


class Environment(StrEnum):
    """What carries rows and wake-ups."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"
    REDIS = "redis"
    """PostgreSQL for the rows, Redis for the wake-ups."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One hypervisor: `kind` is qemu (real guests, `qemu:///embed`) or test (libvirt's simulated host)."""

    host: str
    kind: str
    wraps: tuple[str, ...] = ()


def agents(*, qemu: int, test: int, wraps: tuple[str, ...] = ()) -> list[AgentSpec]:
    """So many of each, named q1.. and t1.."""
    return [
        *(AgentSpec(f"q{number}", "qemu", wraps) for number in range(1, qemu + 1)),
        *(AgentSpec(f"t{number}", "test", wraps) for number in range(1, test + 1)),
    ]


class Stage:
    """See the module. Use from one thread; a thread of its own keeps the processes running."""

    def __init__(
        self,
        env: Environment,
        directory: Path,
        agents: Sequence[AgentSpec],
        *,
        conductors: int = 1,
        settings: dict[str, str] | None = None,
        seed: int = 1,
        has_ovn: bool = False,
    ) -> None:
        self.env, self.directory, self.agents = env, directory, list(agents)
        self.processes: dict[str, Process] = {}
        self.drill, self.volumes = directory / "drill", directory / "volumes"
        self.client = Client(free_port())
        self._stack = ExitStack()
        files = self._stack.enter_context(file_server())
        self.load = Load(self.client, [each.host for each in agents], random.Random(seed), files, has_ovn=has_ovn)
        self.database: RestartablePostgres | None = None
        self.redis: RestartableRedis | None = None
        self.ovn = TlsDatabase() if has_ovn else None
        """OVN's northbound database, reached by TLS. There is no switch behind it: simulated hosts have none."""
        self.revived: list[str] = []
        """Names of processes that the keeper started again, in order."""
        self.compared: set[str] = set()
        """Volumes that were made of backups and have their bytes."""
        self.load.backups.pools = self._pools()
        self.load.crash = self._crash
        self.reported: set[str] = set()
        """Uuids in violations that were told already: lines that name one of them are left out from then on."""
        self._conductors = conductors
        own = {"KILONOVA_STATE": str(directory), VARIABLE: str(self.drill), **import_settings(files)}
        self._settings = {**SETTINGS, **own, **self._ovn_settings(), **(settings or {})}
        self._ended = threading.Event()
        self._restarter: threading.Thread | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # Start and stop.

    def prepare(self) -> None:
        """Servers, schema, and the processes made but not started: the moment to change one."""
        for name in ("drill/armed", "drill/seen", "drill/fired", "logs", "ears", "hv", "volumes"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        pool_begin(self.volumes)
        self._start_servers()
        manager = self._manager(Side.CONTROL_PLANE)
        seed = self._process(
            manager, "seed", "tests.drill.seed:main", [str(self._state_of(one)) for one in self.agents]
        )
        seed.start()
        _wait(lambda: not seed.is_alive, START_LIMIT_S, "the seed", self)
        for path in (self.drill / "seen").iterdir():
            path.unlink()  # nobody is killed while an installation is being made
        self._add(manager, "web", "tests.drill.programs:web", [str(self.client.port)])
        for number in range(self._conductors):
            arguments = ["conductor", "--workers", "1"]
            self._add(manager, f"conductor-{number}", "tests.drill.programs:manage", arguments)
        hypervisors = self._manager(Side.HYPERVISOR)
        for each in self.agents:
            self._add(hypervisors, f"agent-{each.host}", "tests.drill.agent:main", self._agent(each))
        self._auditor = self._process(
            manager, "auditor", "tests.drill.auditor:main", [str(self._control_socket("auditor"))]
        )
        self._auditor.start()

    def start(self) -> None:
        """Prepare unless that was done, start all that is not running, and wait until instances can be created."""
        if not self.processes:
            self.prepare()
        for process in self.processes.values():
            process.start()
        self._restarter = threading.Thread(target=self._restart_dead, name="restarter", daemon=True)
        self._restarter.start()
        _wait(self._is_ready, START_LIMIT_S, "all processes to be ready", self)
        self.client.log_in()

    def stop(self) -> None:
        """Kill everything that belongs to the stage, guests included. Twice is fine."""
        self._ended.set()
        if self._restarter is not None:
            self._restarter.join()
        for process in self.processes.values():
            process.kill_for_good()
        for pid in qemu_pids(self.directory):
            os.kill(pid, 9)
        self._stack.close()

    # Faults.

    def arm(self, point: str, action: str) -> None:
        """Have the first process that passes `point` do `action` there: kill, hang SECONDS, refuse TEXT, enospc."""
        (self.drill / "fired" / file_name(point)).unlink(missing_ok=True)  # of an earlier time, not asked for
        fresh = self.drill / "armed" / ".fresh"
        fresh.write_text(action)
        fresh.rename(self.drill / "armed" / file_name(point))

    def disarm(self, point: str) -> None:
        """Take back what nobody came by for."""
        (self.drill / "armed" / file_name(point)).unlink(missing_ok=True)

    def fired(self, point: str) -> str | None:
        """Name of the process that did what was armed at the point; None while none has. Asked once: forgets it."""
        path = self.drill / "fired" / file_name(point)
        try:
            session = int(path.read_text().split()[1])
        except FileNotFoundError:
            return None
        path.unlink()
        owners = (name for name, process in self.processes.items() if session in process.pids)
        return next(owners, "unknown")

    def points(self) -> list[str]:
        """Every point that some process has passed so far."""
        return sorted(path.name for path in (self.drill / "seen").iterdir())

    @contextmanager
    def restarts_paused(self) -> Iterator[None]:
        """Nothing is started again inside."""
        wanted = [process for process in self.processes.values() if process.wanted]
        for process in wanted:
            process.wanted = False
        try:
            yield
        finally:
            for process in wanted:
                process.wanted = True

    @property
    def restartables(self) -> dict[str, Restartable]:
        """The servers of this environment, by name."""
        return {one.name: one for one in (self.database, self.redis) if one is not None}

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes, for a command on the same database; without the drill's own switch."""
        return {**os.environ, **{name: value for name, value in self._settings.items() if name != VARIABLE}}

    def periodic_tasks_due(self) -> None:
        """Have the reconciler run every clean-up in its next round."""
        self._ask_auditor("periodic_tasks_due")

    def _crash(self, host: str, guest_uuid: str) -> None:
        """The guest crashes, if it runs still and its agent, which has the simulated ones, does."""
        if any(one.host == host and one.kind == "qemu" for one in self.agents):
            if (pid := qemu_pid_of(self.directory, guest_uuid)) is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            return
        with suppress(OSError, RuntimeError):
            ask(self._control_socket(host), {"ask": "crash", "uuid": guest_uuid})

    # Facts.

    def rows(self) -> dict[str, Any]:
        """Instances, open work, build requests and faults, of the database."""
        return dict(self._ask_auditor("state"))

    def findings(self) -> list[dict[str, Any]]:
        """What the audit of the five invariants finds now."""
        return list(self._ask_auditor("findings"))

    def ovn_differences(self) -> list[str]:
        """Where OVN is not as rows say."""
        return [f"OVN: {line}" for line in self._ask_auditor("ovn")]

    def guests(self) -> list[HostGuests]:
        """What the hypervisors have now."""
        qemu, hypervisors = list(qemu_processes(self.directory)), self.directory / "hv"
        return [
            guests_of(each.host, self._control_socket(each.host), self._state_of(each), hypervisors / each.host, qemu)
            for each in self.agents
        ]

    def faults_now(self) -> list[str]:
        """What is not in order at this moment: under way, or wrong."""
        rows = self.rows()
        return _under_way(rows) or [*self._faults_of(rows), *self._audit_lines()]

    def busy(self) -> bool:
        """Whether anything is under way, or cannot be looked at."""
        try:
            return bool(self._not_reported(_under_way(self.rows())))
        except (OSError, RuntimeError):
            return True

    def wait_quiet(self, within_s: float = 60.0) -> float:
        """Seconds until nothing is under way and all is in order; `within_s` or more when that does not happen."""
        began = time.monotonic()
        self.settle(within_s)
        return time.monotonic() - began

    def settle(self, within_s: float) -> list[str]:
        """The same; what was found wrong on the way, with nothing under way, and was put right after that."""
        until, looks_at = time.monotonic() + within_s, time.monotonic() + LOOK_EVERY_S
        seen: dict[str, None] = {}
        while time.monotonic() < until:
            if not self.busy():
                faults = self._faults_once()
                if not faults:
                    return list(seen)
                seen.update(dict.fromkeys(faults))
            if time.monotonic() > looks_at:
                self._look_soon()
                looks_at = time.monotonic() + LOOK_EVERY_S
            time.sleep(POLL_EVERY_S)
        return list(seen)

    def verdict(self) -> list[str]:
        """Every violation there is, seen twice: the five invariants, guests that are not instances, broken promises
        and what never ended. Empty: nothing was lost."""
        errors = [*self.load.take_unexpected(), *self.load.consoles.usable()]
        first = self._faults_once()
        if first:
            time.sleep(0.5)
        second = set(self._faults_once()) if first else set()
        return [*errors, *(line for line in first if line in second)]

    def describe(self) -> str:
        """The ends of all logs, for a person."""
        logs = sorted((self.directory / "logs").glob("*.log"))
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in logs)

    # Inside.

    def _faults_once(self) -> list[str]:
        try:
            return self._not_reported(self.faults_now())
        except (OSError, RuntimeError) as error:
            return [f"the auditor cannot look: {error}"]

    def _look_soon(self) -> None:
        """Drift is looked for every half a minute, and mended when it is seen twice: here nobody waits as long."""
        with suppress(OSError, RuntimeError):
            self.periodic_tasks_due()

    def _not_reported(self, lines: list[str]) -> list[str]:
        return [line for line in lines if not any(uid in line for uid in self.reported)]

    def _faults_of(self, rows: dict[str, Any]) -> list[str]:
        promises, backups, guests = self.load.promises, self.load.backups, self.guests()
        return [
            *guest_faults(rows, guests),
            *volume_faults(rows, [volume_files(each) for each in self._pools()]),
            *upload_leftovers([self._state_of(each) for each in self.agents]),
            *backup_faults(rows, self.directory / "images", frozenset(backups.known), frozenset(backups.promised)),
            *self._restored_faults(rows),
            *console_faults(rows, guests),
            *(self.ovn_differences() if self.ovn is not None else ()),
            *secret_faults(rows),
            *promise_faults(rows, promises.created - promises.unsure, promises.deleted),
        ]

    def _restored_faults(self, rows: dict[str, Any]) -> Iterator[str]:
        """Each volume that was made of a backup is compared with it once."""
        for uid, names in restored(rows):
            found = [path for pool in self._pools() if (path := pool / "volumes" / uid).exists()]
            if uid not in self.compared and found:
                if fault := restored_fault(found[0], [self.directory / "images" / name for name in names]):
                    yield fault
                else:
                    self.compared.add(uid)

    def _pools(self) -> list[Path]:
        return [self.volumes, *(own_pool(self._state_of(each)) for each in self.agents)]

    def _audit_lines(self) -> list[str]:
        return [f"invariant {one['invariant']}: {one['subject']} {one['message']}" for one in self.findings()]

    def _ask_auditor(self, question: str) -> Any:
        return ask(self._control_socket("auditor"), {"ask": question})

    def _control_socket(self, name: str) -> Path:
        return self.directory / "ears" / name

    def _is_ready(self) -> bool:
        try:
            answer = ask(self._control_socket("auditor"), {"ask": "hosts"})
        except (OSError, RuntimeError):
            return False  # the auditor is not there yet
        return set(answer) >= {each.host for each in self.agents} and self.client.is_ready()

    def _restart_dead(self) -> None:
        while not self._ended.wait(TEND_EVERY_S):
            for name, process in self.processes.items():
                if process.tend():
                    self.revived.append(name)

    def _ovn_settings(self) -> dict[str, str]:
        if self.ovn is None:
            return {}
        self._stack.callback(self.ovn.close)
        gateways = [each.host for each in self.agents if each.kind == "test"]
        return {**self.ovn.settings, "OVN_GATEWAY_CHASSIS": ",".join(gateways[:2])}

    def _start_servers(self) -> None:
        if self.env is Environment.SQLITE:
            self._settings["DATABASE_URL"] = f"sqlite:///{self.directory / 'kilonova.sqlite3'}"
            return
        self.database = self._stack.enter_context(RestartablePostgres())
        self._settings["DATABASE_URL"] = self.database.create_database()
        if self.env is Environment.REDIS:
            self.redis = self._stack.enter_context(RestartableRedis())
            self._settings["REDIS_URL"] = self.redis.url()

    def _manager(self, side: Side) -> ProcessManager:
        env = self._settings
        if side is Side.HYPERVISOR:
            env = {**NOTHING_OF_THE_CONTROL_PLANE, VARIABLE: str(self.drill)}
        manager = ProcessManager(env, self.directory / "logs" / f"{side}.log", side)
        self._stack.callback(manager.close)
        return manager

    def _process(self, manager: ProcessManager, name: str, program: str, arguments: list[str]) -> Process:
        return Process(name, program, arguments, manager, self.directory / "logs" / f"{name}.log")

    def _state_of(self, each: AgentSpec) -> Path:
        return self.directory / "agents" / each.host

    def _add(self, manager: ProcessManager, name: str, program: str, arguments: list[str]) -> None:
        self.processes[name] = self._process(manager, name, program, arguments)

    def _agent(self, each: AgentSpec) -> list[str]:
        hypervisors = self.directory / "hv"
        uri = f"qemu:///embed?root={hypervisors / each.host}"
        if each.kind == "test":
            file = hypervisors / f"{each.host}.xml"
            uri = simulated_host_write(file, vcpus=HOST_VCPUS, memory_mib=HOST_MEMORY_MIB, disk_gib=HOST_DISK_GIB)
            virtual_functions_add(file)
        return [
            "--host", each.host, "--control-plane", f"http://127.0.0.1:{self.client.port}",
            "--libvirt-uri", uri, "--state", str(self._state_of(each)),
            "--volumes", str(self.volumes),
            "--image-cache", str(self.directory / "cache"), "--control", str(self._control_socket(each.host)),
            "--vcpus", str(HOST_VCPUS), "--memory-mib", str(HOST_MEMORY_MIB), "--disk-gib", str(HOST_DISK_GIB),
            *(word for wrap in each.wraps for word in ("--wrap", wrap)),
        ]  # fmt: skip


def _under_way(rows: dict[str, Any]) -> list[str]:
    return [*under_way(rows), *volumes_under_way(rows), *backups_under_way(rows)]


def _wait(condition: Any, limit_s: float, what: str, stage: Stage) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"waited {limit_s:g} s in vain for {what}\n{stage.describe()}")
        time.sleep(0.1)


__all__ = ["ROOT", "SETTINGS", "AgentSpec", "Environment", "Stage", "agents"]
