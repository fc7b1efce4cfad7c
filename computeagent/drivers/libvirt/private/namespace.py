"""Become a command in a mount namespace of its own: `python namespace.py JSON COMMAND...`

A program of its own, since a process with threads may not change its namespace. It imports nothing of the project. The
JSON is

    {"binds": [[SOURCE, TARGET], ...],   SOURCE is seen at TARGET
     "veiled": [DIRECTORY, ...],         is seen as empty, but for
     "retained": [DIRECTORY, ...],           these, which are seen where they were
     "kvm": {"node": FILE, "gid": GID},  this group may use /dev/kvm, or nobody: where nodes cannot be made
     "sysfs": BOOLEAN}                   /sys has the interfaces of this process's network namespace

What is mounted on the machine later is seen in the namespace, and nothing of the namespace outside of it.
"""

import ctypes
import json
import os
import stat
import sys

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
MS_NOSUID, MS_NODEV = 0x2, 0x4
KVM = "/dev/kvm"
NOTHING: dict[str, object] = {"binds": [], "veiled": [], "retained": [], "kvm": None, "sysfs": False}
"""A plan that needs a namespace and nothing in it."""

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2). Raises OSError that names the target."""
    texts = [text.encode() if text else None for text in (source, target, kind)]
    if libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def bind(descriptor: int, target: str) -> None:
    """See what the descriptor stands for at `target`, even if another mount hides it by now."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.makedirs(target, mode=0o755, exist_ok=True)
    mount(f"/proc/self/fd/{descriptor}", target, "", MS_BIND | MS_REC)


def look(path: str) -> int:
    """A descriptor that stands for `path`, whatever is mounted later."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def kvm_node(node: str, gid: int) -> str:
    """A device for this group alone; a file that nobody may use where this file system has no devices."""
    for left_behind in (node, node + ".no"):
        if os.path.lexists(left_behind):
            os.unlink(left_behind)
    try:
        os.mknod(node, stat.S_IFCHR | 0o660, os.stat(KVM).st_rdev)
        os.chown(node, 0, gid)
        os.chmod(node, 0o660)
        os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        node += ".no"
        os.close(os.open(node, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0))
    return node


def sysfs() -> None:
    """A /sys of this network namespace, with what else is mounted below it (cgroups)."""
    with open("/proc/self/mountinfo") as mounts:
        below = [line.split()[4] for line in mounts]
    retained: list[tuple[int, str]] = []
    for path in sorted({path for path in below if path.startswith("/sys/")}, key=len):
        if not any(path.startswith(f"{other}/") for _, other in retained):
            retained.append((look(path), path))
    mount("kilonova", "/sys", "sysfs", MS_NOSUID | MS_NODEV)
    for descriptor, path in retained:
        bind(descriptor, path)  # with all that is mounted below it


def namespace_enter(plan: dict) -> None:  # type: ignore[type-arg]
    """Raises OSError that says which part of the plan is not possible here."""
    if libc.unshare(CLONE_NEWNS):
        number = ctypes.get_errno()
        raise OSError(number, f"a mount namespace cannot be made: {os.strerror(number)}")
    mount("none", "/", "", MS_REC | MS_SLAVE)
    # What is looked at before the namespace was made belongs to the other one, and cannot be mounted in this one.
    binds = [(look(source), target) for source, target in plan["binds"]]
    retained = [(look(directory), directory) for directory in plan["retained"]]
    if plan["kvm"]:
        binds.append((look(kvm_node(plan["kvm"]["node"], plan["kvm"]["gid"])), KVM))
    if plan["sysfs"]:
        sysfs()
    for directory in plan["veiled"]:
        mount("kilonova", directory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=1m")
    for descriptor, target in binds:
        bind(descriptor, target)
    for descriptor, directory in retained:
        if not os.path.exists(directory) or not os.path.samestat(os.stat(directory), os.fstat(descriptor)):
            bind(descriptor, directory)


if __name__ == "__main__":
    os.umask(0o022)
    try:
        namespace_enter(json.loads(sys.argv[1]))
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell is wanted here
    except OSError as error:
        sys.exit(f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror))
