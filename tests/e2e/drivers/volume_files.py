"""Volumes for tests of drivers: raw files that a backend would have connected."""

import os
import uuid
from dataclasses import replace
from pathlib import Path

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volumes import DiskSource, GuestVolume, PoolKind, VolumeSpec
from tests.e2e.drivers.conftest import Hypervisor

GIB = 2**30


def file_volume(hypervisor: Hypervisor, content: bytes = b"", *, size_gib: int = 1, **changes: object) -> GuestVolume:
    """A volume of its own in a file that begins with `content`."""
    volume_id = str(uuid.uuid4())
    directory = hypervisor.state_dir / "volumes"
    directory.mkdir(mode=0o711, exist_ok=True)
    path = directory / volume_id
    path.write_bytes(content)
    os.truncate(path, size_gib * GIB)
    volume = GuestVolume(
        attachment_id=str(uuid.uuid4()),
        volume=VolumeSpec(volume_id, "local", PoolKind.FILE, size_gib),
        source=DiskSource(PoolKind.FILE, path=str(path)),
    )
    return replace(volume, **changes)


def path_of(volume: GuestVolume) -> Path:
    """Its file."""
    assert volume.source is not None
    return Path(volume.source.path)


def with_volumes(guest: GuestSpec, *volumes: GuestVolume) -> GuestSpec:
    """The guest, with these beside what it has."""
    return replace(guest, volumes=(*guest.volumes, *volumes))
