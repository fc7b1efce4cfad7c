"""The ground that network namespaces of one installation stand on: root's machine, or an ordinary user's namespaces.

Both have named namespaces. Root's names are the machine's (`ip netns`). An ordinary user's are those of a user and
mount namespace that one small process keeps (`holder`); whatever else is in it (libvirtd, guests, DHCP) keeps it as
well, so that a holder that was killed is replaced, and nothing else notices.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from computeagent.networks.base import NetworkError
from computeagent.networks.places import holder
from computeagent.networks.places.commands import environment, run
from computeagent.networks.places.names import PlaceNames
from controlplane.kernel.file_locks import lock_holder

START_S = 10.0
END_S = 5.0
POLL_S = 0.02
ROOTS_NAMES = Path("/run/netns")


class Ground(Protocol):
    """Where namespaces are named."""

    @property
    def tap_uid(self) -> int | None:
        """The owner of taps."""

    def ensure(self) -> None:
        """Have the ground, and the namespace in the middle. Raises NetworkError that says what is missing."""

    def stands(self) -> bool:
        """Whether it is as `ensure` left it: nobody whom it needs has ended since."""

    def exists(self) -> bool:
        """Whether there is any of it."""

    def outer_prefix(self) -> tuple[str, ...]:
        """What goes before commands that name namespaces."""

    def prefix(self, namespace: str) -> tuple[str, ...]:
        """What goes before commands in a namespace."""

    def namespace_file(self, namespace: str) -> Path:
        """What stands for the namespace, as this process sees it."""

    def processes(self) -> list[int]:
        """Those in any of the namespaces."""

    def remove(self) -> None:
        """End what is in the namespaces, and remove them."""


def namespaces_of(ground: Ground, names: PlaceNames) -> list[str]:
    """The names of this installation's namespaces, those that hypervisors made among them, the middle last."""
    try:
        found = os.listdir(ground.namespace_file(names.middle).parent)
    except OSError:
        return []
    mine = [name for name in found if name == names.middle or name.startswith(f"{names.middle}-")]
    return sorted(mine, key=len, reverse=True)


def namespace_ensure(ground: Ground, namespace: str) -> bool:
    """Whether it was made now. A name without a namespace, which a kill leaves behind, is made anew."""
    path = ground.namespace_file(namespace)
    if os.path.ismount(path):
        return False
    if os.path.lexists(path):
        run(("ip", "netns", "delete", namespace), prefix=ground.outer_prefix())
    run(("ip", "netns", "add", namespace), prefix=ground.outer_prefix())
    return True


class RootGround:
    """The machine itself."""

    tap_uid: int | None = None

    def __init__(self, names: PlaceNames) -> None:
        self._names = names

    def ensure(self) -> None:
        """The namespace in the middle."""
        namespace_ensure(self, self._names.middle)

    def stands(self) -> bool:
        """The kernel keeps it, and no process."""
        return True

    def exists(self) -> bool:
        """Any namespace of ours, or the table of the way outside, which is made after them."""
        return bool(namespaces_of(self, self._names))

    def outer_prefix(self) -> tuple[str, ...]:
        """None is needed."""
        return ()

    def prefix(self, namespace: str) -> tuple[str, ...]:
        """Not `ip netns exec`: that makes a mount namespace for each command, in which new names are lost."""
        return ("nsenter", f"--net={self.namespace_file(namespace)}")

    def namespace_file(self, namespace: str) -> Path:
        """Where `ip netns` has it."""
        return ROOTS_NAMES / namespace

    def processes(self) -> list[int]:
        """By what the kernel says of each process."""
        ours = set()
        for name in namespaces_of(self, self._names):
            with suppress(OSError):
                state = self.namespace_file(name).stat()
                ours.add((state.st_dev, state.st_ino))
        found = []
        for pid in processes():
            with suppress(OSError):
                state = Path(f"/proc/{pid}/ns/net").stat()
                if (state.st_dev, state.st_ino) in ours:
                    found.append(pid)
        return found

    def remove(self) -> None:
        """What a hypervisor made goes before its namespace, the middle last."""
        _end(self.processes)
        for name in namespaces_of(self, self._names):
            run(("ip", "netns", "delete", name))


