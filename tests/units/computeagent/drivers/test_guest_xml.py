import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuMode
from computeagent.drivers.libvirt.firmware import GuestFirmware
from computeagent.drivers.libvirt.guest_cpu import GuestCpu
from computeagent.drivers.libvirt.guest_options import NO_OPTIONS, guest_options
from computeagent.drivers.libvirt.guest_xml import (
    DOMAIN_NAME_LENGTH,
    METADATA_NAMESPACE,
    QEMU_NAMESPACE,
    DiskDevice,
    GuestDefinition,
    GuestMetadata,
    InterfaceDevice,
    canonical_uuid,
    domain_name,
    guest_xml,
    metadata_parse,
)
from computeagent.drivers.libvirt.xml_text import xml_text
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass

UUID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
HOSTILE = "</name><devices><disk type='file'><source file='/etc/shadow'/></disk></devices>&lt;\"']]>"
METADATA = GuestMetadata(UUID, "web-1", "p1", "i1", root_gib=10, ephemeral_gib=2, swap_mib=64)
DEFINITION = GuestDefinition(
    metadata_of_guest=METADATA,
    virt_type="qemu",
    vcpus=2,
    memory_mib=512,
    arch="x86_64",
    machine="pc",
    cpu=GuestCpu(CpuMode.MAXIMUM),
    disks=(
        DiskDevice(Path("/s/disk"), "qcow2", "virtio", "vda"),
        DiskDevice(Path("/s/config.iso"), "raw", "ide", "hdd", cdrom=True),
    ),
    interfaces=(InterfaceDevice("52:54:00:00:00:01", "virtio"),),
    serial_path=Path("/s/console.log"),
    video_model="vga",
    has_vnc=True,
    has_rng=True,
)


def parsed(definition: GuestDefinition) -> ET.Element:
    return ET.fromstring(guest_xml(definition))  # noqa: S314 - what we have just made


def metadata_in(domain: ET.Element) -> GuestMetadata:
    element = domain.find(f"metadata/{{{METADATA_NAMESPACE}}}instance")
    assert element is not None
    return metadata_parse(ET.tostring(element, encoding="unicode"))


def test_definition_becomes_domain_with_its_sizes() -> None:
    domain = parsed(DEFINITION)

    memory = domain.find("memory")
    assert memory is not None
    assert (domain.get("type"), memory.text, memory.get("unit"), domain.findtext("vcpu")) == ("qemu", "512", "MiB", "2")


def test_metadata_written_is_metadata_read() -> None:
    assert metadata_in(parsed(DEFINITION)) == METADATA


def test_metadata_without_namespaces_is_read() -> None:
    text = '<instance uuid="u"><name>n</name><project>p</project><image>i</image><disk root_gib="3"/></instance>'

    assert metadata_parse(text) == GuestMetadata("u", "n", "p", "i", root_gib=3, ephemeral_gib=0, swap_mib=0)


def test_hostile_name_stays_text() -> None:
    domain = parsed(replace(DEFINITION, metadata_of_guest=replace(METADATA, name=HOSTILE)))

    assert len(domain.findall("devices/disk")) == 2
    assert metadata_in(domain).name == HOSTILE


@given(st.text(), st.text())
def test_any_text_gives_xml_of_the_same_shape(name: str, project: str) -> None:
    domain = parsed(replace(DEFINITION, metadata_of_guest=replace(METADATA, name=name, project_id=project)))

    assert [element.tag for element in domain.iter()] == [element.tag for element in parsed(DEFINITION).iter()]


