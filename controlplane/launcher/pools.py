"""The pools of volumes of one machine's hypervisors: one of each one's own, and one that they share as by a network.

A volume of the shared one can be had by a guest of any of them, one after the other.
"""

import shutil
from pathlib import Path

from computeagent.volumes.file.directory import DIRECTORY_MODE, pool_begin
from controlplane.kernel.state_parts import StatePart

LOCAL, SHARED = "local", "shared"
PART_OF_DISK = 4
"""One part in so many of the machine's free disk is for the pools of each one's own, and one for the shared pool."""
GIB = 2**30


def pools_prepare(state_dir: Path, *, host: str, count: int) -> tuple[str, ...]:
    """The pools of one of `count` hypervisors, as its agent's option has them. Raises OSError."""
    base = state_dir / StatePart.VOLUMES
    shared = base / SHARED
    base.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    shared.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    pool_begin(shared)
    part_gib = shutil.disk_usage(base).free // PART_OF_DISK // GIB
    return (
        f"{LOCAL}=file:{base / host}?size_gib={max(part_gib // count, 1)}",
        f"{SHARED}=shared-file:{shared}?size_gib={max(part_gib, 1)}",
    )