class UserGround:
    """Namespaces of an ordinary user's own: in them he is root, and nowhere else."""

    tap_uid: int | None = 0

    def __init__(self, names: PlaceNames, directory: Path) -> None:
        self._names = names
        self._mark = f"/run/{names.middle}"
        self._lock, self._link = directory / "holder.lock", directory / "holder"
        self._log = directory / "holder.log"

    def ensure(self) -> None:
        """A holder that lives, and the link by which its namespaces are entered."""
        pid = lock_holder(self._lock)
        if pid is None:
            pid = self._start(next(iter(self.processes()), None))
        if not self._leads_to(pid):
            fresh = self._link.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(f"/proc/{pid}")
            fresh.replace(self._link)

    def stands(self) -> bool:
        """A process that ends lets go of its locks before its namespaces can no longer be entered."""
        pid = lock_holder(self._lock)
        return pid is not None and self._leads_to(pid)

    def _leads_to(self, pid: int) -> bool:
        return self._link.is_symlink() and str(self._link.readlink()) == f"/proc/{pid}"

    def exists(self) -> bool:
        """Any process in them."""
        return lock_holder(self._lock) is not None or bool(self.processes())

    def outer_prefix(self) -> tuple[str, ...]:
        """The middle's: it is where the holder is."""
        return self.prefix(self._names.middle)

    def prefix(self, namespace: str) -> tuple[str, ...]:
        """User and mount namespace as well, by a link that follows the holder."""
        return (
            "nsenter", "--preserve-credentials",
            f"--user={self._link}/ns/user", f"--mount={self._link}/ns/mnt", f"--net={self.namespace_file(namespace)}",
        )  # fmt: skip

    def namespace_file(self, namespace: str) -> Path:
        """Seen through the holder's root."""
        return Path(f"{self._link}/root{holder.NAMESPACES}/{namespace}")

    def processes(self) -> list[int]:
        """Those that see the mark; the holder, which keeps the others' names, last."""
        found = [pid for pid in processes() if _sees(pid, self._mark)]
        holding = lock_holder(self._lock)
        return sorted(found, key=lambda pid: pid == holding)

    def remove(self) -> None:
        """With its last process the kernel removes all of it."""
        _end(self.processes)
        self._link.unlink(missing_ok=True)

    def _start(self, survivor: int | None) -> int:
        """A holder in new namespaces, or in those that this process is in."""
        enter: tuple[str, ...] = ("unshare", "-U", "-r", "-n", "-m", "--propagation", "slave")
        if survivor is not None:
            there = f"/proc/{survivor}"
            enter = (
                "nsenter", "--preserve-credentials", f"--user={there}/root{self._mark}.user", f"--mount={there}/ns/mnt",
                f"--net={there}/root{holder.NAMESPACES}/{self._names.middle}",
            )  # fmt: skip
        program = (sys.executable, "-I", "-S", str(holder.__file__), str(self._lock), self._mark, self._names.middle)
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [*enter, *program], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=environment(),
                start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + START_S
        while (pid := lock_holder(self._lock)) is None:
            if process.poll() is not None:
                said = self._log.read_text(errors="replace").strip().splitlines()
                raise NetworkError(
                    f"network namespaces of this user cannot be made: {said[-1] if said else process.returncode}"
                )
            if time.monotonic() > end:
                process.kill()
                raise NetworkError(f"network namespaces of this user were given {START_S:.0f} s to start and did not")
            time.sleep(POLL_S)
        return pid


def processes() -> Iterator[int]:
    """All of the machine."""
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _sees(pid: int, mark: str) -> bool:
    """A mark that is on the machine itself would be everybody's: nobody but root could put it there."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid == os.geteuid() and Path(f"/proc/{pid}/root{mark}").exists()
    except OSError:
        return False


def _end(inside: Callable[[], list[int]]) -> None:
    """Ask all, then kill them. Raises NetworkError for those that do not end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in inside():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        end = time.monotonic() + END_S
        while left := inside():
            if time.monotonic() > end:
                break
            time.sleep(POLL_S)
        else:
            return
    raise NetworkError(f"processes in network namespaces of this installation do not end: {left}")
