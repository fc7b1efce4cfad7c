"""What runs on the hypervisors, asked of libvirt and of the kernel, never of the database."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.drill.json_socket import ask


@dataclass(frozen=True, slots=True)
class HostGuests:
    """One hypervisor: its domains (uuid -> running), the QEMU processes by uuid, and what is left on its disk."""

    host: str
    domains: list[tuple[str, bool]] = field(default_factory=list)
    qemu: list[str] = field(default_factory=list)
    deleted_files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class QemuProcess:
    """One QEMU: whose it is, its whole command line, and files it uses that nobody else can find any more."""

    uuid: str
    command: str
    deleted_files: list[str]


def guests_of(host: str, control: Path, state_dir: Path, processes: Sequence[QemuProcess]) -> HostGuests:
    """Ask the agent's ear what libvirt has; of the QEMU `processes`, those that have files below `state_dir`."""
    try:
        domains = ask(control, {"ask": "guests"}, timeout_s=5.0)
    except (OSError, RuntimeError):
        domains = None
    files = state_dir / "driver" / "i"
    qemu = [one for one in processes if f"{files}/" in one.command]
    return HostGuests(
        host,
        [(one["uuid"], one["active"]) for one in domains or ()],
        [one.uuid for one in qemu],
        [f"{one.uuid}: {name}" for one in qemu for name in one.deleted_files],
        sorted(os.listdir(files)) if files.is_dir() else [],
        domains is not None,
    )


def qemu_processes(below: Path) -> Iterator[QemuProcess]:
    """Every QEMU of this machine whose command line names a file below `below`."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            words = command.split("\0")
            if "qemu-system" in words[0] and f"{below}/" in command and "-uuid" in words:
                gone = sorted(set(_deleted_files(path, f"{below}/")))
                yield QemuProcess(words[words.index("-uuid") + 1], command, gone)


def qemu_pids(below: Path) -> Iterator[int]:
    """Every QEMU of this machine that has anything below `below`, a guest or libvirt's own trial."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "qemu-system" in words[0] and any(str(below) in word for word in words):
                yield int(path.name)


def _deleted_files(process: Path, below: str) -> Iterator[str]:
    """Files that were made anew under it: it uses the old ones, which have no name any more."""
    for handle in (process / "fd").iterdir():
        with suppress(OSError):
            target = os.readlink(handle)
            if target.startswith(below) and target.endswith(" (deleted)"):
                yield target
