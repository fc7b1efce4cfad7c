"""Volumes as disks: names, sources, limits, secrets; and the disks of a host's own beside them."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_options import NO_OPTIONS
from computeagent.drivers.libvirt.local_disks import boot_orders, local_files
from computeagent.drivers.libvirt.volume_cache import volume_cache
from computeagent.drivers.libvirt.volume_xml import (
    VolumeDevice,
    disk_of,
    secret_xml,
    target_of,
    volume_devices,
    volume_disk,
    volume_secrets,
)
from computeagent.protocol.guests import GuestSpec, RescueImage
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import (
    DiskSource,
    GuestVolume,
    LocalDisk,
    LocalDiskKind,
    PoolKind,
    VolumeQos,
)
from tests.units.computeagent.drivers.guest_samples import VOLUMES, volume_of

FILE, NBD, RBD = VOLUMES


def disk(volume: GuestVolume, **changes: Any) -> ET.Element:
    return volume_disk(VolumeDevice(volume, "vdb", **changes), NO_OPTIONS)


def attributes(element: ET.Element, path: str) -> dict[str, str]:
    found = element.find(path)
    assert found is not None, path
    return dict(found.attrib)


def test_file_volume_stops_its_guest_when_it_fails_and_bypasses_the_page_cache() -> None:
    found = disk(FILE)
    assert attributes(found, "driver") == {
        "name": "qemu",
        "type": "qcow2",
        "cache": "none",
        "discard": "unmap",
        "error_policy": "stop",
        "rerror_policy": "stop",
    }
    assert (found.get("type"), attributes(found, "source")) == ("file", {"file": "/volumes/<1>"})
    assert found.findtext("serial") == FILE.volume.id
    assert attributes(disk(FILE, cache="writeback"), "driver")["cache"] == "writeback"


def test_limits_are_in_the_disk_and_a_total_goes_without_its_parts() -> None:
    tuned = {element.tag: element.text for element in disk(FILE).iterfind("iotune/*")}
    assert tuned == {"total_iops_sec": "500", "read_bytes_sec": "1000", "write_bytes_sec": "2000"}
    assert disk(NBD).find("iotune") is None
    with pytest.raises(DriverError, match="total iops goes without") as refused:
        disk(replace(FILE, qos=VolumeQos(total_iops=1, read_iops=1)))
    assert refused.value.failure_class is FailureClass.USER


def test_nbd_by_address_or_by_socket() -> None:
    found = disk(NBD)
    assert attributes(found, "source") == {"protocol": "nbd", "name": "volume-2"}
    assert attributes(found, "source/host") == {"name": "10.0.0.5", "port": "10809"}
    assert found.find("readonly") is not None and found.find("shareable") is None
    by_socket = disk(volume_of(4, DiskSource(PoolKind.NBD, socket="/run/4.sock", export="4")))
    assert attributes(by_socket, "source/host") == {"transport": "unix", "socket": "/run/4.sock"}


def test_rbd_names_its_monitors_and_a_secret_and_not_the_key() -> None:
    found = disk(RBD)
    hosts = [dict(host.attrib) for host in found.iterfind("source/host")]
    assert hosts == [{"name": "10.0.0.1", "port": "6789"}, {"name": "2001:db8::1", "port": "6789"}, {"name": "monitor"}]
    assert attributes(found, "source/auth") == {"username": "kilonova"}
    assert found.find("shareable") is not None
    assert "c2VjcmV0" not in ET.tostring(found, encoding="unicode")


def test_secrets_are_ephemeral_private_and_one_for_each_guest_of_a_volume() -> None:
    luks, ceph = volume_secrets(VOLUMES)
    assert (luks.usage, ceph.usage) == ("volume", "ceph")
    assert attributes(disk(NBD), "source/encryption/secret") == {"type": "passphrase", "uuid": luks.uuid}
    assert attributes(disk(RBD), "source/auth/secret") == {"type": "ceph", "uuid": ceph.uuid}
    for secret in (luks, ceph):
        element = ET.fromstring(secret_xml(secret))  # noqa: S314 - what we have just made
        assert (element.get("ephemeral"), element.get("private")) == ("yes", "yes")
        assert "open sesame" not in secret_xml(secret) and "c2VjcmV0" not in secret_xml(secret)
    other = replace(RBD, attachment_id="00000000-0000-0000-0000-0000000000b9")
    assert volume_secrets([other])[0].uuid != ceph.uuid
    assert volume_secrets([other])[0].name != ceph.name


def test_volume_that_nobody_connected_or_that_several_may_not_have_is_no_disk() -> None:
    with pytest.raises(DriverError, match="not connected"):
        disk(replace(FILE, source=None))
    with pytest.raises(DriverError, match="one guest alone"):
        disk(replace(FILE, is_shared=True))
    with pytest.raises(DriverError, match="cannot be a 'lun'"):
        disk(replace(FILE, device_type="lun"))
    with pytest.raises(DriverError, match="no disk can be on 'fdc'"):
        volume_devices([replace(FILE, bus="fdc")], (), boot_orders={}, caches={})


def test_disk_is_found_by_its_volume() -> None:
    domain = ET.Element("domain")
    ET.SubElement(domain, "devices").extend([disk(FILE), disk(NBD)])
    text = ET.tostring(domain, encoding="unicode")
    found = disk_of(text, NBD.volume.id)
    assert found is not None and target_of(found) == "vdb"
    assert disk_of(text, RBD.volume.id) is None


def names(volumes: list[GuestVolume], *taken: str) -> list[str]:
    return [device.target for device in volume_devices(volumes, taken, boot_orders={}, caches={})]


def test_volume_is_called_as_promised_where_that_is_free() -> None:
    promised = [replace(FILE, device="/dev/vdc"), replace(RBD, device="vdb"), replace(NBD, device="")]
    assert names(promised, "vda", "sda") == ["vdc", "vdb", "sdb"]
    assert names([replace(FILE, device="vda"), replace(RBD, device="sda")], "vda") == ["vdb", "vdc"]
    assert names([replace(FILE, device="")], *(f"vd{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")) == ["vdaa"]
    with pytest.raises(DriverError, match="no place left for a disk on ide"):
        names([replace(FILE, bus="ide", device="")], "hda", "hdb", "hdc", "hdd")


def test_disks_of_the_flavor_are_there_unless_they_are_named(guest_spec: GuestSpec) -> None:
    plain = replace(guest_spec, ephemeral_gib=1, swap_mib=64)
    assert [(one.name, one.target) for one in local_files(plain)] == [
        ("disk", "vda"),
        ("ephemeral", "vdb"),
        ("swap", "vdc"),
    ]
    named = replace(
        plain,
        has_local_root=False,
        local_disks=(
            LocalDisk(LocalDiskKind.EPHEMERAL, 1024),
            LocalDisk(LocalDiskKind.EPHEMERAL, 512, bus="scsi", disk_format="vfat"),
            LocalDisk(LocalDiskKind.SWAP, 64, device="vdf"),
        ),
    )
    first, second, swap = local_files(named, promised={"vda"})
    assert [(one.name, one.target) for one in (first, second, swap)] == [
        ("ephemeral", "vdb"),
        ("ephemeral1", "sda"),
        ("swap", "vdf"),
    ]
    assert first.format_command == ("mkfs.ext4", "-q", "-F", "-L", "ephemeral0")
    assert second.format_command == ("mkfs.vfat", "-n", "ephemeral1")
    assert (first.size_bytes, swap.size_bytes) == (2**30, 64 * 2**20)
    assert local_files(replace(plain, local_disks=())) == local_files(replace(plain, ephemeral_gib=0, swap_mib=0))


@pytest.mark.parametrize(
    "wrong",
    [
        LocalDisk(LocalDiskKind.EPHEMERAL, 1, disk_format="../../ext4"),
        LocalDisk(LocalDiskKind.EPHEMERAL, 1, bus="xen"),
    ],
)
def test_local_disk_that_cannot_be_is_its_owners_fault(wrong: LocalDisk, guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="possible here") as refused:
        local_files(replace(guest_spec, local_disks=(wrong,)))
    assert refused.value.failure_class is FailureClass.USER


def test_boot_orders_follow_the_indexes_and_a_guest_without_volumes_has_none(guest_spec: GuestSpec) -> None:
    assert boot_orders(replace(guest_spec, ephemeral_gib=1)) == {}
    data = replace(guest_spec, volumes=(FILE,))
    assert boot_orders(data) == {"disk": 1}
    from_volume = replace(
        guest_spec,
        has_local_root=False,
        local_disks=(LocalDisk(LocalDiskKind.SWAP, 64, boot_index=7),),
        volumes=(replace(FILE, boot_index=3), replace(RBD, boot_index=0), NBD),
    )
    assert boot_orders(from_volume) == {RBD.volume.id: 1, FILE.volume.id: 2, "swap": 3}
    assert boot_orders(replace(from_volume, rescue=RescueImage("r", "", 0, "raw"))) == {}


def test_cache_is_bypassed_wherever_the_files_system_can(tmp_path: Any) -> None:
    path = tmp_path / "volume"
    path.write_bytes(bytes(4096))
    on_disk = replace(FILE, source=DiskSource(PoolKind.FILE, path=str(path)))
    assert volume_cache(on_disk) in ("none", "writeback")
    assert volume_cache(replace(FILE, source=DiskSource(PoolKind.FILE, path=str(tmp_path / "none such")))) == "none"
    assert volume_cache(RBD) == "none"
    # The kernel's own files cannot be read so.
    assert volume_cache(replace(FILE, source=DiskSource(PoolKind.FILE, path="/proc/version"))) == "writeback"


def test_server_that_wants_certificates_is_spoken_to_by_tls() -> None:
    guarded = DiskSource(PoolKind.NBD, host="10.0.0.5", port=10809, has_tls=True, export="one")
    source = attributes(disk(replace(NBD, source=guarded)), "source")
    assert source == {"protocol": "nbd", "name": "one", "tls": "yes"}
    assert "tls" not in attributes(disk(replace(NBD, source=replace(guarded, has_tls=False))), "source")
