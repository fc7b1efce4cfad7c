"""Who this agent is: an id that lives in its state directory, by which the control plane tells it from another."""

import os
import uuid
from pathlib import Path

from controlplane.kernel.errors import Conflict
from controlplane.kernel.ids import parse_uuid

ID_FILE = "agent_id"


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
    part = path.with_suffix(".part")
    with part.open("w") as file:
        file.write(made + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return made
