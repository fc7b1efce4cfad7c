"""What is on the disks of the drill's pool, and which QEMU has it open: asked of the file system and of the kernel."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from computeagent.agent.volume_upload import DIRECTORY

RESTING = frozenset({"available", "in-use", "reserved"})
"""States of volumes at rest. A volume in error is a fault: nothing refuses anything in a drill of kills."""


@dataclass(frozen=True, slots=True)
class VolumeFiles:
    """Names of the files of volumes, snapshots (`volume.snapshot`), and of what is half made; and for each volume the
    QEMU processes that have it open.
    """

    volumes: frozenset[str] = frozenset()
    snapshots: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    opened_by: Mapping[str, set[int]] = field(default_factory=dict)


def volume_files(directory: Path) -> VolumeFiles:
    """Of the pool in this directory; one that is not begun has none."""
    if not (directory / "parts").is_dir():
        return VolumeFiles()
    found = (frozenset(os.listdir(directory / name)) for name in ("volumes", "snapshots", "parts"))
    return VolumeFiles(*found, _opened(directory / "volumes"))


def _opened(directory: Path) -> dict[str, set[int]]:
    opened: dict[str, set[int]] = defaultdict(set)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if "qemu-system" in os.readlink(process / "exe"):
                for handle in (process / "fd").iterdir():
                    with suppress(OSError):
                        target = Path(os.readlink(handle))
                        if target.parent == directory:
                            opened[target.name].add(int(process.name))
    return opened


def upload_leftovers(states: Sequence[Path]) -> list[str]:
    """Files in which volumes were packed as images, in the directories of agents."""
    found = (path for state in states for path in sorted((state / DIRECTORY).glob("*")))
    return [f"a file of an upload is left: {path}" for path in found]


def volumes_under_way(rows: Mapping[str, Any]) -> list[str]:
    """Volumes and snapshots to which something is being done, or was to be."""
    return [
        f"{what} {one['id']} is {one['state']}: {one['fault'] or '-'}"
        for what in ("volume", "snapshot")
        for one in rows[f"{what}s"]
        if one["state"] not in RESTING and "error" not in one["state"]
    ]


def volume_faults(rows: Mapping[str, Any], pools: Sequence[VolumeFiles]) -> Iterator[str]:
    """Where files and rows are not the same, where two guests have one volume, and what ended in error."""
    found = VolumeFiles(
        frozenset().union(*(pool.volumes for pool in pools)),
        frozenset().union(*(pool.snapshots for pool in pools)),
        frozenset().union(*(pool.parts for pool in pools)),
        {name: processes for pool in pools for name, processes in pool.opened_by.items()},
    )
    twice = Counter(name for pool in pools for name in pool.volumes)
    yield from (f"volume {name} is in {times} pools" for name, times in twice.items() if times > 1)
    volumes = {str(one["id"]): one for one in rows["volumes"]}
    snapshots = {f"{one['volume_id']}.{one['id']}": one for one in rows["snapshots"]}
    for what, rows_of, files in (
        ("volume", volumes, found.volumes),
        ("snapshot", snapshots, found.snapshots),
    ):
        for name in sorted(files - rows_of.keys()):
            yield f"the pool has {what} {name}, which no row explains"
        for name in sorted(rows_of.keys() - files):
            yield f"{what} {name} is {rows_of[name]['state']}, and its file is not in the pool"
        for one in rows_of.values():
            if "error" in one["state"]:
                yield f"{what} {one['id']} is {one['state']}: {one['fault']}"
    for name in sorted(found.parts):
        yield f"something half made is left in the pool: {name}"
    for name, processes in found.opened_by.items():
        if len(processes) > 1:
            yield f"volume {name} is open in {len(processes)} guests: {sorted(processes)}"
    had = {str(one["volume_id"]) for one in rows["attachments"] if one["state"] in ("attached", "detaching", "error")}
    for name in sorted(found.opened_by.keys() - had):
        yield f"a guest has volume {name} open, and no attachment says so"
