"""Embedded hypervisors (`qemu:///embed?root=DIR`): a private QEMU driver inside this process, without a daemon.

libvirt's rules for them: DIR is absolute, one process opens it at a time, and one process opens one root only.
"""

import grp
import hashlib
import logging
import os
import pwd
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_xml import DOMAIN_NAME_LENGTH
from computeagent.drivers.libvirt.half_started import half_started_forget

QEMU_USER = "libvirt-qemu"
SOCKET_PATH_MAX_BYTES = 107  # sun_path of unix(7), less its final NUL
_AGENT_SOCKET = "/lib/qemu/channel/target/domain-99999-" + "x" * DOMAIN_NAME_LENGTH + "/org.qemu.guest_agent.0"
ROOT_MAX_BYTES = SOCKET_PATH_MAX_BYTES - len(_AGENT_SOCKET)

log = logging.getLogger(__name__)


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


def embedded_root_prepare(uri: str, *, cache: Path, guest_files: Sequence[Path] = ()) -> EmbeddedRoot:
    """Make root directory and configuration for `uri`; what libvirt learns of QEMU goes to `cache`, and QEMU has to
    reach the directories `guest_files`.

    Raises DriverError that says what is wrong with the URI or missing on the machine.
    """
    path = _root_of(uri)
    _require_qemu_user()
    try:
        # Its own sockets and status files are safe behind the modes libvirt gives to them.
        (path / "etc").mkdir(parents=True, exist_ok=True)
        (path / "etc" / "qemu.conf").write_text(qemu_conf(qemu_account((path, *guest_files))))
        _link(path / "cache", cache)
        half_started_forget(path / "run" / "qemu")
        return EmbeddedRoot(path=path, short=_short_path(path))
    except OSError as error:
        raise DriverError(f"cannot prepare the hypervisor's root {path}: {error}") from error


def qemu_account(directories: Sequence[Path]) -> str:
    """As whom QEMU runs: `QEMU_USER` if this process is root, else as this process (empty).

    'root' is the last resort, with a warning: where that user may not enter one of `directories`, or may not use a
    KVM that is there (libvirt would then examine QEMU anew for each guest, a minute each time).
    """
    if os.geteuid() != 0:
        return ""
    wanted = [["-x", str(directory)] for directory in directories]
    if Path("/dev/kvm").exists():
        wanted.append(["-r", "/dev/kvm", "-a", "-w", "/dev/kvm"])
    for condition in wanted:
        if not _holds_for_qemu(condition):
            log.warning(
                "QEMU runs as root, because the user %s fails `test %s`: see docs/hypervisor.md",
                QEMU_USER,
                " ".join(condition),
            )
            return "root"
    return QEMU_USER


def _holds_for_qemu(condition: list[str]) -> bool:
    """Whether `test` with these arguments succeeds for QEMU's user, with all of its groups."""
    try:
        user = pwd.getpwnam(QEMU_USER)
        groups = {*os.getgrouplist(QEMU_USER, user.pw_gid), grp.getgrnam(QEMU_USER).gr_gid}
        command = ["/usr/bin/test", *condition]
        done = subprocess.run(command, user=user.pw_uid, group=user.pw_gid, extra_groups=groups, check=False)
    except (KeyError, OSError):
        return False
    return done.returncode == 0


def qemu_conf(account: str) -> str:
    """The configuration of the QEMU driver, whose QEMU runs as the user `account` (empty: as this process).

    A user of its own gets the files of its guests from libvirt at their start, and loses them at their end. QEMU's
    seccomp sandbox stays on.
    """
    has_own_user = account not in ("", "root")
    lines = [
        'security_driver = "none"',
        f"dynamic_ownership = {int(has_own_user)}",
        "remember_owner = 0",
        "seccomp_sandbox = 1",
        "namespaces = []",
        "cgroup_controllers = []",
        'stdio_handler = "file"',
    ]
    if account:
        lines += [f'user = "{account}"', f'group = "{account}"']
    return "\n".join(lines) + "\n"


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
    links.mkdir(mode=0o711, exist_ok=True)
    state = links.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise DriverError(
            f"{root} is longer than {ROOT_MAX_BYTES} bytes, and {links} is not a private directory to link it from"
        )
    links.chmod(0o711)  # QEMU, which may be another user, makes sockets by this path
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
