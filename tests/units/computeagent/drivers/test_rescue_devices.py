"""Where the disks of a guest in rescue are."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.guest_xml import DiskDevice, GuestDefinition, guest_metadata, guest_xml
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.rescue import boots_kernel, rescue_devices
from computeagent.protocol.guest_config import BootFile, DirectBoot, FirstBoot
from computeagent.protocol.guests import GuestSpec, RescueImage
from computeagent.protocol.steps import FailureClass

RESCUE_PATH = Path("/i/disk.rescue")
Place = tuple[str, str, bool]


def own(
    bus: str = "virtio", prefix: str = "vd", names: tuple[str, ...] = ("disk", "ephemeral", "swap")
) -> list[DiskDevice]:
    disks = [DiskDevice(Path("/i") / name, "raw", bus, f"{prefix}{'abc'[at]}") for at, name in enumerate(names)]
    return [*disks, DiskDevice(Path("/i/config.iso"), "raw", "ide", "hdd", cdrom=True)]


def places(guest: GuestSpec, disks: list[DiskDevice], **properties: str) -> dict[str, Place]:
    """By name: bus, target, and whether the guest boots from it."""
    found = rescue_devices(guest, RescueImage("r", "", 0, "raw", dict(properties)), tuple(disks), path=RESCUE_PATH)
    assert len({disk.target for disk in found}) == len(found)
    return {disk.path.name: (disk.bus, disk.target, disk.boot_order == 1) for disk in found}


def test_rescue_disk_takes_the_first_place_and_the_others_move_up(guest_spec: GuestSpec) -> None:
    assert places(guest_spec, own()) == {
        "disk.rescue": ("virtio", "vda", True),
        "disk": ("virtio", "vdb", False),
        "ephemeral": ("virtio", "vdc", False),
        "config.iso": ("ide", "hdd", False),
    }


def test_ide_has_room_beside_the_config_drive(guest_spec: GuestSpec) -> None:
    ide = replace(guest_spec, image_properties={"hw_disk_bus": "ide"})
    assert places(ide, own("ide", "hd")) == {
        "disk.rescue": ("ide", "hda", True),
        "disk": ("ide", "hdb", False),
        "ephemeral": ("ide", "hdc", False),
        "config.iso": ("ide", "hdd", False),
    }


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        ({"hw_rescue_bus": "virtio"}, ("virtio", "vdc", True)),
        ({"hw_rescue_bus": "usb"}, ("usb", "sda", True)),
        ({"hw_rescue_bus": "ide"}, ("ide", "hda", True)),
        ({"hw_rescue_device": "disk"}, ("virtio", "vdc", True)),
        ({"hw_rescue_device": "cdrom"}, ("ide", "hda", True)),
        ({"hw_rescue_device": "cdrom", "hw_rescue_bus": "sata"}, ("sata", "sda", True)),
    ],
)
def test_image_that_names_a_device_or_bus_leaves_the_own_disks_where_they_are(
    guest_spec: GuestSpec, properties: dict[str, str], place: Place
) -> None:
    found = places(guest_spec, own(), **properties)
    assert found.pop("disk.rescue") == place
    assert {name: target for name, (_, target, _) in found.items()} == {
        "disk": "vda", "ephemeral": "vdb", "config.iso": "hdd",
    }  # fmt: skip


@pytest.mark.parametrize(
    "properties",
    [
        {"hw_rescue_device": "floppy"},
        {"hw_rescue_bus": "xen"},
        {"hw_rescue_device": "cdrom", "hw_rescue_bus": "virtio"},
    ],
)
def test_what_cannot_be_given_is_the_images_fault(guest_spec: GuestSpec, properties: dict[str, str]) -> None:
    with pytest.raises(DriverError, match="possible here") as refused:
        places(guest_spec, own(), **properties)
    assert refused.value.failure_class is FailureClass.USER


def test_bus_that_is_full_is_refused(guest_spec: GuestSpec) -> None:
    ide = replace(guest_spec, image_properties={"hw_disk_bus": "ide"})
    with pytest.raises(DriverError, match="no place left"):
        places(ide, own("ide", "hd", ("disk", "ephemeral", "config.img")))


def test_guest_boots_from_the_disk_that_has_the_order_and_from_no_other(guest_spec: GuestSpec) -> None:
    disks = rescue_devices(guest_spec, RescueImage("r", "", 0, "raw"), tuple(own()), path=RESCUE_PATH)
    definition = GuestDefinition(guest_metadata(guest_spec), "qemu", 1, 64, disks=disks)
    domain = ET.fromstring(guest_xml(definition))  # noqa: S314 - what we have just made
    assert domain.find("os/boot") is None
    booted = [disk for disk in domain.findall("devices/disk") if disk.find("boot") is not None]
    assert [disk.find("source").get("file") for disk in booted] == ["/i/disk.rescue"]  # type: ignore[union-attr]


def test_kernel_of_the_image_starts_a_rescue_by_that_image_alone(guest_spec: GuestSpec) -> None:
    boots = replace(guest_spec, direct_boot=DirectBoot(BootFile("k", "c", 1)))
    assert boots_kernel(boots)
    assert boots_kernel(replace(boots, rescue=RescueImage(guest_spec.image_id, "", 0, "raw")))
    assert not boots_kernel(replace(boots, rescue=RescueImage("other", "", 0, "raw")))
    assert not boots_kernel(guest_spec)


def test_password_is_on_a_drive_of_the_rescue_alone(
    guest_spec: GuestSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu_img, "image_inspect", lambda *_: SimpleNamespace(disk_format="raw"))
    monkeypatch.setattr(qemu_img, "overlay_create", lambda path, *_, **__: path.touch())
    monkeypatch.setattr(ImageCache, "path", lambda *_: tmp_path / "base")
    image = RescueImage("r", "", 0, "raw", {})
    guest = replace(guest_spec, rescue=image, first_boot=FirstBoot(admin_password="a-word-of-rescue"))
    files, images = InstanceFiles(tmp_path), ImageCache(tmp_path)
    files.directory(guest.uuid).mkdir(parents=True)
    own_drive = files.directory(guest.uuid) / "config.iso"
    own_drive.touch()

    for _ in range(2):  # an agent that starts again begins anew
        files.make_rescue_disk(guest, images)
    (drive,) = (disk.path for disk in files.devices(guest) if disk.cdrom)
    assert b"a-word-of-rescue" in drive.read_bytes()

    files.remove_rescue_disk(guest.uuid)
    assert [disk.path for disk in files.devices(replace(guest, rescue=None)) if disk.cdrom] == [own_drive]
    assert not drive.exists()
