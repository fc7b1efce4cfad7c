"""Embedded hypervisors (`qemu:///embed?root=DIR`): a private QEMU driver inside this process, without a daemon.

libvirt's rules for them: DIR is absolute, one process opens it at a time, and one process opens one root only.
"""

import grp
import hashlib
import os
import pwd
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_xml import DOMAIN_NAME_LENGTH
from computeagent.drivers.libvirt.half_started import half_started_forget

QEMU_USER = "libvirt-qemu"
SOCKET_PATH_MAX_BYTES = 107  # sun_path of unix(7), less its final NUL
_MONITOR = "/lib/qemu/domain-99999-" + "x" * DOMAIN_NAME_LENGTH + "/monitor.sock"
ROOT_MAX_BYTES = SOCKET_PATH_MAX_BYTES - len(_MONITOR)

VNC_PORTS_EACH = 200
VNC_PORT_RANGES = 250
VNC_PORT_FIRST = 5900


@dataclass(frozen=True, slots=True)
class EmbeddedRoot:
    """Where an embedded hypervisor keeps its own files. `short` is the same directory by a path that fits."""

    path: Path
    short: Path

    @property
    def uri(self) -> str:
        """The URI to open."""
        return f"qemu:///embed?root={quote(str(self.short))}"

    def log_path(self, domain_name: str) -> Path:
        """QEMU's own log of one domain, which libvirt leaves behind."""
        return self.path / "log" / "qemu" / f"{domain_name}.log"


def is_embedded(uri: str) -> bool:
    """Whether this URI is an embedded hypervisor."""
    return urlsplit(uri).path == "/embed"


def embedded_root_prepare(uri: str, *, cache: Path) -> EmbeddedRoot:
    """Make root directory and configuration for `uri`; what libvirt learns of QEMU goes to `cache`.

    Raises DriverError that says what is wrong with the URI or missing on the machine.
    """
    path = _root_of(uri)
    _require_qemu_user()
    try:
        # Its own sockets and status files are safe behind the modes libvirt gives to them.
        (path / "etc").mkdir(parents=True, exist_ok=True)
        (path / "etc" / "qemu.conf").write_text(qemu_conf(path))
        _link(path / "cache", cache)
        half_started_forget(path / "run" / "qemu")
        return EmbeddedRoot(path=path, short=_short_path(path))
    except OSError as error:
        raise DriverError(f"cannot prepare the hypervisor's root {path}: {error}") from error


def qemu_conf(root: Path) -> str:
    """The configuration of the QEMU driver under `root`.

    QEMU runs as the user of this process: the files of guests are then reachable wherever the state directory
    is. Its seccomp sandbox stays on. Each root has its own range of VNC ports, so that hypervisors on one machine
    do not race for the same port.
    """
    first = vnc_port_first(root)
    lines = [
        'security_driver = "none"',
        "dynamic_ownership = 0",
        "remember_owner = 0",
        "seccomp_sandbox = 1",
        "namespaces = []",
        "cgroup_controllers = []",
        'stdio_handler = "file"',
        'vnc_listen = "127.0.0.1"',
        f"remote_display_port_min = {first}",
        f"remote_display_port_max = {first + VNC_PORTS_EACH - 1}",
    ]
    if os.geteuid() == 0:
        lines += ['user = "root"', 'group = "root"']
    return "\n".join(lines) + "\n"


def vnc_port_first(root: Path) -> int:
    """The first VNC port of the hypervisor under `root`."""
    return VNC_PORT_FIRST + VNC_PORTS_EACH * (zlib.crc32(os.fsencode(root)) % VNC_PORT_RANGES)


def _root_of(uri: str) -> Path:
    roots = parse_qs(urlsplit(uri).query).get("root", [])
    if len(roots) != 1:
        raise DriverError(f"{uri}: an embedded hypervisor needs exactly one ?root=DIRECTORY")
    if not Path(roots[0]).is_absolute():
        raise DriverError(f"{uri}: root must be an absolute directory, and {roots[0]!r} is not")
    return Path(roots[0])


def _require_qemu_user() -> None:
    """Debian's libvirt looks this user up before it reads any configuration, and fails without it."""
    if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        return
    try:
        pwd.getpwnam(QEMU_USER)
        grp.getgrnam(QEMU_USER)
    except KeyError as error:
        raise DriverError(
            f"the system user {QEMU_USER} does not exist: install libvirt-daemon-system, or run "
            f"`adduser --system --group --no-create-home {QEMU_USER}`"
        ) from error


def _short_path(root: Path) -> Path:
    """`root`, or a symbolic link to it where the paths of QEMU's sockets below it would not fit."""
    if len(os.fsencode(root)) <= ROOT_MAX_BYTES:
        return root
    links = Path("/tmp") / f"kilonova-{os.geteuid()}"  # noqa: S108 - its owner and mode are verified below
    links.mkdir(mode=0o700, exist_ok=True)
    state = links.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise DriverError(
            f"{root} is longer than {ROOT_MAX_BYTES} bytes, and {links} is not a private directory to link it from"
        )
    link = links / hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    _link(link, root)
    return link


def _link(link: Path, target: Path) -> None:
    """Have a symbolic link. A directory that is there already stays."""
    if link.is_dir() and not link.is_symlink():
        return
    target.mkdir(mode=0o711, parents=True, exist_ok=True)
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
