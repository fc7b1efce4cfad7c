"""What is known of hosts without a hypervisor: capabilities, URIs, embedded roots, hardware of guests."""

import os
from dataclasses import replace
from pathlib import Path

import os_traits
import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.factory import driver_open
from computeagent.drivers.libvirt.boot_sector import SECTOR_BYTES, boot_sector
from computeagent.drivers.libvirt.capabilities import CPU_TRAITS, capabilities_parse, traits_of
from computeagent.drivers.libvirt.domains import vnc_socket
from computeagent.drivers.libvirt.embedded import ROOT_MAX_BYTES, embedded_root_prepare, qemu_account
from computeagent.drivers.libvirt.guest_hardware import disk_bus, mac_of, machine_type, ports_of
from computeagent.drivers.libvirt.networks import guest_network, nat_network_xml, network_by_mac
from computeagent.drivers.libvirt.qemu_account import QEMU_USER, qemu_conf
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.steps import FailureClass

CAPABILITIES = """
<capabilities><host><cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor>
<topology sockets='1' dies='1' cores='4' threads='2'/><feature name='avx2'/><feature name='aes'/></cpu></host>
<guest><os_type>hvm</os_type><arch name='x86_64'><domain type='qemu'/><domain type='kvm'/></arch></guest>
</capabilities>"""


def test_capabilities_give_cpu_and_supported_instances() -> None:
    found = capabilities_parse(CAPABILITIES)

    assert found.supported_instances == (("x86_64", "kvm", "hvm"), ("x86_64", "qemu", "hvm"))
    assert found.cpu_info["topology"] == {"sockets": 1, "cores": 4, "threads": 2}
    assert found.cpu_features == ("aes", "avx2")


def test_every_trait_we_may_report_is_a_standard_one() -> None:
    ours = {*traits_of("x86_64", tuple(CPU_TRAITS)), *traits_of("aarch64", ())}

    assert ours - set(os_traits.get_traits()) == set()


def test_cpu_features_become_traits() -> None:
    assert "HW_CPU_X86_AVX2" in traits_of("x86_64", ("avx2",))
    assert "HW_CPU_X86_AVX2" not in traits_of("x86_64", ())


@pytest.mark.parametrize("uri", ["", "xen:///", "/etc", "qemux:///system"])
def test_unknown_uri_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(DriverError, match="is no hypervisor"):
        driver_open(uri, tmp_path, "h")


@pytest.mark.parametrize("uri", ["qemu:///embed", "qemu:///embed?root=relative", "qemu:///embed?root=/a&root=/b"])
def test_embedded_root_that_is_not_one_absolute_directory_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(DriverError, match="root"):
        driver_open(uri, tmp_path, "h")


def test_long_embedded_root_is_opened_by_a_short_link(tmp_path: Path) -> None:
    root = tmp_path / ("r" * 80)

    prepared = embedded_root_prepare(f"qemu:///embed?root={root}", cache=tmp_path / "cache")

    assert len(os.fsencode(prepared.short)) <= ROOT_MAX_BYTES
    assert prepared.short.resolve() == root.resolve()
    prepared.short.unlink()


def test_embedded_roots_share_what_libvirt_learns(tmp_path: Path) -> None:
    for name in ("a", "b"):
        embedded_root_prepare(f"qemu:///embed?root={tmp_path / name}", cache=tmp_path / "cache")

    assert (tmp_path / "a" / "cache").resolve() == (tmp_path / "b" / "cache").resolve()


def test_embedded_qemu_stays_in_its_sandbox() -> None:
    assert "seccomp_sandbox = 1" in qemu_conf("").splitlines()


def test_qemu_with_a_user_of_its_own_is_given_the_files_of_its_guests() -> None:
    lines = qemu_conf(QEMU_USER).splitlines()

    assert f'user = "{QEMU_USER}"' in lines
    assert "dynamic_ownership = 1" in lines


def test_qemu_of_an_ordinary_user_has_no_other_one() -> None:
    lines = qemu_conf("").splitlines()

    assert not [line for line in lines if line.startswith(("user", "group"))]
    assert "dynamic_ownership = 0" in lines


def test_qemu_runs_as_root_only_where_its_own_user_cannot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    if os.geteuid() != 0:
        assert qemu_account([tmp_path]) == ""
        return
    tmp_path.chmod(0o700)

    assert qemu_account([tmp_path]) == "root"
    assert f"fails `test -x {tmp_path}`" in caplog.text


def test_vnc_socket_is_read_from_the_domain() -> None:
    graphics = "<graphics type='vnc' socket='/s'><listen type='socket' socket='/s'/></graphics>"

    assert vnc_socket(f"<domain><devices>{graphics}</devices></domain>") == "/s"


def test_domain_without_vnc_has_no_socket() -> None:
    assert vnc_socket("<domain><devices/></domain>") == ""


def test_only_cards_in_libvirt_networks_have_one() -> None:
    xml = (
        "<domain><devices><interface type='user'><mac address='52:54:00:00:00:01'/></interface>"
        "<interface type='network'><mac address='52:54:00:00:00:0A'/><source network='default'/></interface>"
        "</devices></domain>"
    )

    assert network_by_mac(xml) == {"52:54:00:00:00:0a": "default"}


@pytest.mark.parametrize(
    ("inside", "is_filtered", "is_isolated"),
    [
        ("<forward mode='nat'/><bridge name='virbr0'/>", True, True),
        ("<forward/><bridge name='virbr0'/>", True, True),
        ("<forward mode='route'/><bridge name='virbr1'/>", True, False),
        ("<bridge name='virbr2'/>", True, False),
        ("<forward mode='bridge'/><bridge name='br0'/>", True, False),
        ("<forward mode='bridge'/><bridge name='br-int'/><virtualport type='openvswitch'/>", False, False),
        ("<forward mode='passthrough'><interface dev='eth1'/></forward>", False, False),
    ],
)
def test_cards_are_kept_apart_as_far_as_libvirt_can(inside: str, is_filtered: bool, is_isolated: bool) -> None:
    found = guest_network("n", f"<network><name>n</name>{inside}</network>")

    assert (found.name, found.is_filtered, found.is_isolated) == ("n", is_filtered, is_isolated)


def test_default_network_of_ours_keeps_its_guests_apart() -> None:
    assert guest_network("default", nat_network_xml()).is_isolated


def test_unknown_disk_bus_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="hw_disk_bus") as caught:
        disk_bus(replace(guest_spec, image_properties={"hw_disk_bus": "floppy"}))
    assert caught.value.failure_class is FailureClass.USER


def test_hostile_machine_type_is_refused(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="no machine type"):
        machine_type(replace(guest_spec, image_properties={"hw_machine_type": "pc,accel=kvm"}))


def test_guest_without_ports_gets_one_with_a_lasting_mac(guest_spec: GuestSpec) -> None:
    assert ports_of(guest_spec) == (PortSpec(mac=mac_of(guest_spec.uuid), network="default"),)
    assert mac_of(guest_spec.uuid).startswith("52:54:00:")


def test_hostile_mac_is_refused(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="not a MAC"):
        ports_of(replace(guest_spec, ports=(PortSpec(mac="52:54:00:00:00:01,id=x", network="default"),)))


def test_boot_sector_is_one_signed_sector() -> None:
    sector = boot_sector("hello")

    assert len(sector) == SECTOR_BYTES
    assert sector.endswith(b"\x55\xaa")


def test_text_too_long_for_a_boot_sector_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        boot_sector("x" * 500)
