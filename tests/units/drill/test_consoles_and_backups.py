"""What the drill calls a violation of consoles and of backups: each is found where it is."""

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from computeagent.volumes.backup_stream import backup_stream
from tests.drill.backup_files import backup_faults, backups_under_way, restored, restored_fault
from tests.drill.consoles import console_faults
from tests.drill.guests import HostGuests
from tests.drill.names import RESTORED

FULL, MORE, VOLUME = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
PARTS = {FULL: [(0, b"a" * 4096), (65536, b"b" * 4096)], MORE: [(65536, b"c" * 4096)]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a full backup and an increment."""
    (tmp_path / "images").mkdir()
    for uid, parts in PARTS.items():
        (tmp_path / "images" / f"{uid}.u").write_bytes(b"".join(backup_stream(iter(parts))))
    return tmp_path / "images"


def rows(store: Path) -> dict[str, Any]:
    """What the database says of both, and of a volume that was made of the increment."""
    backups = []
    for uid, parent in ((FULL, None), (MORE, FULL)):
        data = (store / f"{uid}.u").read_bytes()
        checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
        more = {"upload_id": "u", "size_bytes": len(data), "checksum": checksum}
        backups.append({"id": uid, "state": "available", "fault": "", "parent_id": parent, **more})
    volume = {"id": VOLUME, "name": RESTORED, "state": "available", "source_id": MORE}
    return {"backups": backups, "volumes": [volume], "consoles": []}


def faults(store: Path, found: dict[str, Any]) -> list[str]:
    return list(backup_faults(found, store, frozenset(PARTS), frozenset(PARTS)))


def test_backups_that_are_what_rows_say_are_in_order(store: Path) -> None:
    assert faults(store, rows(store)) == []
    assert backups_under_way(rows(store)) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda store, found: (store / f"{MORE}.u").unlink(), "its file is not in the store"),
        (lambda store, found: (store / f"{MORE}.u").write_bytes(b"x"), "other bytes in the store"),
        (lambda store, found: (store / f"{MORE}.other.part").touch(), "which no backup explains"),
        (lambda store, found: found["backups"].pop(), f"{MORE} was accepted by the API and is nowhere"),
        (lambda store, found: found["backups"][0].update(state="error", fault="why"), f"{FULL} is error: why"),
    ],
)
def test_backup_that_differs_is_told(store: Path, damage: Callable[..., object], words: str) -> None:
    found = rows(store)
    damage(store, found)
    assert words in "\n".join(faults(store, found))


def test_volume_is_compared_with_all_that_it_was_made_of(store: Path, tmp_path: Path) -> None:
    ((uid, names),) = restored(rows(store))
    assert (uid, names) == (VOLUME, [f"{FULL}.u", f"{MORE}.u"])
    volume = tmp_path / VOLUME
    with volume.open("wb") as file:
        file.truncate(2**20)
        for offset, data in (*PARTS[FULL], *PARTS[MORE]):
            file.seek(offset)
            file.write(data)
    backups = [store / name for name in names]
    assert restored_fault(volume, backups) == ""
    assert "has other bytes at" in restored_fault(volume, backups[:1])
    with volume.open("r+b") as file:
        file.seek(500_000)
        file.write(b"x")
    assert "has other bytes at" in restored_fault(volume, backups)


def test_console_that_nobody_looks_at_is_told() -> None:
    assert list(console_faults({"consoles": []}, [HostGuests("h1")])) == []
    open_one = {"id": "c1", "kind": "vnc", "instance_uuid": "i1"}
    found = [HostGuests("h1", consoles=2, sockets=["lib/qemu/domain-1-i-2/vnc.sock"])]
    assert list(console_faults({"consoles": [open_one]}, found)) == [
        "vnc console c1 of i1 is open, and nobody looks at it",
        "h1 has 2 consoles open, and nobody looks at them",
        "h1 keeps a socket of a guest that does not run: lib/qemu/domain-1-i-2/vnc.sock",
    ]
