"""A libvirtd of one hypervisor's own (`qemu:///private?root=DIR`): prepared, started when it is not there, found again.

It outlives whoever started it, and guests outlive it. One agent uses it at a time. With neither a guest that runs nor
an agent it ends by itself after IDLE_EXIT_S, as distributions have it.
"""

import fcntl
import functools
import json
import logging
import os
import pwd
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.files import file_replace
from computeagent.drivers.libvirt.half_started import half_started_forget
from computeagent.drivers.libvirt.hypervisor_root import link_ensure
from computeagent.drivers.libvirt.instance_files import console_trim
from computeagent.drivers.libvirt.private import namespace
from computeagent.drivers.libvirt.private.layout import (
    SYSTEM_CACHE,
    SYSTEM_DIRECTORIES,
    Layout,
    layout_of,
    libvirtd_program,
)
from computeagent.drivers.libvirt.private.probe import Answer, daemon_answers, process_end
from computeagent.drivers.libvirt.qemu_account import (
    KVM,
    QEMU_USER,
    USE_KVM,
    holds_for_qemu,
    qemu_conf,
    qemu_user_require,
)
from computeagent.networks.base import NetworkError
from computeagent.networks.places.place import HypervisorPlace
from controlplane.kernel.file_locks import lock_holder

START_S = 60.0
"""How long a daemon may take from its start to its first answer."""
SILENT_S = 60.0
"""How long one that answers nobody is left alone. Then it is replaced, and finds its guests again."""
IDLE_EXIT_S = 300
POLL_S = 0.05
MIGRATION_PORTS = range(49152, 61440)
MIGRATION_PORTS_EACH = 64

log = logging.getLogger(__name__)


def is_private(uri: str) -> bool:
    """Whether this URI is a hypervisor with a libvirtd of its own."""
    return urlsplit(uri).path == "/private"


