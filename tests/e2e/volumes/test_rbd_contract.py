"""What every backend of volumes has to do, on a real Ceph."""

from pathlib import Path

import pytest

from computeagent.protocol.volumes import PoolKind, VolumeSpec
from computeagent.volumes.rbd import RbdBackend, RbdPlace
from computeagent.volumes.rbd.names import volume_name
from tests.units.computeagent.volumes.volume_backend_contract import (
    PoolWorld,
    VolumeBackendContract,
    qemu_read,
    qemu_write,
)
from tests.worlds.ceph import Ceph

pytestmark = [pytest.mark.processes, pytest.mark.long]


class RbdWorld(PoolWorld):
    """The cluster's pool, reached by `backend`."""

    kind = PoolKind.RBD

    def __init__(self, ceph: Ceph, home: Path) -> None:
        self.ceph, self.home, self.keys = ceph, home, {}
        self.backend = self.again()

    def again(self) -> RbdBackend:
        return RbdBackend(self.pool, self.ceph.place())

    def lose(self) -> None:
        self.backend = RbdBackend(self.pool, RbdPlace("gone", self.ceph.conf))

    def options(self, volume: VolumeSpec) -> list[str]:
        name = self.ceph.place().qemu_name(volume_name(volume.id))
        if not volume.is_encrypted:
            return ["-f", "raw", name]
        return [
            "--object",
            "secret,id=k,file={key}",
            "--image-opts",
            f"driver=luks,key-secret=k,file.driver=rbd,file.filename={name}",
        ]

    def bytes_of(self, volume: VolumeSpec, offset: int, count: int) -> bytes:
        return qemu_read(self.options(volume), offset, count, passphrase=self.keys[volume.id])

    def put(self, volume: VolumeSpec, offset: int, content: bytes) -> None:
        qemu_write(self.options(volume), offset, content, self.home)


class TestRbdBackend(VolumeBackendContract):
    @pytest.fixture
    def world(self, ceph: Ceph, pool: RbdBackend, tmp_path: Path) -> RbdWorld:
        del pool
        return RbdWorld(ceph, tmp_path)
