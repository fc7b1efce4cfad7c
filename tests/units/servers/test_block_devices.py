"""Block device mappings of a request: what is refused, by Nova's names and at which field, and what is decided."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from scheduling.domain.snapshots import FlavorSnapshot
from servers.instances.domain.block_device_rules import DiskSurroundings, SourceFound, block_devices_decide
from servers.instances.domain.block_device_words import MAX_BLOCK_DEVICES, block_devices_parse
from servers.volumes.domain.block_device_faults import problems_by_field
from servers.volumes.domain.block_devices import BlockDevice, boots_from_volume

IMAGE, VOLUME, SNAPSHOT, OTHER = (uuid.UUID(int=number) for number in range(1, 5))
FLAVOR = FlavorSnapshot(id="f", name="f", vcpus=1, memory_mib=512, root_gib=10, ephemeral_gib=20, swap_mib=1024)
NAMED = DiskSurroundings(FLAVOR, IMAGE)
BARE = DiskSurroundings(replace(FLAVOR, ephemeral_gib=0, swap_mib=0))
FOUND = {
    str(IMAGE): SourceFound(IMAGE, min_gib=2),
    str(VOLUME): SourceFound(VOLUME, size_gib=7),
    str(SNAPSHOT): SourceFound(SNAPSHOT, min_gib=3, size_gib=3),
    str(OTHER): SourceFound(OTHER, size_gib=1, is_bootable=False),
}

ROOT_VOLUME = {"source_type": "volume", "uuid": str(VOLUME), "boot_index": 0}
MADE = {"source_type": "image", "destination_type": "volume", "uuid": str(IMAGE), "volume_size": 5, "boot_index": 0}
DATA = {"source_type": "blank", "destination_type": "volume", "volume_size": 4}
EPHEMERAL = {"source_type": "blank", "destination_type": "local"}
SWAP = {**EPHEMERAL, "guest_format": "swap"}


def decided(value: Any, around: DiskSurroundings = BARE) -> tuple[tuple[BlockDevice, ...], dict[str, list[str]]]:
    wanted, wrong = block_devices_parse(value)
    if wrong:
        return (), problems_by_field(wrong)
    sources = {one.number: FOUND[one.reference] for one in wanted if one.reference}
    devices, wrong = block_devices_decide(wanted, sources, {}, around)
    return devices, problems_by_field(wrong)


REFUSED: list[tuple[Any, DiskSurroundings, str, str]] = [
    ("x", BARE, "", "InvalidBDMFormat"),
    ([DATA] * (MAX_BLOCK_DEVICES + 1), BARE, "", "at most 24. (InvalidBDMFormat)"),
    ([3], BARE, "0", "InvalidBDMFormat"),
    ([{"no_such": 1, "source_type": "blank"}], BARE, "0", "InvalidBDMFormat"),
    ([{"uuid": str(VOLUME)}], BARE, "0.source_type", "InvalidBDMFormat"),
    ([{**DATA, "destination_type": "moon"}], BARE, "0.destination_type", "InvalidBDMFormat"),
    ([ROOT_VOLUME, {**DATA, "disk_bus": "fdc"}], BARE, "1.disk_bus", "InvalidBDMDiskBus"),
    ([{**ROOT_VOLUME, "device_type": "cdrom", "disk_bus": "virtio"}], BARE, "0.disk_bus", "InvalidBDMDiskBus"),
    ([{**ROOT_VOLUME, "device_type": "floppy"}], BARE, "0.device_type", "InvalidBDMFormat"),
    ([{**ROOT_VOLUME, "device_name": "eth0"}], BARE, "0.device_name", "InvalidBDMFormat"),
    ([{**ROOT_VOLUME, "device_name": "sda", "disk_bus": "virtio"}], BARE, "0.device_name", "are called vda"),
    ([ROOT_VOLUME, *[{**DATA, "disk_bus": "ide"}] * 5], BARE, "", "The bus ide has no place left."),
    ([{**ROOT_VOLUME, "tag": "a,b"}], BARE, "0.tag", "InvalidBDMFormat"),
    ([{**ROOT_VOLUME, "delete_on_termination": "maybe"}], BARE, "0.delete_on_termination", "true or false"),
    ([{**ROOT_VOLUME, "boot_index": "first"}], BARE, "0.boot_index", "InvalidBDMFormat"),
    ([{**DATA, "uuid": str(VOLUME)}], BARE, "0.uuid", "InvalidBDMFormat"),
    ([{"source_type": "volume"}], BARE, "0.uuid", "Name the volume"),
    ([{**ROOT_VOLUME, "destination_type": "local"}], BARE, "0.destination_type", "InvalidBDMFormat"),
    ([{**ROOT_VOLUME, "volume_type": "fast"}], BARE, "0.volume_type", "InvalidBDMFormat"),
    ([{**ROOT_VOLUME, "volume_size": 8}], BARE, "0.volume_size", "has 7 GiB already"),
    ([{**EPHEMERAL, "volume_type": "fast"}], NAMED, "0.volume_type", "InvalidBDMFormat"),
    ([{**EPHEMERAL, "guest_format": "ntfs"}], NAMED, "0.guest_format", "InvalidBDMFormat"),
    ([{**EPHEMERAL, "boot_index": 1}], NAMED, "0.boot_index", "InvalidBDMBootSequence"),
    ([{**EPHEMERAL, "delete_on_termination": False}], NAMED, "0.delete_on_termination", "goes with its instance"),
    ([{**DATA, "guest_format": "ext4"}], NAMED, "0.guest_format", "InvalidBDMFormat"),
    ([{**DATA, "volume_size": None}], NAMED, "0.volume_size", "InvalidBDM)"),
    ([{**MADE, "volume_size": 0}], BARE, "0.volume_size", "InvalidBDM)"),
    ([{**ROOT_VOLUME, "uuid": str(OTHER)}], BARE, "0.uuid", "InvalidBDMVolumeNotBootable"),
    ([{**MADE, "volume_size": 1}], BARE, "0.volume_size", "Is 1 GiB; the image needs 2. (VolumeSmallerThanMinDisk)"),
    ([DATA], BARE, "", "InvalidBDMBootSequence"),
    ([ROOT_VOLUME, {**DATA, "boot_index": 2}], BARE, "", "here they are 0, 2. (InvalidBDMBootSequence)"),
    ([ROOT_VOLUME, MADE], BARE, "", "InvalidBDMBootSequence"),
    ([ROOT_VOLUME], NAMED, "0.uuid", "InvalidBDMImage"),
    ([{**MADE, "destination_type": "local", "volume_size": None}], BARE, "0.destination_type", "InvalidBDMFormat"),
    ([ROOT_VOLUME, {**ROOT_VOLUME, "boot_index": -1}], BARE, "", "there twice. (InvalidVolume)"),
    ([{**ROOT_VOLUME, "tag": "a"}, {**DATA, "tag": "a"}], BARE, "", "The tag a is there twice"),
    ([{**ROOT_VOLUME, "device_name": "vdb"}, {**DATA, "device_name": "/dev/vdb"}], BARE, "", "vdb is there twice"),
    ([{**DATA, "device_name": "vda"}], NAMED, "", "vda is the name of the root disk. (InvalidVolume)"),
    ([ROOT_VOLUME], replace(BARE, count=2), "0.uuid", "to one instance only, and up to 2 are asked for"),
    ([SWAP, SWAP], NAMED, "", "Names 2 swap disks"),
    ([{**SWAP, "volume_size": 2048}], NAMED, "0.volume_size", "of 2048 MiB; the flavor has 1024"),
    ([SWAP], replace(BARE, image_id=IMAGE), "0.volume_size", "InvalidBDMSwapSize"),
    ([{**EPHEMERAL, "volume_size": 15}, {**EPHEMERAL, "volume_size": 6}], NAMED, "", "of 21 GiB; the flavor has 20"),
    ([EPHEMERAL], replace(BARE, image_id=IMAGE), "", "InvalidBDMEphemeralSize"),
    ([{**EPHEMERAL, "volume_size": 5}] * 3, NAMED, "", "Has 4 disks in its host's own storage; at most 3"),
    ([ROOT_VOLUME, DATA, DATA], replace(BARE, max_disks=2), "", "have 3 disks, those of its flavor among them; it has"),
    ([DATA], replace(NAMED, max_disks=3), "", "would have 4 disks"),
    ([{**DATA, "disk_bus": "sata"}] * 24, NAMED, "", "would have 27 disks"),
    ([{**ROOT_VOLUME, "no_device": True}], BARE, "0.no_device", "InvalidBDMFormat"),
]


@pytest.mark.parametrize(("value", "around", "field", "text"), REFUSED)
def test_a_wrong_mapping_is_refused_at_its_field(value: Any, around: DiskSurroundings, field: str, text: str) -> None:
    devices, problems = decided(value, around)
    place = f"block_device_mapping_v2.{field}".rstrip(".")
    assert devices == ()
    assert text in " ".join(problems[place]), problems


def test_root_disk_may_be_blank() -> None:
    for around in (BARE, NAMED):
        devices, problems = decided([{**DATA, "boot_index": 0}], around)
        assert (problems, devices[0].is_root, devices[0].makes_volume) == ({}, True, True)


def test_an_image_that_is_named_makes_the_root_disk_before_the_others() -> None:
    devices, problems = decided([{**DATA, "delete_on_termination": True}], NAMED)
    assert problems == {}
    root, data, ephemeral, swap = devices
    assert (root.source_id, root.device, root.size_gib, root.is_root, root.is_local) == (IMAGE, "vda", 10, True, True)
    assert (data.makes_volume, data.device, data.size_gib, data.delete_on_termination) == (True, "vdb", 4, True)
    assert (ephemeral.local_kind, ephemeral.size_gib, ephemeral.device) == ("ephemeral", 20, "vdc")
    assert (swap.local_kind, swap.size_mib, swap.device) == ("swap", 1024, "vdd")
    assert not boots_from_volume(devices)


def test_the_same_said_with_all_its_words() -> None:
    said = {"source_type": "image", "destination_type": "local", "uuid": str(IMAGE), "boot_index": "0"}
    devices, problems = decided([{**said, "delete_on_termination": True}], NAMED)
    assert problems == {}
    assert devices[0] == decided([DATA], NAMED)[0][0]


def test_boot_from_a_volume_takes_no_local_root() -> None:
    devices, problems = decided([{**DATA, "disk_bus": "sata"}, {**ROOT_VOLUME, "volume_size": "7"}])
    assert problems == {}
    assert [(one.device, one.boot_index, one.size_gib) for one in devices] == [("sda", -1, 4), ("vda", 0, 7)]
    assert boots_from_volume(devices)
    assert not any(one.is_local for one in devices)


def test_a_volume_of_a_snapshot_is_as_large_as_that_unless_it_is_said() -> None:
    said = {"source_type": "snapshot", "uuid": str(SNAPSHOT), "boot_index": 0}
    assert decided([said])[0][0].size_gib == 3
    assert decided([{**said, "volume_size": 9}])[0][0].size_gib == 9


def test_a_cdrom_is_on_a_bus_that_has_some() -> None:
    cdrom = {"source_type": "volume", "uuid": str(OTHER), "device_type": "cdrom", "boot_index": None}
    (_, device), problems = decided([ROOT_VOLUME, cdrom])
    assert problems == {}
    assert (device.disk_bus, device.device, device.boot_index) == ("sata", "sda", -1)


def test_named_local_disks_take_the_place_of_the_flavors() -> None:
    devices, problems = decided(
        [{**EPHEMERAL, "volume_size": 5, "guest_format": "ext3"}, {**SWAP, "volume_size": 64}], NAMED
    )
    assert problems == {}
    assert [(one.size_gib, one.size_mib) for one in devices] == [(10, 0), (5, 0), (0, 64)]


def test_a_row_of_before_is_read() -> None:
    (root,), _ = decided([ROOT_VOLUME])
    assert BlockDevice.from_dict({**root.to_dict(), "of_later": 1}) == root
