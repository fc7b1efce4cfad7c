"""Whose fault a refusal of libvirt's or QEMU's is, by sentences that libvirt 9.0 and QEMU 7.2 said."""

import errno

import pytest

from computeagent.agent.failures import failure_of
from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt import refusals
from computeagent.drivers.libvirt.binding import LibvirtError, libvirt
from computeagent.drivers.libvirt.files import host_errors
from computeagent.drivers.libvirt.refusals import Fault, fault_of, guest_refusals
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass, HostBlame

REQUEST = Fault(FailureClass.USER)
UNCLEAR = Fault(FailureClass.HOST, HostBlame.IF_BUILT_ELSEWHERE)
ANOTHER_MAY = Fault(FailureClass.HOST, HostBlame.NEVER)
IDE = "unsupported configuration: IDE controllers are unsupported for this QEMU binary or machine type"
ENDED = "internal error: qemu unexpectedly closed the monitor: 2026-11-28T19:40:13.64Z qemu-system-x86_64: "
EXITED = "internal error: process exited while connecting to monitor: 2026-11-28T19:40:13.64Z qemu-system-x86_64: "


def guest(**properties: str) -> GuestSpec:
    return GuestSpec(
        uuid="11111111-2222-3333-4444-555555555555",
        name="vm",
        project_id="p",
        vcpus=1,
        memory_mib=64,
        root_gib=1,
        ephemeral_gib=0,
        swap_mib=0,
        image_id="i",
        image_checksum="c",
        image_size_bytes=1,
        image_disk_format="raw",
        image_properties=properties,
    )


@pytest.mark.parametrize(
    ("code", "sentence", "fault"),
    [
        (67, IDE, REQUEST),
        (67, "unsupported configuration: IOMMU device: 'intel' is only supported with Q35 machines", REQUEST),
        (27, "XML error: No PCI buses available", REQUEST),
        (27, "XML error: Invalid value for attribute 'model' in element 'sound': 'virtio'.", REQUEST),
        (1, f"{EXITED}-device ide-hd,bus=ide.0,drive=d0: Bus 'ide.0' not found", REQUEST),
        (1, f"{ENDED}-device usb-tablet,bus=usb.0: No 'usb-bus' bus found for device 'usb-tablet'", REQUEST),
        # Another version of QEMU or libvirt, or another machine, may have it.
        (1, f"{ENDED}-device igb,bus=pci.0,addr=0x1a: 'igb' is not a valid device model name", ANOTHER_MAY),
        (1, f"{ENDED}-machine pc-q35-9.0: unsupported machine type", ANOTHER_MAY),
        (67, "unsupported configuration: Emulator '/usr/bin/q' does not support machine type 'rhel9'", ANOTHER_MAY),
        (67, "unsupported configuration: Emulator '/usr/bin/q' does not support virt type 'kvm'", ANOTHER_MAY),
        (67, "unsupported configuration: vmport is not available with this QEMU binary", ANOTHER_MAY),
        (67, "invalid argument: could not get preferred machine for virt type=kvm", ANOTHER_MAY),
        (1, f"{ENDED}failed to initialize kvm: No such device", ANOTHER_MAY),
        # Of the host's state: who built it elsewhere would know.
        (1, f"{EXITED}-device virtio-blk-pci,drive=d0: Could not open '/i/disk': Permission denied", UNCLEAR),
        (1, f"{ENDED}cannot set up guest memory 'pc.ram': Cannot allocate memory", UNCLEAR),
        (1, "internal error: refused by the drill", UNCLEAR),
        (38, "Cannot recv data: Connection reset by peer", UNCLEAR),
        (None, "something else", UNCLEAR),
    ],
)
def test_refusal_is_somebodys_fault(code: int | None, sentence: str, fault: Fault) -> None:
    assert fault_of(code, sentence, asks_hardware=True) == fault


@pytest.mark.parametrize("code", [1, 8, 27, 67])
def test_request_that_asks_for_no_hardware_is_never_to_blame_for_a_refusal(code: int) -> None:
    assert fault_of(code, IDE, asks_hardware=False) == UNCLEAR


def test_numbers_are_those_of_libvirt() -> None:
    for name in ("INTERNAL_ERROR", "INVALID_ARG", "OPERATION_FAILED", "XML_ERROR", "XML_DETAIL", "CONFIG_UNSUPPORTED"):
        assert getattr(refusals, name) == getattr(libvirt, f"VIR_ERR_{name}"), name
    assert refusals.XML_INVALID_SCHEMA == libvirt.VIR_ERR_XML_INVALID_SCHEMA


def test_owner_reads_the_keys_and_an_administrator_libvirts_words() -> None:
    error = LibvirtError("")
    error.err = (67, 10, f"{IDE} in /var/lib/kilonova", 2, "", "", "", -1, -1)  # type: ignore[attr-defined]
    with pytest.raises(DriverError) as raised, guest_refusals(guest(hw_machine_type="q35", hw_disk_bus="ide"), "on h1"):
        raise error
    failure = failure_of("spawning", raised.value)
    assert failure.failure_class is FailureClass.USER
    assert failure.message == (
        "no guest can have together what image and flavor ask for: hw_disk_bus=ide, hw_machine_type=q35"
    )
    assert failure.details.startswith(f"{IDE} in /var/lib/kilonova\n")


@pytest.mark.parametrize(
    ("number", "blame"),
    [
        (errno.ENOSPC, HostBlame.AT_ONCE),
        (errno.EROFS, HostBlame.AT_ONCE),
        (errno.ENAMETOOLONG, HostBlame.IF_BUILT_ELSEWHERE),
    ],
)
def test_disk_that_is_full_is_the_hosts_own_and_a_name_that_is_too_long_is_not(number: int, blame: HostBlame) -> None:
    with pytest.raises(DriverError) as raised, host_errors("writing"):
        raise OSError(number, "no")
    assert failure_of("spawning", raised.value).blame is blame


def test_failure_of_which_nothing_is_known_counts_only_if_the_guest_is_built_elsewhere() -> None:
    failure = failure_of("spawning", DriverError("ValueError: no"))
    assert (failure.failure_class, failure.blame) == (FailureClass.HOST, HostBlame.IF_BUILT_ELSEWHERE)
