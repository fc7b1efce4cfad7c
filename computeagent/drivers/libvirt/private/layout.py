"""Where a private libvirtd has its things: below one directory, whose layout libvirt decides by who runs it.

Root's libvirtd has its paths compiled in, so it gets a mount namespace in which `/etc/libvirt`, `/run/libvirt` and so
on are below the directory (`namespace`). An ordinary user's follows the XDG variables.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from computeagent.drivers.libvirt.guest_xml import DOMAIN_NAME_LENGTH
from computeagent.drivers.libvirt.hypervisor_root import SOCKET_PATH_MAX_BYTES, short_path

LIBVIRT = "libvirt"
SYSTEM_DIRECTORIES = {
    "etc": Path("/etc/libvirt"),
    "run": Path("/run/libvirt"),
    "lib": Path("/var/lib/libvirt"),
    "log": Path("/var/log/libvirt"),
}
"""What root's libvirtd sees in place of its own directories, by their names below the root."""
SYSTEM_CACHE = Path("/var/cache/libvirt")
PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONGEST_SOCKET = "/etc/libvirt/qemu/channel/target/domain-99999-" + "x" * DOMAIN_NAME_LENGTH + "/org.qemu.guest_agent.0"
ROOT_MAX_BYTES = SOCKET_PATH_MAX_BYTES - len(LONGEST_SOCKET)


def libvirtd_program() -> str | None:
    """Where libvirt's daemon is; None where it is not installed. Ordinary users have no sbin in their PATH."""
    return shutil.which("libvirtd", path=f"{os.environ.get('PATH', '')}:{PROGRAM_PATH}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Of one private libvirtd. `short` is `root` by a path on which sockets fit; `cache` is what it learns of QEMU,
    shared by the daemons of a machine. `is_system`: it runs as root.
    """

    root: Path
    short: Path
    cache: Path
    is_system: bool

    @property
    def uri(self) -> str:
        """What libvirt opens."""
        kind = "system" if self.is_system else "session"
        return f"qemu+unix:///{kind}?socket={quote(str(self.socket))}"

    @property
    def socket(self) -> Path:
        """Where the daemon listens; only its own user may connect."""
        return self._run / "libvirt-sock"

    @property
    def pid_file(self) -> Path:
        """Locked by the daemon for as long as it lives."""
        return self.root / "run" / "libvirtd.pid"

    @property
    def lock_file(self) -> Path:
        """Locked by the agent that uses the daemon."""
        return self.root / "agent.lock"

    @property
    def daemon_conf(self) -> Path:
        """The daemon's own configuration."""
        return self.root / "etc" / "libvirtd.conf"

    @property
    def qemu_conf(self) -> Path:
        """The configuration of its QEMU driver."""
        return (self.root / "etc" if self.is_system else self.root / "etc" / LIBVIRT) / "qemu.conf"

    @property
    def daemon_log(self) -> Path:
        """What the daemon warns of."""
        return self.root / "log" / "libvirtd.log"

    @property
    def output(self) -> Path:
        """What the daemon said before it had a log."""
        return self.root / "log" / "libvirtd.out"

    @property
    def running_domains(self) -> Path:
        """Where libvirt's QEMU driver notes the state of domains that run."""
        return self._run / "qemu" if self.is_system else self._run / "qemu" / "run"

    def domain_log(self, domain_name: str) -> Path:
        """QEMU's own log of one domain, which libvirt leaves behind."""
        logs = "log/qemu" if self.is_system else "cache/libvirt/qemu/log"
        return self.root / logs / f"{domain_name}.log"

    def seen_by_daemon(self, path: Path) -> Path:
        """`path`, which is below the root, as the daemon names it."""
        if self.is_system:
            for name, place in SYSTEM_DIRECTORIES.items():
                if path.is_relative_to(self.root / name):
                    return place / path.relative_to(self.root / name)
        return self.short / path.relative_to(self.root)

    def seen_from_outside(self, path: str) -> str:
        """A path that the daemon named, as it is for everybody else."""
        if self.is_system:
            for name, place in SYSTEM_DIRECTORIES.items():
                if Path(path).is_relative_to(place):
                    return str(self.root / name / Path(path).relative_to(place))
        return path

    def environment(self) -> Mapping[str, str]:
        """All that the daemon gets. What its starter has of it (libvirt's own variables among them) stays away."""
        path = f"{os.environ.get('PATH', '')}:{PROGRAM_PATH}".strip(":")
        if self.is_system:
            return {"PATH": path, "HOME": "/"}
        homes = {"RUNTIME_DIR": "run", "CONFIG_HOME": "etc", "CACHE_HOME": "cache", "DATA_HOME": "data"}
        return {
            "PATH": path, "HOME": str(self.short),
            **{f"XDG_{variable}": str(self.short / name) for variable, name in homes.items()},
        }  # fmt: skip

    @property
    def _run(self) -> Path:
        return self.short / "run" if self.is_system else self.short / "run" / LIBVIRT


def layout_of(root: Path, *, cache: Path) -> Layout:
    """For the user that this process runs as. Raises DriverError where no path is short enough, OSError."""
    return Layout(root, short_path(root, max_bytes=ROOT_MAX_BYTES), cache, is_system=os.geteuid() == 0)
