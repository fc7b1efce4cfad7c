"""CPUs of real guests under emulation: the model that its operator named is the one that the guest finds."""

import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuOptions, cpu_options_parse
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.binding import libvirt
from computeagent.drivers.libvirt.boot_sector import sector_of
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.guest_cpu import features_of_guests
from computeagent.drivers.libvirt.host_cpus import host_cpus
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import GuestCpuReport
from tests.e2e.drivers.conftest import Hypervisor, real_hypervisor
from tests.fixtures.hypervisors import answers_known, daemons_end
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
SAYS_ITS_CPU = sector_of(
    bytes(
        [
            0xFA,  # cli
            0x31, 0xC0,  # xor ax, ax
            0x8E, 0xD8,  # mov ds, ax
            0x66, 0xBE, 0x02, 0x00, 0x00, 0x80,  # mov esi, 0x80000002   the first part of the name
            0x66, 0x89, 0xF0,  # mov eax, esi                            # next:
            0x0F, 0xA2,  # cpuid
            0x66, 0xA3, 0x00, 0x70,  # mov [0x7000], eax
            0x66, 0x89, 0x1E, 0x04, 0x70,  # mov [0x7004], ebx
            0x66, 0x89, 0x0E, 0x08, 0x70,  # mov [0x7008], ecx
            0x66, 0x89, 0x16, 0x0C, 0x70,  # mov [0x700c], edx
            0xBB, 0x00, 0x70,  # mov bx, 0x7000
            0xB9, 0x10, 0x00,  # mov cx, 16
            0xBA, 0xFD, 0x03,  # mov dx, 0x3fd   COM1 line status         # byte:
            0xEC,  # in al, dx                                           # wait:
            0xA8, 0x20,  # test al, 0x20         room for a byte?
            0x74, 0xFB,  # jz wait
            0x8A, 0x07,  # mov al, [bx]
            0xBA, 0xF8, 0x03,  # mov dx, 0x3f8   COM1 data
            0xEE,  # out dx, al
            0x43,  # inc bx
            0xE2, 0xEF,  # loop byte
            0x66, 0x46,  # inc esi
            0x66, 0x81, 0xFE, 0x05, 0x00, 0x00, 0x80,  # cmp esi, 0x80000005
            0x75, 0xC6,  # jne next
            0xF4,  # hlt                                                 # end:
            0xEB, 0xFD,  # jmp end
        ]
    ),
    "",
).ljust(2**20, b"\0")  # fmt: skip
CPUS = cpu_options_parse("custom", "QEMU64,Nehalem", "+aes,-sse4.1")
SSE42, AES, AVX2 = "HW_CPU_X86_SSE42", "HW_CPU_X86_AESNI", "HW_CPU_X86_AVX2"


@pytest.fixture(scope="module")
def emulated(qemu_answers: Path) -> Iterator[Hypervisor]:
    """A hypervisor whose operator named two models and two flags."""
    with real_hypervisor("private", "qemu", qemu_answers, HostOptions(cpu=CPUS)) as found:
        if found.driver.host_report().virt_type == "kvm":
            pytest.skip("guests run under KVM here, and what its CPU can give is another machine's")
        yield found
        for guest_uuid in found.made:
            found.driver.destroy(guest_uuid)
        found.driver.close()
        daemons_end(found.state_dir)


def connection(hypervisor: Hypervisor) -> Any:
    assert isinstance(hypervisor.driver, LibvirtDriver)
    return libvirt.open(hypervisor.driver._profile.uri)


def cpu_of(hypervisor: Hypervisor, guest: GuestSpec) -> ET.Element:
    """That of the guest as it runs."""
    domain = connection(hypervisor).lookupByUUIDString(guest.uuid)
    cpu = ET.fromstring(domain.XMLDesc(0)).find("cpu")  # noqa: S314 - libvirt's own output
    assert cpu is not None
    return cpu


@pytest.mark.parametrize(
    ("specs", "model", "name"),
    [({}, "qemu64", "QEMU Virtual CPU"), ({f"trait:{SSE42}": "required"}, "Nehalem", "Nehalem Class Core i7")],
)
def test_guest_finds_the_first_model_that_has_its_traits(
    emulated: Hypervisor, specs: dict[str, str], model: str, name: str
) -> None:
    guest = emulated.build(emulated.guest(SAYS_ITS_CPU, extra_specs=specs), SAYS_ITS_CPU)

    def said() -> str:
        return emulated.driver.console_log(guest.uuid, max_bytes=10_000).decode(errors="replace")

    eventually(lambda: name in said(), said)
    cpu = cpu_of(emulated, guest)
    assert (cpu.get("mode"), cpu.get("match"), cpu.findtext("model")) == ("custom", "exact", model)
    policies = {each.get("name"): each.get("policy") for each in cpu.findall("feature")}
    assert (policies["aes"], policies["sse4.1"], policies["la57"]) == ("require", "disable", "disable")