@functools.cache
def private_daemon_impossible() -> str:
    """What this machine lacks for a private libvirtd, in words; empty when nothing. It does not change by itself."""
    if libvirtd_program() is None:
        return "libvirtd (Debian package libvirt-daemon)"
    if os.geteuid() != 0:
        return ""
    command = [sys.executable, "-S", "-E", str(namespace.__file__), json.dumps(namespace.NOTHING), "/bin/true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"the right to mount ({done.stderr.strip()})" if done.returncode else ""


class PrivateDaemon:
    """The libvirtd below `root`. `cache` may be shared by the daemons of a machine; QEMU has to reach the directories
    `guest_files`, and as root's it sees nothing else of directories that are closed to QEMU's user. A daemon that has
    not answered for `silent_s` seconds is replaced, and so is one that is not in `place`, where its guests' networks
    are; None: wherever it is.
    """

    def __init__(
        self,
        root: Path,
        *,
        cache: Path,
        guest_files: Sequence[Path] = (),
        silent_s: float = SILENT_S,
        place: HypervisorPlace | None = None,
    ) -> None:
        self._root = root
        self._silent_s = silent_s
        self._cache = cache
        self._guest_files = tuple(guest_files)
        self._place = place
        self._layout: Layout | None = None
        self._lock_descriptor = -1

    @property
    def layout(self) -> Layout:
        """Where its things are; known once it was prepared."""
        if self._layout is None:
            raise DriverError(f"the libvirtd of {self._root} is not prepared")
        return self._layout

    def prepare(self) -> None:
        """Have the directories and the configuration, and be the one agent that uses them.

        Raises DriverError: another agent does, libvirtd or its user is missing, the disk is full.
        """
        if lack := private_daemon_impossible():
            raise DriverError(f"a private libvirtd is not possible here: missing {lack}")
        qemu_user_require()
        try:
            self._root.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._layout = layout = layout_of(self._root, cache=self._cache)
            self._hold(layout)
            for name in (*SYSTEM_DIRECTORIES, "cache", "data"):
                (layout.root / name).mkdir(mode=0o711, exist_ok=True)
            layout.qemu_conf.parent.mkdir(exist_ok=True)
            layout.cache.mkdir(mode=0o711, parents=True, exist_ok=True)
            if not layout.is_system:
                (layout.root / "cache" / "libvirt" / "qemu").mkdir(parents=True, exist_ok=True)
                link_ensure(layout.root / "cache" / "libvirt" / "qemu" / "cache", layout.cache / "qemu")
            host_uuid = _host_uuid(layout)
            file_replace(layout.daemon_conf, _daemon_conf(layout, host_uuid).encode())
            account = QEMU_USER if layout.is_system else ""
            file_replace(layout.qemu_conf, (qemu_conf(account) + _migration_ports(host_uuid)).encode())
        except OSError as error:
            raise DriverError(f"cannot prepare the hypervisor's root {self._root}: {error}") from error

    def ensure_running(self) -> None:
        """Return once it answers: found, waited for, started, or replaced. Raises DriverError with what is wrong."""
        layout, silent_until, begun = self.layout, time.monotonic() + self._silent_s, 0
        try:
            self._end_elsewhere(layout)
            while (answer := daemon_answers(layout.socket)) is not Answer.GIVEN:
                holder = lock_holder(layout.pid_file)
                if holder is None:
                    if begun:
                        raise DriverError(
                            f"the libvirtd of {self._root} ends as soon as it starts: {self._last_words()}"
                        )
                    begun += 1
                    self._start(layout)
                elif time.monotonic() > silent_until:
                    self._replace(holder, answer)
                    silent_until, begun = time.monotonic() + START_S, 0
                time.sleep(POLL_S)
        except OSError as error:
            raise DriverError(f"the libvirtd of {self._root} cannot be reached: {error}") from error

    def _end_elsewhere(self, layout: Layout) -> None:
        """Ask a daemon that was started in another place to end. Its guests go on, with what they have of networks."""
        holder = lock_holder(layout.pid_file)
        if self._place is None or holder is None:
            return
        self._prefix()
        if not self._place.holds(holder):
            log.warning("libvirtd of %s (process %d) is in another place, and is started anew", self._root, holder)
            if not process_end(holder, signal.SIGTERM, pid_file=layout.pid_file, limit_s=START_S):
                raise DriverError(f"the libvirtd of {self._root} (process {holder}) does not end")

    def release(self) -> None:
        """Another agent may use it. It goes on."""
        if self._lock_descriptor >= 0:
            # A child that is just being started has the descriptor, too, and with it the lock.
            fcntl.flock(self._lock_descriptor, fcntl.LOCK_UN)
            os.close(self._lock_descriptor)
            self._lock_descriptor = -1

    def housekeeping(self) -> None:
        """Keep its log from growing without end; it appends meanwhile."""
        console_trim(self.layout.daemon_log)

    def _hold(self, layout: Layout) -> None:
        if self._lock_descriptor >= 0:
            return
        descriptor = os.open(layout.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise DriverError(
                f"another agent (process {holder}) uses the libvirtd of {self._root}: each needs a directory of its own"
            ) from error  # not None, which hides why somebody who closes up after a failure has not let go before
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._lock_descriptor = descriptor

    def _start(self, layout: Layout) -> None:
        """Start it, in a session of its own, and wait until it holds its pid file or has ended."""
        half_started_forget(layout.running_domains)
        command = [
            str(libvirtd_program()), "--timeout", str(IDLE_EXIT_S),
            "--config", str(layout.seen_by_daemon(layout.daemon_conf)),
            "--pid-file", str(layout.seen_by_daemon(layout.pid_file)),
        ]  # fmt: skip
        prefix = self._prefix()
        if layout.is_system:
            plan = json.dumps({**_namespace_plan(layout, self._guest_files), "sysfs": bool(prefix)})
            command = [sys.executable, "-S", "-E", str(namespace.__file__), plan, *command]
        elif prefix:
            # As root of the place libvirt would take itself for the machine's; and guests need no rights there.
            command = ["unshare", "-U", f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}", *command]
        command = [*prefix, *command]
        with layout.output.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(layout.environment()),
                cwd="/",
                start_new_session=True,
            )
        log.info("libvirtd of %s starts as process %d", self._root, process.pid)
        end = time.monotonic() + START_S
        while lock_holder(layout.pid_file) is None:
            if process.poll() is not None:
                raise DriverError(
                    f"the libvirtd of {self._root} did not start (status {process.returncode}): {self._last_words()}"
                )
            if time.monotonic() > end:
                process.kill()
                raise DriverError(f"the libvirtd of {self._root} was given {START_S:.0f} s to start and did not")
            time.sleep(POLL_S)

    def _prefix(self) -> tuple[str, ...]:
        """What enters the place, which is there afterwards."""
        try:
            return self._place.ensure().prefix if self._place is not None else ()
        except NetworkError as error:
            raise DriverError(f"the networks of {self._root} have no place: {error}") from error

    def _replace(self, holder: int, answer: Answer) -> None:
        """Kill a daemon that takes connections and answers none. Its guests are processes of their own and go on."""
        log.warning(
            "libvirtd of %s (process %d) has not answered for %.0f s (%s) and is replaced; guests go on",
            self._root,
            holder,
            self._silent_s,
            answer.value,
        )
        if not process_end(holder, signal.SIGKILL, pid_file=self.layout.pid_file, limit_s=10):
            raise DriverError(f"the libvirtd of {self._root} (process {holder}) answers nobody and cannot be killed")

    def _last_words(self) -> str:
        """What it wrote last, for people."""
        for path in (self.layout.output, self.layout.daemon_log):
            with suppress(OSError):
                lines = path.read_text(errors="replace").strip().splitlines()
                if lines:
                    return lines[-1][-500:]
        return f"it said nothing in {self.layout.daemon_log}"


def _host_uuid(layout: Layout) -> str:
    """Made once: libvirt refuses to move guests between daemons that have the same."""
    path = layout.root / "host_uuid"
    with suppress(FileNotFoundError, ValueError):
        return str(uuid.UUID(path.read_text().strip()))
    made = str(uuid.uuid4())
    file_replace(path, f"{made}\n".encode())
    return made


def _daemon_conf(layout: Layout, host_uuid: str) -> str:
    lines = [
        f'host_uuid = "{host_uuid}"',
        'unix_sock_rw_perms = "0700"',
        'unix_sock_ro_perms = "0700"',
        'auth_unix_rw = "none"',
        f'log_outputs = "3:file:{layout.seen_by_daemon(layout.daemon_log)}"',
    ]
    return "\n".join(lines) + "\n"


def _migration_ports(host_uuid: str) -> str:
    """A range for each daemon: libvirt looks for a free port only among those that it gave itself."""
    ranges = len(MIGRATION_PORTS) // MIGRATION_PORTS_EACH
    first = MIGRATION_PORTS.start + uuid.UUID(host_uuid).int % ranges * MIGRATION_PORTS_EACH
    return f"migration_port_min = {first}\nmigration_port_max = {first + MIGRATION_PORTS_EACH - 1}\n"


def _namespace_plan(layout: Layout, guest_files: Sequence[Path]) -> dict[str, object]:
    """What root's libvirtd sees (`namespace`). Directories that QEMU's user may not pass are veiled, but for the
    guests' files, so that QEMU need not be root to reach them.
    """
    veiled = {blocking for directory in guest_files if (blocking := _blocking(directory)) is not None}
    may_use_kvm = not KVM.exists() or holds_for_qemu(USE_KVM)
    return {
        "binds": [
            *([str(layout.root / name), str(place)] for name, place in SYSTEM_DIRECTORIES.items()),
            [str(layout.cache), str(SYSTEM_CACHE)],
        ],
        "veiled": sorted(map(str, veiled)),
        "retained": sorted(map(str, guest_files)),
        "kvm": None if may_use_kvm else {"node": str(layout.root / "kvm"), "gid": pwd.getpwnam(QEMU_USER).pw_gid},
    }


def _blocking(directory: Path) -> Path | None:
    """The uppermost parent that QEMU's user may not pass. Raises DriverError where it is the directory itself."""
    for each in (*reversed(directory.parents), directory):
        if not holds_for_qemu(("-x", str(each))):
            if each == directory:
                raise DriverError(f"QEMU's user {QEMU_USER} may not enter {directory}: chmod o+x {directory}")
            return each
    return None
