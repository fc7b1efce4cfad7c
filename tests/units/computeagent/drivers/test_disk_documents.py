"""What a guest is told of its disks: tags, and what it boots from."""

from dataclasses import replace

from computeagent.drivers.guest_documents import ec2_meta_data, meta_data
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volumes import GuestVolume, LocalDisk, LocalDiskKind, PoolKind, VolumeSpec

ROOT = GuestVolume("a1", VolumeSpec("v1", "p", PoolKind.FILE, 1), device="sda", boot_index=0)
DATA = GuestVolume("a2", VolumeSpec("v2", "p", PoolKind.FILE, 1), device="vdb", tag="data")
SCRATCH = LocalDisk(LocalDiskKind.EPHEMERAL, 1024, device="vdc", tag="scratch")


def test_disks_with_tags_are_devices(guest_spec: GuestSpec) -> None:
    guest = replace(guest_spec, volumes=(ROOT, DATA), local_disks=(SCRATCH, LocalDisk(LocalDiskKind.SWAP, 64)))
    disk = {"type": "disk", "bus": "none", "address": "none"}
    assert meta_data(guest, seed=b"s")["devices"] == [
        {**disk, "serial": "v2", "path": "/dev/vdb", "tags": ["data"]},
        {**disk, "serial": "", "path": "/dev/vdc", "tags": ["scratch"]},
    ]


def test_a_guest_that_boots_from_a_volume_knows_its_root_device(guest_spec: GuestSpec) -> None:
    guest = replace(guest_spec, volumes=(ROOT,), has_local_root=False)
    assert ec2_meta_data(guest)["block-device-mapping"] == {"ami": "sda", "root": "/dev/sda"}
    assert ec2_meta_data(guest_spec)["block-device-mapping"] == {"ami": "vda", "root": "/dev/vda"}
