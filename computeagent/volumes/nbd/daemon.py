"""A storage daemon of a pool: started, found again, given files to serve. It outlives the agent.

A process is the one of the pid file only if its command line names our socket, so that no other is ever ended.
"""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from computeagent.protocol.volumes import DiskSource, PoolKind
from computeagent.volumes.base import VolumeBackendError, VolumeProgress
from computeagent.volumes.file.directory import DIRECTORY_MODE
from computeagent.volumes.nbd.monitor import CommandRefused, Monitor, monitor
from controlplane.kernel.kill_points import reach

PROGRAM = "qemu-storage-daemon"
START_S = 20.0
END_S = 10.0
POLL_S = 0.1
JOB_POLL_S = 0.3
SOCKET_PATH_MAX_BYTES = 107
IDENTITY_PREFIX = "kilonova-pool."
COPY = "copy."
TLS = "tls"
CONNECTED, DAEMONS = "connected", "daemons"
RECONNECT_S = 300
"""For so long reads and writes wait for another host's daemon that is away, before they fail. It is looked for after
that, too.
"""


@dataclass(frozen=True, slots=True)
class NbdAddress:
    """Where a daemon serves: at a UNIX `socket`, or at `host` and `port`, there with TLS where `tls_directory` has its
    certificates; behind a socket they are those of a client of other daemons. `account`: as whom it runs; None: as this
    process.
    """

    socket: Path | None = None
    host: str = ""
    port: int = 0
    tls_directory: Path | None = None
    account: tuple[str, int, int] | None = None

    def source(self, volume_id: str) -> DiskSource:
        """Where QEMU finds a volume that is served here."""
        if self.socket is not None:
            return DiskSource(PoolKind.NBD, socket=str(self.socket), export=volume_id)
        has_tls = self.tls_directory is not None
        return DiskSource(PoolKind.NBD, host=self.host, port=self.port, has_tls=has_tls, export=volume_id)

    def options(self) -> tuple[str, ...]:
        """As the daemon's arguments have them."""
        if self.socket is not None:
            local = ("--nbd-server", f"addr.type=unix,addr.path={self.socket},max-connections=0")
            return (*self._tls("client"), *local)
        address = f"addr.type=inet,addr.host={self.host},addr.port={self.port},max-connections=0"
        if self.tls_directory is None:
            return ("--nbd-server", address)
        return (*self._tls("server"), "--nbd-server", f"{address},tls-creds={TLS}")

    def _tls(self, endpoint: str) -> tuple[str, ...]:
        if self.tls_directory is None:
            return ()
        return ("--object", f"tls-creds-x509,id={TLS},endpoint={endpoint},verify-peer=on,dir={self.tls_directory}")


