"""Virtual GPUs of cards: what the kernel is asked for, and how simulated and fake hosts count them."""

from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes
from computeagent.drivers.host_options import mdev_types_parse
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.mediated_devices import KernelMediatedDevices, device_uuids
from computeagent.drivers.libvirt.simulated_host import simulated_host_write
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Invalid

OTHER = "0a1d4fae-7dec-41d0-a765-00a0c91e6bf6"
THIRD = "0b1d4fae-7dec-41d0-a765-00a0c91e6bf6"


class Machine:
    """Files as the kernel shows them below /sys; what is written to them is read here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.devices = root / "bus" / "mdev" / "devices"
        self.devices.mkdir(parents=True)

    def card(self, address: str, kind: str, *, free: int) -> Path:
        """A card that can be divided by this type."""
        offer = self.root / "class" / "mdev_bus" / address / "mdev_supported_types" / kind
        (offer / "devices").mkdir(parents=True)
        (offer / "available_instances").write_text(f"{free}\n")
        (offer / "create").write_text("")
        return offer

    def made(self, offer: Path) -> str:
        """The kernel's part of it: the device that was written down exists now."""
        name = (offer / "create").read_text()
        (self.devices / name).mkdir()
        (self.devices / name / "remove").write_text("")
        (offer / "devices" / name).mkdir()
        return name


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_devices_are_counted_over_all_cards_by_the_first_type_of_each(machine: Machine) -> None:
    machine.card("0000:0a:00.0", "nvidia-35", free=3)
    machine.card("0000:0a:00.0", "nvidia-36", free=9)
    machine.card("0000:0b:00.0", "nvidia-36", free=2)
    machine.card("0000:0c:00.0", "i915-V5", free=7)

    assert KernelMediatedDevices(("nvidia-35", "nvidia-36"), sysfs=machine.root).total() == 5
    assert KernelMediatedDevices(("other-1",), sysfs=machine.root).total() == 0
    assert KernelMediatedDevices((), sysfs=machine.root).total() is None


def test_device_is_made_once_on_a_card_with_room_and_removed_with_its_guest(
    machine: Machine, guest_spec: GuestSpec
) -> None:
    full = machine.card("0000:0a:00.0", "nvidia-35", free=0)
    roomy = machine.card("0000:0b:00.0", "nvidia-35", free=1)
    mediated = KernelMediatedDevices(("nvidia-35",), sysfs=machine.root)

    (device,) = mediated.ensure(guest_spec.uuid, 1)
    assert machine.made(roomy) == device
    (roomy / "available_instances").write_text("0")
    assert mediated.total() == 1

    assert mediated.ensure(guest_spec.uuid, 1) == (device,)
    assert (full / "create").read_text() == ""
    mediated.release(guest_spec.uuid)
    assert (machine.devices / device / "remove").read_text() == "1"


def test_host_without_room_or_types_refuses(machine: Machine, guest_spec: GuestSpec) -> None:
    machine.card("0000:0a:00.0", "nvidia-35", free=0)

    for types in (("nvidia-35",), ()):
        with pytest.raises(DriverError, match="no virtual GPU of type"):
            KernelMediatedDevices(types, sysfs=machine.root).ensure(guest_spec.uuid, 1)


def test_more_than_a_guest_can_have_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="it can have 16") as caught:
        device_uuids(guest_spec.uuid, 17)
    assert caught.value.failure_class is FailureClass.USER


@pytest.mark.parametrize("kind", ["fake", pytest.param("simulated", marks=pytest.mark.libvirt)])
def test_host_gives_as_many_as_it_has_and_gets_them_back(kind: str, tmp_path: Path, guest_spec: GuestSpec) -> None:
    uri = simulated_host_write(tmp_path / "h.xml", vcpus=4, memory_mib=4096, vgpus=2)
    driver = (
        FakeDriver("h", sizes=FakeSizes(vgpus=2)) if kind == "fake" else LibvirtDriver(uri, tmp_path / "state", "h")
    )
    driver.open()
    wants = replace(guest_spec, vgpus=1)
    assert driver.host_report().vgpus == 2

    driver.spawn(wants)
    driver.spawn(replace(wants, uuid=OTHER))
    driver.hard_reboot(wants)
    with pytest.raises(DriverError, match="0 of 1 virtual GPUs left"):
        driver.spawn(replace(wants, uuid=THIRD))
    driver.destroy(OTHER)
    driver.spawn(replace(wants, uuid=THIRD))
    for each in (guest_spec.uuid, THIRD):
        driver.destroy(each)
    driver.close()


def test_host_without_any_says_nothing_of_them(tmp_path: Path) -> None:
    assert FakeDriver("h").host_report().vgpus is None


@pytest.mark.parametrize(("text", "types"), [("", ()), ("nvidia-35", ("nvidia-35",)), (" a-1 ,b_2,", ("a-1", "b_2"))])
def test_types_are_read_from_their_option(text: str, types: tuple[str, ...]) -> None:
    assert mdev_types_parse(text) == types


@pytest.mark.parametrize("text", ["../x", "a/b", "a b", "\u0000", "."])
def test_type_that_is_a_path_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="no type of mediated devices"):
        mdev_types_parse(text)
