"""What runs on the hypervisors, asked of libvirt and of the kernel, never of the database."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.drill.json_socket import ask
from tests.drill.names import NETWORKS_FILE

ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class HostGuests:
    """One hypervisor: its domains (uuid -> running), the QEMU processes by uuid, and what is left on its disk."""

    host: str
    domains: list[tuple[str, bool]] = field(default_factory=list)
    qemu: list[str] = field(default_factory=list)
    deleted_files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    devices: dict[str, list[str]] = field(default_factory=dict)
    """By domain, those of the host that it has."""
    taps: list[str] = field(default_factory=list)
    """The ids of the ports that are plugged."""
    is_known: bool = True
    consoles: int = 0
    """Ways outward that its agent holds."""
    sockets: list[str] = field(default_factory=list)
    """Of guests that do not run."""


@dataclass(frozen=True, slots=True)
class QemuProcess:
    """One QEMU: whose it is, its whole command line, and files it uses that nobody else can find any more."""

    uuid: str
    command: str
    deleted_files: list[str]


def guests_of(
    host: str, control: Path, state_dir: Path, hypervisor: Path, processes: Sequence[QemuProcess]
) -> HostGuests:
    """Ask the agent's ear what libvirt has; of the QEMU `processes`, those that have files below `state_dir`; of
    sockets, those below `hypervisor`.
    """
    consoles = 0
    try:
        domains = ask(control, {"ask": "guests"}, timeout_s=ANSWER_S)
        consoles = ask(control, {"ask": "consoles"}, timeout_s=ANSWER_S)
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
        {one["uuid"]: one["devices"] for one in domains or ()},
        _taps(state_dir / "driver" / NETWORKS_FILE),
        domains is not None,
        consoles,
        sorted(_sockets(hypervisor, [one["name"] for one in domains or () if one["active"]])),
    )


def _sockets(hypervisor: Path, active: Sequence[str]) -> Iterator[str]:
    """Of guests, each in a directory `domain-NUMBER-NAME` with the beginning of its name, but for those that run."""
    for path in hypervisor.rglob("domain-*/*") if hypervisor.is_dir() else ():
        with suppress(OSError):
            if path.is_socket() and not any(name.startswith(path.parent.name.split("-", 2)[2]) for name in active):
                yield str(path.relative_to(hypervisor))


def _taps(file: Path) -> list[str]:
    """Of a host that carries networks."""
    return list(json.loads(file.read_text())) if file.exists() else []


def qemu_processes(below: Path) -> Iterator[QemuProcess]:
    """Every QEMU of this machine whose command line names a file below `below`."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            words = command.split("\0")
            if "qemu-system" in words[0] and f"{below}/" in command and "-uuid" in words:
                gone = sorted(set(_deleted_files(path, f"{below}/")))
                yield QemuProcess(words[words.index("-uuid") + 1], command, gone)


def qemu_pid_of(below: Path, guest_uuid: str) -> int | None:
    """The process of one guest that has anything below `below`, if it runs."""
    for pid in qemu_pids(below):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            if "-uuid" in words and words[words.index("-uuid") + 1] == guest_uuid:
                return pid
    return None


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