class StorageDaemon:
    """The daemon whose log is `directory`/`name`.log, and whose own things are in `daemons` there. Several threads may
    use it.
    """

    def __init__(self, directory: Path, name: str, listening: NbdAddress) -> None:
        self._socket = directory / DAEMONS / f"{name}.qmp"
        self._pid_file = directory / DAEMONS / f"{name}.pid"
        self._output = directory / f"{name}.log"
        self._listening = listening
        self._lock = RLock()
        self._copies: set[str] = set()

    def ensure(self, identity: str = "") -> None:
        """Have it running. At its place a client that asks for a list finds the pool's identity, where there is one.
        Raises VolumeBackendError with what is wrong.
        """
        with self._lock:
            if self.pid() is None:
                self._start()
                reach("computeagent.volumes.nbd.daemon:started")
            name = IDENTITY_PREFIX + identity
            with monitor(self._socket) as said:
                self._orphans_end(said)
                if identity and "identity" not in _exports(said):
                    with suppress(CommandRefused):
                        said.run("blockdev-add", driver="null-co", node_name="identity", size=512, read_zeroes=True)
                    said.run("block-export-add", type="nbd", id="identity", node_name="identity", name=name)

    def exports(self) -> set[str]:
        """Ids of the volumes that it serves; none where it does not run."""
        with self._lock:
            if self.pid() is None:
                return set()
            with monitor(self._socket) as said:
                return {node for node in _exports(said) if node != "identity"}

    def export(self, volume_id: str, path: Path) -> None:
        """Serve the file. One that is served is a success. Raises VolumeBackendError."""
        if self._listening.account is not None:
            os.chown(path, *self._listening.account[1:])
        self._export(volume_id, _file_node(node_of(volume_id), path))

    def export_of(self, volume_id: str, server: NbdAddress) -> None:
        """Serve what another daemon serves: guests here wait while that one is away. Raises VolumeBackendError."""
        place = {"type": "inet", "host": server.host, "port": str(server.port)}
        node: dict[str, object] = {
            "driver": "nbd",
            "node_name": node_of(volume_id),
            "server": place,
            "export": volume_id,
            "reconnect-delay": RECONNECT_S,
        }
        if server.tls_directory is not None:
            node["tls-creds"] = TLS
        self._export(volume_id, node)

    def _export(self, volume_id: str, node: dict[str, object]) -> None:
        name = node_of(volume_id)
        with self._lock, monitor(self._socket) as said:
            if name in _exports(said):
                return
            if name not in _nodes(said):
                said.run("blockdev-add", **node)
            reach("computeagent.volumes.nbd.daemon:opened")
            said.run("block-export-add", type="nbd", id=name, node_name=name, name=volume_id, writable=True)

    def withdraw(self, volume_id: str, *, wait_s: float) -> bool:
        """Serve it no more, and let go of the file. False where a guest has it still after `wait_s` seconds."""
        node = node_of(volume_id)
        end = time.monotonic() + wait_s
        with self._lock:
            if self.pid() is None:
                return True
            with monitor(self._socket) as said:
                self._orphans_end(said)
                while node in _exports(said):
                    try:
                        said.run("block-export-del", id=node, mode="safe")
                    except CommandRefused:
                        if time.monotonic() > end:
                            return False
                    time.sleep(POLL_S)
                if node in _nodes(said):
                    _node_remove(said, node)
        return True

    def copy(self, volume_id: str, snapshot_id: str, part: Path, progress: VolumeProgress) -> None:
        """Write the volume, as it is at one moment, to the file `part`, which is one hole, while guests go on. That
        moment is the end: until then what they write goes to both. Raises VolumeBackendError, and what `progress`
        raises.
        """
        job, target = f"{COPY}{snapshot_id}", _target_of(snapshot_id)
        if self._listening.account is not None:
            os.chown(part, *self._listening.account[1:])
        self._copies.add(job)
        try:
            with self._lock, monitor(self._socket) as said:
                _job_end(said, job, target)  # of an attempt that was cut off
                said.run("blockdev-add", **_file_node(target, part))
                # A backup job, whose moment is the beginning, would fill all holes.
                said.run(
                    "blockdev-mirror",
                    job_id=job,
                    device=node_of(volume_id),
                    target=target,
                    sync="full",
                    copy_mode="write-blocking",
                    auto_dismiss=False,
                )
            reach("computeagent.volumes.nbd.daemon:copying")
            self._job_wait(job, progress)
        finally:
            self._copies.discard(job)
            with self._lock, monitor(self._socket) as said:
                _job_end(said, job, target)

    def end(self) -> None:
        """It does not run any more. Raises VolumeBackendError where it does not end."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            pid = self.pid()
            if pid is None:
                return
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            end = time.monotonic() + END_S
            while self.pid() is not None and time.monotonic() < end:
                time.sleep(POLL_S)
        if self.pid() is not None:
            raise VolumeBackendError(f"the storage daemon of {self._socket} does not end")

    def pid(self) -> int | None:
        """The process, if it runs."""
        try:
            pid = int(self._pid_file.read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if any(str(self._socket).encode() in word for word in words) else None

    def _orphans_end(self, said: Monitor) -> None:
        """Copies that nobody waits for any more: a dead agent began them, and they would go on for ever."""
        for job in {str(each["id"]) for each in said.run("query-jobs")} - self._copies:
            _job_end(said, job, _target_of(job.removeprefix(COPY)))

    def _start(self) -> None:
        if len(os.fsencode(self._socket)) > SOCKET_PATH_MAX_BYTES:
            raise VolumeBackendError(f"{self._socket} is too long for a socket: choose a shorter directory")
        with suppress(FileNotFoundError):
            self._pid_file.unlink()
        command = [
            *self._as_account(), PROGRAM, "--daemonize", "--pidfile", str(self._pid_file),
            "--chardev", f"socket,id=monitor,path={self._socket},server=on,wait=off", "--monitor", "chardev=monitor",
            *self._listening.options(),
        ]  # fmt: skip
        try:
            with self._output.open("wb") as output:
                subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=START_S,
                    check=True,
                    cwd="/",
                    umask=0o077,
                    start_new_session=True,
                )
        except (OSError, subprocess.SubprocessError) as error:
            words = self._output.read_text(errors="replace").strip() if self._output.exists() else ""
            raise VolumeBackendError(f"{PROGRAM} does not start: {words[-500:] or error}") from error

    def _as_account(self) -> Sequence[str]:
        account = self._listening.account
        if account is None:
            return ()
        return ("setpriv", f"--reuid={account[1]}", f"--regid={account[2]}", "--init-groups", "--no-new-privs", "--")

    def _job_wait(self, job: str, progress: VolumeProgress) -> None:
        while True:
            with self._lock, monitor(self._socket) as said:
                found = next((each for each in said.run("query-jobs") if each["id"] == job), None)
            if found is None:
                raise VolumeBackendError("the copy was ended by somebody else")
            progress(found["current-progress"], found["total-progress"])
            if found["status"] == "ready":
                # It ends one that is ready, and well. One that is ending already is in no state for it.
                with self._lock, monitor(self._socket) as said, suppress(CommandRefused):
                    said.run("block-job-cancel", device=job)
            if found["status"] == "concluded":
                if found.get("error"):
                    raise VolumeBackendError(f"the copy did not succeed: {found['error']}")
                return
            time.sleep(JOB_POLL_S)


def directories_make(directory: Path, account: tuple[str, int, int] | None) -> None:
    """What daemons write is in a directory of their own account's; what they must not write is beside it. Raises
    OSError.
    """
    for path in (directory, directory / CONNECTED, directory / DAEMONS):
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    if account is not None:
        os.chown(directory / DAEMONS, *account[1:])


def node_of(volume_id: str) -> str:
    """A volume's name inside a daemon, where names have at most 31 characters."""
    return f"v{uuid.UUID(volume_id).hex[:30]}"


