"""As whom QEMU runs under a hypervisor that this project configures, and that configuration."""

import grp
import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

from computeagent.drivers.base import DriverError

QEMU_USER = "libvirt-qemu"
KVM = Path("/dev/kvm")
USE_KVM = ("-r", str(KVM), "-a", "-w", str(KVM))


def qemu_user_require() -> None:
    """Debian's libvirt looks this user up before it reads any configuration, and fails without it. Raises
    DriverError that says how it comes.
    """
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


def holds_for_qemu(condition: Sequence[str]) -> bool:
    """Whether `test` with these arguments succeeds for QEMU's user, with all of its groups. Only root can ask."""
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
    if account == "root":  # TPMs run as a user of their own too, which could not reach their state either
        lines += ['swtpm_user = "root"', 'swtpm_group = "root"']
    return "\n".join(lines) + "\n"
