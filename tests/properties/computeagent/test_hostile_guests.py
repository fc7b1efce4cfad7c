"""No text from outside changes the structure of a guest's definition, or leads to a file outside the instance's folder.

Names, metadata, user data, properties, extra specs, tags, networks, MACs, uuids and checksums come from users, or from
whoever got hold of the control plane. Text that fits nowhere is refused as the user's fault.
"""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuFlag, CpuMode
from computeagent.drivers.libvirt.firmware import VARIABLES
from computeagent.drivers.libvirt.guest_cpu import CpuModel, HostCpus
from computeagent.drivers.libvirt.guest_xml import METADATA_NAMESPACE, QEMU_NAMESPACE
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.xml_text import xml_text
from computeagent.protocol.guests import PortSpec
from servers.catalog.domain.extra_specs import EXTRA_SPEC_RULES
from servers.images.domain.image_properties import PROPERTY_RULES
from tests.units.computeagent.drivers.guest_samples import PLAIN, SAMPLES, Sample, sample_xml

ATTACKS = st.sampled_from(
    [
        "</name><devices><disk type='file'><source file='/etc/shadow'/></disk></devices>",
        "'/><boot dev='network'/><x y='",
        '"><qemu:arg value="-monitor"/>',
        "]]><!--",
        "&lt;&#x0;&amp;",
        "<!DOCTYPE d [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
        "../../../etc/passwd",
        "/etc/passwd",
        "..",
        "pc,accel=kvm",
        "virtio,netdev=host",
        "52:54:00:00:00:01,id=x",
        "\0",
        "\ud800\ufffe\x1b[2J\u202e",
        "uefi",
        "yes",
        "1",
        "-1",
        "9" * 30,
        "\u0661\u0662",
    ]
)
TEXT = ATTACKS | st.text(max_size=40) | st.builds(str.__add__, ATTACKS, ATTACKS)
SPECS = st.dictionaries(st.sampled_from([rule.key for rule in EXTRA_SPEC_RULES]) | TEXT, TEXT, max_size=6)
PROPERTIES = st.dictionaries(st.sampled_from([rule.key for rule in PROPERTY_RULES]) | TEXT, TEXT, max_size=6)
KINDS = st.sampled_from(["emulated", "options", "secure", "placed"])


def parsed(sample: Sample, directory: Path) -> ET.Element:
    return ET.fromstring(sample_xml(sample, directory))  # noqa: S314 - what we have just made


def shape(root: ET.Element) -> list[tuple[str, tuple[str, ...]]]:
    """Every element in its order, with the names of its attributes."""
    return [(element.tag, tuple(sorted(element.attrib))) for element in root.iter()]


def words(root: ET.Element) -> set[tuple[str, str]]:
    """Every pair of an element and an attribute."""
    return {(element.tag, name) for element in root.iter() for name in ("", *element.attrib)}


def files_in(root: ET.Element) -> set[Path]:
    """Every file that libvirt would open for QEMU, but for the firmware's, which is the host's own."""
    found = [element.get("file") or element.get("path") for element in root.iter("source")]
    found += [element.text for name in ("nvram", "kernel", "initrd") for element in root.iter(name)]
    return {Path(name) for name in found if name is not None}


@given(kind=KINDS, name=TEXT, project=TEXT, image=TEXT, metadata=st.dictionaries(TEXT, TEXT, max_size=3), other=TEXT)
def test_text_that_is_only_carried_along_changes_no_element(
    tmp_path_factory, kind: str, name: str, project: str, image: str, metadata: dict[str, str], other: str
) -> None:
    directory = tmp_path_factory.getbasetemp() / "carried"
    sample = SAMPLES[kind]
    hostile = replace(
        sample.guest,
        name=name,
        project_id=project,
        image_id=image,
        metadata=metadata,
        user_data_base64=other,
        key_name=other,
        public_key=other,
        availability_zone=other,
    )

    found = parsed(replace(sample, guest=hostile), directory)

    assert shape(found) == shape(parsed(sample, directory))
    mark = f"metadata/{{{METADATA_NAMESPACE}}}instance/{{{METADATA_NAMESPACE}}}"
    # XML reads every end of line as one character.
    written = xml_text(name).replace("\r\n", "\n").replace("\r", "\n")
    assert (found.findtext(f"{mark}name") or "") == written


@given(specs=SPECS, properties=PROPERTIES, kind=st.sampled_from(["kvm", "qemu"]))
def test_specs_and_properties_say_nothing_that_is_not_in_the_vocabulary(
    tmp_path_factory, specs: dict[str, str], properties: dict[str, str], kind: str
) -> None:
    directory = tmp_path_factory.getbasetemp() / "specified"
    guest = replace(PLAIN, extra_specs=specs, image_properties=properties)
    try:
        root = parsed(Sample(guest, kind), directory)
    except DriverError:
        return
    known = {pair for each in SAMPLES.values() for pair in words(parsed(each, directory))}

    assert words(root) <= known
    assert root.find("name").text == "i-f81d4fae7dec"
    instance = InstanceFiles(directory).directory(guest.uuid)
    assert all(file.parent == instance for file in files_in(root))
    assert {path.name for path in files_in(root)} <= {
        "disk", "ephemeral", "swap", "config.iso", "console.log", VARIABLES,
    }  # fmt: skip


@given(model=TEXT, flag=TEXT, kind=st.sampled_from(["kvm", "qemu"]))
def test_names_of_the_operators_cpus_change_no_element(tmp_path_factory, model: str, flag: str, kind: str) -> None:
    directory = tmp_path_factory.getbasetemp() / "cpus"

    def root_with(model: str, flag: str) -> ET.Element:
        flags = (CpuFlag("aes"), CpuFlag(flag, is_on=False))
        cpus = HostCpus(CpuMode.CUSTOM, models=(CpuModel(model),), flags=flags, is_emulated=kind == "qemu")
        return parsed(Sample(PLAIN, kind, cpus=cpus), directory)

    assert shape(root_with(model, flag)) == shape(root_with("Nehalem", "mpx"))


@given(mac=TEXT, network=TEXT)
def test_ports_add_cards_and_nothing_else(tmp_path_factory, mac: str, network: str) -> None:
    directory = tmp_path_factory.getbasetemp() / "ports"
    good = PortSpec(mac="52:54:00:00:00:01", network="default")
    root = parsed(Sample(replace(PLAIN, ports=(replace(good, network=network or "default"),))), directory)

    assert shape(root) == shape(parsed(Sample(replace(PLAIN, ports=(good,))), directory))
    try:
        alone = parsed(Sample(replace(PLAIN, ports=(PortSpec(mac=mac, network=""),))), directory)
    except DriverError:
        return
    arguments = [each.get("value", "") for each in alone.iter(f"{{{QEMU_NAMESPACE}}}arg")]
    assert len(arguments) == 4
    assert arguments[3].count(",") == 5


@given(guest_uuid=TEXT)
def test_no_uuid_leads_out_of_the_instances(guest_uuid: str) -> None:
    files = InstanceFiles(Path("/var/lib/kilonova"))
    try:
        directory = files.directory(guest_uuid)
    except DriverError:
        return

    assert directory.parent == files.root
    assert files.console_path(guest_uuid).parent == files.variables_path(guest_uuid).parent == directory


@given(checksum=TEXT | st.text("0123456789abcdef", min_size=64, max_size=64))
def test_no_checksum_leads_out_of_the_cache(checksum: str) -> None:
    assume(checksum)
    try:
        path = ImageCache(Path("/cache")).path(replace(PLAIN, image_checksum=checksum))
    except DriverError:
        return

    assert path.parent == Path("/cache")