def _target_of(snapshot_id: str) -> str:
    """The file of a snapshot inside a daemon, while it is written."""
    return f"t{uuid.UUID(snapshot_id).hex[:30]}"


def _exports(said: Monitor) -> set[str]:
    return {str(each["id"]) for each in said.run("query-block-exports")}


def _nodes(said: Monitor) -> set[str]:
    return {str(each["node-name"]) for each in said.run("query-named-block-nodes", flat=True)}


def _file_node(node: str, path: Path) -> dict[str, object]:
    """A raw file, past the page cache where its file system can."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        is_direct = True
    except OSError:
        is_direct = False
    file = {"driver": "file", "filename": str(path), "discard": "unmap", "cache": {"direct": is_direct}}
    return {"driver": "raw", "node_name": node, "discard": "unmap", "file": file}


def _node_remove(said: Monitor, node: str) -> None:
    """An export that was just removed may hold its node for a moment."""
    end = time.monotonic() + END_S
    while True:
        try:
            said.run("blockdev-del", node_name=node)
            return
        except CommandRefused:
            if time.monotonic() > end:
                raise
        time.sleep(POLL_S)


def _job_end(said: Monitor, job: str, target: str) -> None:
    """No such copy is under way, and its file is not open."""
    end = time.monotonic() + END_S
    while found := next((each for each in said.run("query-jobs") if each["id"] == job), None):
        with suppress(CommandRefused):  # it goes from state to state meanwhile
            if found["status"] == "concluded":
                said.run("job-dismiss", id=job)
            else:
                said.run("job-cancel", id=job)
        if time.monotonic() > end:
            raise VolumeBackendError("a copy of a volume does not end")
        time.sleep(POLL_S)
    if target in _nodes(said):
        _node_remove(said, target)