@pytest.mark.parametrize("character", ["\0", "\x01", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800"])
def test_character_that_xml_cannot_carry_is_replaced(character: str) -> None:
    assert xml_text(f"a{character}b") == "a\ufffdb"


def test_hostile_network_and_machine_stay_attributes() -> None:
    interface = InterfaceDevice("52:54:00:00:00:01", "virtio", network="x'/><boot dev='network'/>")
    domain = parsed(replace(DEFINITION, interfaces=(interface,), machine="pc'><x/>"))

    source = domain.find("devices/interface/source")
    assert source is not None
    assert source.get("network") == interface.network
    assert domain.find("os/x") is None


def test_disk_names_its_format_explicitly() -> None:
    formats = [driver.get("type") for driver in parsed(DEFINITION).findall("devices/disk/driver")]

    assert formats == ["qcow2", "raw"]


def test_cdrom_is_read_only() -> None:
    (cdrom,) = parsed(DEFINITION).findall("devices/disk[@device='cdrom']")

    assert cdrom.find("readonly") is not None


def arguments_of_qemu(definition: GuestDefinition) -> list[str]:
    return [each.get("value", "") for each in parsed(definition).iter(f"{{{QEMU_NAMESPACE}}}arg")]


def test_card_without_a_network_reaches_nobody() -> None:
    assert parsed(DEFINITION).find("devices/interface") is None
    assert arguments_of_qemu(DEFINITION) == [
        "-netdev",
        "user,id=isolated0,restrict=on,ipv6=off",
        "-device",
        "virtio-net-pci,netdev=isolated0,mac=52:54:00:00:00:01,bus=pci.0,addr=0x1a,romfile=",
    ]


@pytest.mark.parametrize(("machine", "bus"), [("pc-i440fx-7.2", "pci.0"), ("pc-q35-7.2", "pcie.0"), ("q35", "pcie.0")])
def test_cards_without_a_network_have_slots_of_their_own_on_the_machines_bus(machine: str, bus: str) -> None:
    cards = (InterfaceDevice("52:54:00:00:00:01", "e1000"), InterfaceDevice("52:54:00:00:00:02", "e1000"))
    arguments = arguments_of_qemu(replace(DEFINITION, machine=machine, interfaces=cards))

    assert [each.partition(f",bus={bus},addr=")[2] for each in arguments[3::4]] == ["0x1a,romfile=", "0x19,romfile="]


def test_guest_in_a_network_of_libvirt_needs_no_options_of_qemu() -> None:
    card = InterfaceDevice("52:54:00:00:00:01", "virtio", network="default")

    assert arguments_of_qemu(replace(DEFINITION, interfaces=(card,))) == []


def test_card_in_a_network_is_bound_to_its_mac_and_apart_from_the_others() -> None:
    card = InterfaceDevice("52:54:00:00:00:01", "virtio", network="default", is_filtered=True, is_isolated=True)
    domain = parsed(replace(DEFINITION, interfaces=(card,)))

    parameter, port = domain.find("devices/interface/filterref/parameter"), domain.find("devices/interface/port")
    assert domain.find("devices/interface/filterref[@filter='clean-traffic']") is not None
    assert parameter is not None
    assert port is not None
    assert parameter.attrib == {"name": "MAC", "value": "52:54:00:00:00:01"}
    assert port.attrib == {"isolated": "yes"}


def test_vnc_listens_on_no_port() -> None:
    graphics = parsed(DEFINITION).find("devices/graphics")

    assert graphics is not None
    assert graphics.attrib == {"type": "vnc"}
    assert [wait_for_wakeups.attrib for wait_for_wakeups in graphics] == [{"type": "socket"}]


def test_serial_log_is_appended_to() -> None:
    log = parsed(DEFINITION).find("devices/serial[@type='pty']/log")

    assert log is not None
    assert log.attrib == {"file": "/s/console.log", "append": "on"}


def test_simulated_definition_has_no_devices() -> None:
    domain = parsed(GuestDefinition(metadata_of_guest=METADATA, virt_type="test", vcpus=1, memory_mib=64))

    assert list(domain.findall("devices/*")) == []


def test_domain_name_has_its_declared_length() -> None:
    assert domain_name(UUID) == "i-f81d4fae7dec"
    assert len(domain_name(UUID)) == DOMAIN_NAME_LENGTH


@pytest.mark.parametrize("text", ["", "../../etc", "f81d4fae", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6/.."])
def test_text_that_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(DriverError, match="is not a uuid"):
        canonical_uuid(text)


def optioned(specs: dict[str, str], properties: dict[str, str] | None = None, *, virt_type: str = "kvm") -> ET.Element:
    guest = GuestSpec(
        uuid=UUID, name="n", project_id="p", vcpus=4, memory_mib=64, root_gib=1, ephemeral_gib=0, swap_mib=0,
        image_id="i", image_checksum="", image_size_bytes=0, image_disk_format="raw",
        extra_specs=specs, image_properties=properties or {},
    )  # fmt: skip
    card = InterfaceDevice("52:54:00:00:00:01", "virtio", network="default")
    definition = replace(DEFINITION, virt_type=virt_type, interfaces=(card,), options=guest_options(guest))
    return parsed(definition)


@pytest.mark.parametrize(
    ("specs", "properties", "path", "value"),
    [
        ({"quota:disk_read_bytes_sec": "5"}, {}, "devices/disk/iotune/read_bytes_sec", "5"),
        ({"quota:disk_total_iops_sec": "7"}, {}, "devices/disk/iotune/total_iops_sec", "7"),
        ({"quota:vif_inbound_average": "9"}, {}, "devices/interface/bandwidth/inbound[@average='9']", None),
        (
            {"quota:vif_outbound_average": "9", "quota:vif_outbound_burst": "8"},
            {},
            "devices/interface/bandwidth/outbound[@average='9'][@burst='8']",
            None,
        ),
        ({"hw:vif_multiqueue_enabled": "yes"}, {}, "devices/interface/driver[@queues='4']", None),
        ({"hw:watchdog_action": "reset"}, {}, "devices/watchdog[@action='reset']", None),
        ({"hw:watchdog_action": "reset"}, {"hw_watchdog_action": "pause"}, "devices/watchdog[@action='pause']", None),
        ({"hw:boot_menu": "true"}, {}, "os/bootmenu[@enable='yes']", None),
        ({"hw:pmu": "no"}, {}, "features/pmu[@state='off']", None),
        ({"hw:hide_hypervisor_id": "1"}, {}, "features/kvm/hidden[@state='on']", None),
        ({}, {"img_hide_hypervisor_id": "on"}, "features/kvm/hidden[@state='on']", None),
        (
            {"hw_rng:rate_bytes": "10", "hw_rng:rate_period": "20"},
            {},
            "devices/rng/rate[@bytes='10'][@period='20']",
            None,
        ),
        ({"hw_video:ram_max_mb": "32"}, {"hw_video_ram": "16"}, "devices/video/model[@vram='16384']", None),
        ({"hw:serial_port_count": "3"}, {}, "devices/serial[@type='null']/target[@port='2']", None),
        ({"hw:sound_model": "ich6"}, {}, "devices/sound[@model='ich6']", None),
        ({}, {"hw_usb_model": "none"}, "devices/controller[@type='usb'][@model='none']", None),
        ({}, {"hw_pointer_model": "usbtablet"}, "devices/input[@type='tablet'][@bus='usb']", None),
        ({}, {"hw_input_bus": "virtio"}, "devices/input[@type='tablet'][@bus='virtio']", None),
        ({}, {"hw_time_hpet": "yes"}, "clock/timer[@name='hpet'][@present='yes']", None),
        ({"hw:serial_port_count": "5"}, {}, "devices/serial[@type='null']/target[@port='4'][@type='pci-serial']", None),
        ({"hw:virtio_packed_ring": "yes"}, {}, "devices/interface/driver[@packed='on']", None),
        ({"hw:virtio_packed_ring": "yes"}, {}, "devices/disk/driver[@packed='on']", None),
        (
            {"hw:tpm_version": "2.0"},
            {},
            "devices/tpm[@model='tpm-tis']/backend[@type='emulator'][@version='2.0']",
            None,
        ),
        ({}, {"hw_tpm_version": "2.0", "hw_tpm_model": "tpm-crb"}, "devices/tpm[@model='tpm-crb']/backend", None),
        ({"hw:viommu_model": "intel"}, {}, "devices/iommu[@model='intel']/driver[@intremap='on']", None),
        ({"hw:viommu_model": "intel"}, {}, "features/ioapic[@driver='qemu']", None),
        ({}, {"hw_viommu_model": "virtio"}, "devices/iommu[@model='virtio']", None),
        ({}, {"hw_scsi_model": "lsilogic"}, "devices/controller[@type='scsi'][@model='lsilogic']", None),
        (
            {"hw:maxphysaddr_mode": "emulate", "hw:maxphysaddr_bits": "40"},
            {},
            "cpu/maxphysaddr[@mode='emulate'][@bits='40']",
            None,
        ),
        ({"hw:maxphysaddr_mode": "passthrough"}, {}, "cpu/maxphysaddr[@mode='passthrough']", None),
        ({}, {"hw_qemu_guest_agent": "yes"}, "devices/channel/target[@name='org.qemu.guest_agent.0']", None),
    ],
)
def test_what_flavor_or_image_say_is_in_the_definition(
    specs: dict[str, str], properties: dict[str, str], path: str, value: str | None
) -> None:
    assert optioned({}).find(path) is None

    element = optioned(specs, properties).find(path)

    assert element is not None
    assert element.text == value


def test_flavor_may_forbid_the_random_number_generator() -> None:
    assert optioned({}).find("devices/rng") is not None
    assert optioned({"hw_rng:allowed": "no"}).find("devices/rng") is None


def test_emulated_cpu_hides_the_hypervisor_by_itself() -> None:
    path = "cpu/feature[@policy='disable'][@name='hypervisor']"

    assert optioned({}, virt_type="qemu").find(path) is None
    assert optioned({"hw:hide_hypervisor_id": "yes"}, virt_type="qemu").find(path) is not None
    assert optioned({"hw:hide_hypervisor_id": "yes"}, virt_type="kvm").find(path) is None


@pytest.mark.parametrize(
    ("model", "name", "target"),
    [
        ("vmpvscsi", "sdb", "1"),
        ("vmpvscsi", "sdz", "25"),
        ("vmpvscsi", "sdbm", None),
        ("lsisas1068", "sda", "0"),
        ("lsisas1068", "sdz", "7"),
        ("lsisas1068", "sdi", None),
        ("lsilogic", "sdz", None),
        ("", "sdb", None),
    ],
)
def test_disk_has_a_target_of_its_own_where_one_has_a_single_unit(model: str, name: str, target: str | None) -> None:
    disk = DiskDevice(Path("/s/disk"), "qcow2", "scsi", name)
    options = replace(NO_OPTIONS, scsi_model=model)
    address = parsed(replace(DEFINITION, disks=(disk,), options=options)).find("devices/disk/address")
    assert (None if address is None else (address.get("target"), address.get("unit"))) == (target and (target, "0"))


def test_disk_on_a_scsi_bus_brings_its_controller() -> None:
    disk = DiskDevice(Path("/s/disk"), "qcow2", "scsi", "sda")

    assert parsed(DEFINITION).find("devices/controller[@type='scsi']") is None
    domain = parsed(replace(DEFINITION, disks=(disk,)))
    assert domain.find("devices/controller[@type='scsi'][@model='virtio-scsi']") is not None


FIRMWARE = GuestFirmware(Path("/f/CODE.fd"), Path("/f/VARS.fd"), Path("/s/nvram.fd"))


def test_uefi_keeps_the_guests_own_variables() -> None:
    domain = parsed(replace(DEFINITION, firmware=FIRMWARE))

    loader, nvram = domain.find("os/loader"), domain.find("os/nvram")
    assert loader is not None
    assert nvram is not None
    assert (loader.attrib, loader.text) == ({"readonly": "yes", "type": "pflash"}, "/f/CODE.fd")
    assert (nvram.attrib, nvram.text) == ({"template": "/f/VARS.fd"}, "/s/nvram.fd")
    assert domain.find("features/smm") is None


def test_secure_boot_is_held_by_the_loader_and_by_management_mode() -> None:
    domain = parsed(replace(DEFINITION, firmware=replace(FIRMWARE, is_secure=True, has_smm=True)))

    assert domain.find("os/loader[@secure='yes']") is not None
    assert domain.find("features/smm[@state='on']") is not None


def test_stateless_firmware_has_no_variables() -> None:
    domain = parsed(replace(DEFINITION, firmware=replace(FIRMWARE, variables=None)))

    assert domain.find("os/loader[@stateless='yes']") is not None
    assert domain.find("os/nvram") is None


def test_config_drive_has_no_limits() -> None:
    domain = optioned({"quota:disk_read_bytes_sec": "5"})

    assert domain.find("devices/disk[@device='cdrom']/iotune") is None


def test_disabled_watchdog_is_none() -> None:
    domain = optioned({"hw:watchdog_action": "reset"}, {"hw_watchdog_action": "disabled"})

    assert domain.find("devices/watchdog") is None


@pytest.mark.parametrize(
    ("specs", "reported"),
    [
        ({"quota:disk_total_bytes_sec": "1", "quota:disk_write_bytes_sec": "1"}, "goes without"),
        ({"quota:vif_inbound_peak": "1"}, "average must be set"),
        ({"hw:sound_model": "pcspk"}, "not possible here"),
        ({"hw:viommu_model": "smmuv3"}, "not possible here"),
        ({"hw:tpm_version": "3.0"}, "not possible here"),
        ({"hw:mem_encryption": "yes"}, "not possible here"),
        ({"hw:ephemeral_encryption": "yes"}, "not possible here"),
        ({"hw:serial_port_count": "17"}, "is above 16"),
        ({"quota:disk_read_iops_sec": "1 <x/>"}, "whole number"),
    ],
)
def test_option_that_cannot_be_given_is_the_users_fault(specs: dict[str, str], reported: str) -> None:
    with pytest.raises(DriverError, match=reported) as caught:
        optioned(specs)
    assert caught.value.failure_class is FailureClass.USER


@pytest.mark.parametrize("kind", ["qemu", "kvm", "test"])
def test_no_guest_is_offered_a_sleep_from_which_nobody_wakes_it(kind: str) -> None:
    power = parsed(replace(DEFINITION, virt_type=kind)).find("pm")
    assert power is not None
    assert {each.tag: each.get("enabled") for each in power} == {"suspend-to-mem": "no", "suspend-to-disk": "no"}
