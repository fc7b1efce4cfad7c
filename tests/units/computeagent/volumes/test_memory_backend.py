"""The backend of simulated guests keeps the promises of all others, as far as it has bytes."""

import uuid
from pathlib import Path

import pytest

from computeagent.protocol.volumes import VolumeSpec
from computeagent.volumes.memory import MemoryBackend
from tests.units.computeagent.volumes.volume_backend_contract import PoolWorld, VolumeBackendContract, nobody


class MemoryWorld(PoolWorld):
    def __init__(self, directory: Path) -> None:
        self.keys: dict[str, bytes] = {}
        self.state_file = directory / "volumes.json"
        self.backend = self.again()

    def again(self) -> MemoryBackend:
        return MemoryBackend(self.pool, self.state_file)

    def lose(self) -> None:
        backend = self.again()
        backend.faults["pool"] = "it is away"
        self.backend = backend

    def bytes_of(self, volume: VolumeSpec, offset: int, count: int) -> bytes:
        seen, found = str(uuid.uuid4()), bytearray(count)
        self.backend.snapshot_create(volume, seen, nobody)
        for at, piece in self.backend.read(volume, seen):
            begin, end = max(at, offset), min(at + len(piece), offset + count)
            if begin < end:
                found[begin - offset : end - offset] = piece[begin - at : end - at]
        self.backend.snapshot_delete(volume, seen)
        return bytes(found)


class TestMemoryBackend(VolumeBackendContract):
    has_images = False

    @pytest.fixture
    def world(self, tmp_path: Path) -> MemoryWorld:
        return MemoryWorld(tmp_path)
