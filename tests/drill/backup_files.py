"""Whether backups of volumes are what rows say of them: asked of the files of the store, read by themselves."""

import hashlib
import os
import struct
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from computeagent.volumes.file.sparse import extents
from tests.drill.names import RESTORED

BEGINNING = struct.Struct("<8sI")
HEAD = struct.Struct("<cQQ")
DIGEST_BYTES = 32
COMPARED_BYTES = 2**20

Rows = Mapping[str, Any]
"""What `auditor.state` answers."""


def backups_under_way(rows: Rows) -> list[str]:
    """Backups to which something is being done."""
    return [
        f"backup {one['id']} is {one['state']}: {one['fault'] or '-'}"
        for one in rows["backups"]
        if one["state"] != "available" and "error" not in one["state"]
    ]


def backup_faults(rows: Rows, store: Path, known: frozenset[str], promised: frozenset[str]) -> Iterator[str]:
    """Where rows, files of the store, and what the API accepted are not the same. `known`: every backup that there
    ever was; `promised`: those of them that are to be there.
    """
    backups = {str(one["id"]): one for one in rows["backups"]}
    for uid in sorted(promised - backups.keys()):
        yield f"backup {uid} was accepted by the API and is nowhere"
    for uid, one in backups.items():
        if "error" in one["state"]:
            yield f"backup {uid} is {one['state']}: {one['fault']}"
        elif one["state"] == "available":
            yield from _wrong_bytes(uid, one, store)
    names = {str(one["id"]): f"{one['id']}.{one['upload_id']}" for one in rows["backups"]}
    for path in sorted(store.iterdir()) if store.is_dir() else ():
        uid = path.name.partition(".")[0]
        if uid in known | backups.keys() and path.name != names.get(uid):
            yield f"the store has {path.name}, which no backup explains"


def _wrong_bytes(uid: str, one: Mapping[str, Any], store: Path) -> Iterator[str]:
    path = store / f"{uid}.{one['upload_id']}"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        yield f"backup {uid} is available, and its file is not in the store"
        return
    if len(data) != one["size_bytes"] or hashlib.sha256(data).hexdigest() not in one["checksum"]:
        yield f"backup {uid} has other bytes in the store than its row says"


def restored(rows: Rows) -> Iterator[tuple[str, list[str]]]:
    """Volumes that were made of backups and not touched since, with the names of the files that they were made of."""
    backups = {str(one["id"]): one for one in rows["backups"]}
    for volume in rows["volumes"]:
        if volume["name"] != RESTORED or volume["state"] != "available":
            continue
        chain, uid = [], str(volume["source_id"])
        while uid in backups:
            chain.append(f"{uid}.{backups[uid]['upload_id']}")
            uid = str(backups[uid]["parent_id"] or "")
        if chain and not uid:
            yield str(volume["id"]), chain[::-1]


def restored_fault(volume: Path, backups: list[Path]) -> str:
    """Where the volume differs from its backups, in order; empty where it does not."""
    size = volume.stat().st_size
    with tempfile.TemporaryFile() as expected, volume.open("rb") as found:
        expected.truncate(size)
        for backup in backups:
            _apply(backup, expected.fileno())
        for file in (expected, found):
            for begin, end in extents(file.fileno(), size):
                for at in range(begin, end, COMPARED_BYTES):
                    much = min(COMPARED_BYTES, end - at)
                    if os.pread(expected.fileno(), much, at) != os.pread(found.fileno(), much, at):
                        return f"volume {volume.name} has other bytes at {at} than the backup it was made of"
    return ""


def _apply(backup: Path, disk: int) -> None:
    with backup.open("rb") as file:
        assert BEGINNING.unpack(file.read(BEGINNING.size)) == (b"KVBACKUP", 1), backup
        while (head := file.read(HEAD.size))[:1] != b"E":
            tag, offset, length = HEAD.unpack(head)
            file.read(DIGEST_BYTES)
            os.pwrite(disk, file.read(length) if tag == b"D" else bytes(length), offset)
