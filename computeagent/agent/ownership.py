"""Who this agent is: an id that lives in its state directory, by which the control plane tells it from another."""

import os
import uuid
from pathlib import Path

from controlplane.kernel.errors import Conflict
from controlplane.kernel.ids import parse_uuid

ID_FILE = "agent_id"
HOST_FILE = "host"


class HostOwnershipLost(Exception):
    """The control plane does not take this agent for this host any more; the message says why. This process ends."""


class HostRefused(Conflict):
    """The control plane does not take this hypervisor for this host; `message` says why. Starting again is no help."""

    code = "host_refused"


def agent_id(state_dir: Path) -> str:
    """The id of this state directory, made at the first start. Call under the host's lock."""
    path = state_dir / ID_FILE
    found = parse_uuid(path.read_text().strip()) if path.exists() else None
    if found is not None:
        return str(found)
    made = str(uuid.uuid4())
    _write(path, made)
    return made


def host_name_require(state_dir: Path, host: str) -> None:
    """Raises HostRefused where this state directory is another host's: a host keeps its name, as in Nova."""
    path = state_dir / HOST_FILE
    known = path.read_text().strip() if path.exists() else ""
    if known and known != host:
        raise HostRefused(
            f"The state directory {state_dir} is that of host {known}, and this agent calls itself {host}: a host "
            f"keeps its name. Start it with --host {known}; or give host {host} a directory of its own with --state."
        )


def host_name_keep(state_dir: Path, host: str) -> None:
    """This state directory is the one of `host` from now on, which the control plane took it for. Call under the host's
    lock. Raises HostRefused.
    """
    host_name_require(state_dir, host)
    if not (state_dir / HOST_FILE).exists():
        _write(state_dir / HOST_FILE, host)


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    with part.open("w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
