"""Backups of a volume in a real Ceph: by an agent's own code into the store, and back; and how long that takes."""

import hashlib
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.volumes import PoolKind, VolumeSourceKind, VolumeSpec
from computeagent.volumes.rbd import RbdBackend
from computeagent.volumes.rbd.names import volume_name
from servers.models import Volume, VolumeBackup
from servers.volumes.domain.states import BackupState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.backups import BackupRequest, backup_create
from servers.volumes.services.snapshots import snapshot_delete
from servers.volumes.services.volumes import volume_create, volume_delete
from tests.worlds.agent_hands import Hands, people_and_image

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]
MIB = 2**20


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


def work(hands: Hands) -> None:
    while hands.do_volumes():
        pass


def write(pool: RbdBackend, volume: Volume, tmp_path: Path, offset: int, size: int) -> None:
    """Random bytes, as a guest writes them."""
    noise = tmp_path / "noise"
    subprocess.run(["dd", "if=/dev/urandom", f"of={noise}", "bs=1M", f"count={size // MIB}", "status=none"], check=True)
    name = pool.place.qemu_name(volume_name(str(volume.pk)))
    subprocess.run(
        ["qemu-io", "-f", "raw", "-c", f"write -q -s {noise} {offset} {size}", name], check=True, capture_output=True
    )


def discard(pool: RbdBackend, volume: Volume, offset: int, size: int) -> None:
    name = pool.place.qemu_name(volume_name(str(volume.pk)))
    command = ["qemu-io", "-d", "unmap", "-f", "raw", "-c", f"discard -q {offset} {size}", name]
    subprocess.run(command, check=True, capture_output=True)


def checksum(pool: RbdBackend, volume: Volume) -> str:
    spec, moment, digest = VolumeSpec(str(volume.pk), "ceph", PoolKind.RBD, 1), str(uuid.uuid4()), hashlib.sha256()
    pool.snapshot_create(spec, moment, lambda _done, _total: None)
    for offset, data in pool.read(spec, moment):
        for begin in range(0, len(data), 65536):
            piece = data[begin : begin + 65536]
            if any(piece):
                digest.update(f"{offset + begin}:".encode() + piece)
    pool.snapshot_delete(spec, moment)
    return digest.hexdigest()


def test_full_then_what_changed_then_back(pool: RbdBackend, tmp_path: Path, record_property: Any) -> None:
    who, figures = people_and_image().member, {}
    hands = Hands("h1", tmp_path, pools=[pool])
    volume = volume_create(caller=who, request=VolumeRequest(size_gib=1, name="data"))
    work(hands)

    def backed_up(name: str, **fields: Any) -> VolumeBackup:
        began = time.monotonic()
        row = backup_create(caller=who, request=BackupRequest(volume.pk, **fields))
        work(hands)
        took = round(time.monotonic() - began, 2)
        row.refresh_from_db()
        assert (row.state, row.fault) == (BackupState.AVAILABLE, "")
        figures.update({name: took, f"{name} MiB": round(row.size_bytes / MIB, 1)})
        return row

    def same_again(name: str, backup: VolumeBackup) -> Volume:
        began = time.monotonic()
        request = VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk)
        made = volume_create(caller=who, request=request)
        work(hands)
        figures[name] = round(time.monotonic() - began, 2)
        made.refresh_from_db()
        assert (made.state, made.fault) == (VolumeState.AVAILABLE, "")
        assert checksum(pool, made) == checksum(pool, volume)
        return made

    write(pool, volume, tmp_path, 0, 256 * MIB)
    full = backed_up("full", keeps_snapshot=True)
    assert 256 * MIB < full.size_bytes < 257 * MIB
    write(pool, volume, tmp_path, 100 * MIB, 8 * MIB)
    increment = backed_up("increment", is_incremental=True)
    assert 8 * MIB < increment.size_bytes < 9 * MIB

    restored = [same_again("restore", increment)]
    snapshot_delete(caller=who, snapshot_id=full.snapshot_id)
    work(hands)
    write(pool, volume, tmp_path, 50 * MIB, 8 * MIB)
    discard(pool, volume, 200 * MIB, 16 * MIB)
    by_bytes = backed_up("increment by bytes", is_incremental=True)
    assert by_bytes.parent_id == increment.pk
    assert 8 * MIB < by_bytes.size_bytes < 9 * MIB
    restored.append(same_again("restore of three", by_bytes))
    record_property("figures", figures)
    for one in (*restored, volume):
        volume_delete(caller=who, volume_id=one.pk)
        work(hands)
    assert pool.held() == ((), ())
