"""File locks: one per instance, over the whole effect on it, and one per host, for the life of the process.

A lease may run out under a frozen builder; a lock of the kernel may not, and is freed by any death of its owner.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.kill_points import reach


class InstanceBusy(Conflict):
    """Another process works on this instance now."""

    code = "instance_busy"


class AgentAlreadyRunning(Conflict):
    """Another agent serves this host: on the same state directory, or on one of its own."""

    code = "agent_already_running"


@contextmanager
def instance_lock(state_dir: Path, instance_uuid: str) -> Iterator[None]:
    """Hold the instance's lock without waiting for it. Raises InstanceBusy."""
    path = state_dir / "locks" / _lock_name(instance_uuid)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _locked(path)
    if handle is None:
        raise InstanceBusy(f"instance {instance_uuid} is being worked on by another process")
    try:
        reach("computeagent.agent.instance_lock:held")
        yield
    finally:
        # Removed under its lock, so that whoever opened it before sees another file at this path and tries again.
        path.unlink(missing_ok=True)
        reach("computeagent.agent.instance_lock:removed")
        os.close(handle)


@contextmanager
def host_lock(state_dir: Path, host: str) -> Iterator[None]:
    """Be the only agent of `host` on this state directory. Raises AgentAlreadyRunning, naming the other's pid."""
    state_dir.mkdir(parents=True, exist_ok=True)
    path = state_dir / f"agent.{quote(host, safe='')}.lock"
    handle = _locked(path)
    if handle is None:
        raise AgentAlreadyRunning(
            f"an agent for host {host} already runs on {state_dir} (pid {path.read_text().strip() or 'unknown'})"
        )
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def _lock_name(instance_uuid: str) -> str:
    parsed = parse_uuid(instance_uuid)
    if parsed is None:
        raise Invalid(f"not an instance uuid: {instance_uuid[:64]!r}")
    return str(parsed)


def _locked(path: Path) -> int | None:
    """An open, locked handle of the file that is at `path` now; None when another holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        if _is_at(path, handle):
            return handle
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