def test_host_reports_its_cpus_and_the_traits_that_guests_can_have(emulated: Hypervisor) -> None:
    report = emulated.driver.host_report()

    assert report.guest_cpu == GuestCpuReport("custom", ("qemu64", "Nehalem"), ("+aes", "-sse4.1"))
    assert {SSE42, AES, "HW_CPU_X86_SSSE3", "HW_CPU_X86_SVM"} <= set(report.traits)
    assert not {AVX2, "HW_CPU_X86_SSE41"} & set(report.traits)


def test_guest_that_no_model_serves_is_not_built(emulated: Hypervisor) -> None:
    guest = emulated.guest(SAYS_ITS_CPU, image_properties={f"trait:{AVX2}": "required"})

    with pytest.raises(DriverError, match=f"no CPU model of this host has {AVX2}; it gives qemu64, Nehalem"):
        emulated.build(guest, SAYS_ITS_CPU)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("custom", "Nehalme", ""), "cpu_models: libvirt has no Nehalme here; it can give .*Nehalem"),
        (("custom", "Haswell", ""), "cpu_models: this host cannot give Haswell; it can give .*Nehalem"),
        (("custom", "Nehalem", "+eas"), r"cpu_model_extra_flags \+eas .*Unknown CPU feature eas; guests.* aes"),
        (("custom", "Nehalem", "-eas"), "cpu_model_extra_flags -eas .*Unknown CPU feature eas"),
        (("custom", "Nehalem", "+avx512f"), r"\+avx512f cannot be had here: .*required features: avx512f"),
        (("", "", "+vmx"), r"\+vmx cannot be had here: .*required features: vmx"),
        (("host-passthrough", "", ""), "cpu_mode host-passthrough needs KVM"),
        (("host-model", "", ""), "cpu_mode host-model needs KVM"),
    ],
)
def test_what_the_hypervisor_cannot_give_is_said_before_any_guest(
    emulated: Hypervisor, options: tuple[str, str, str], reason: str
) -> None:
    with pytest.raises(DriverError, match=reason):
        host_cpus(connection(emulated), cpu_options_parse(*options), arch="x86_64", virt_type="qemu")


def test_driver_of_such_a_host_does_not_open(qemu_answers: Path) -> None:
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state_dir = Path(directory)
        state_dir.chmod(0o711)
        answers_known(qemu_answers, state_dir)
        options = HostOptions(cpu=cpu_options_parse("custom", "Nehalme", ""))
        driver = LibvirtDriver(f"qemu:///private?root={state_dir / 'hv'}", state_dir, "node-qemu", options=options)
        try:
            with pytest.raises(DriverError, match="libvirt has no Nehalme here"):
                driver.open()
        finally:
            driver.close()
            daemons_end(state_dir)


def test_guest_keeps_its_cpu_over_a_suspension_and_gets_the_new_one_with_a_hard_reboot(qemu_answers: Path) -> None:
    before, after = (HostOptions(cpu=cpu_options_parse("custom", model, "")) for model in ("qemu64", "Nehalem"))
    with real_hypervisor("private", "qemu", qemu_answers, before) as found:
        try:
            guest = found.build(found.guest(SAYS_ITS_CPU), SAYS_ITS_CPU)
            found.driver.suspend(guest.uuid)
            found.driver.close()
            uri = f"qemu:///private?root={found.state_dir / 'hv'}"
            found.driver = LibvirtDriver(uri, found.state_dir, "node-qemu", options=after)
            found.driver.open()

            found.driver.resume(guest)
            assert cpu_of(found, guest).findtext("model") == "qemu64"
            found.driver.hard_reboot(guest)
            assert cpu_of(found, guest).findtext("model") == "Nehalem"
        finally:
            found.driver.close()
            daemons_end(found.state_dir)


def test_the_hosts_own_cpu_has_the_features_that_libvirt_spells_out(emulated: Hypervisor) -> None:
    """Asked as under KVM, which needs no guest; whatever machine this is, its CPU has these."""
    conn = connection(emulated)
    try:
        conn.getDomainCapabilities(None, "x86_64", None, "kvm", 0)
    except libvirt.libvirtError as error:
        pytest.skip(f"libvirt says nothing of KVM here: {error}")

    features = features_of_guests(host_cpus(conn, CpuOptions(), arch="x86_64", virt_type="kvm"))

    assert {"sse", "sse2", "mmx"} <= set(features)
