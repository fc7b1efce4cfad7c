"""Rescue, rebuild and a new password with real guests: what boots, and what the agent inside is told."""

import base64
import hashlib
from dataclasses import replace

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.drivers.libvirt.domains import domain_lookup
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.guest_agent import password_set
from computeagent.drivers.rescue_image import of_rescue_image
from computeagent.protocol.guests import GuestSpec, RescueImage
from computeagent.protocol.steps import FailureClass
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import WORDS, Hypervisor
from tests.fixtures.guest_agent import AGENT, LISTENS
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

RESCUE_WORDS = "hello from the rescue disk"
RESCUE_IMAGE = boot_sector(RESCUE_WORDS + "\r\n").ljust(2**20, b"\0")


def said(hypervisor: Hypervisor, guest: GuestSpec, words: str) -> int:
    return hypervisor.driver.console_log(guest.uuid, max_bytes=100_000).count(words.encode())


def rescued(qemu: Hypervisor, guest: GuestSpec, **properties: str) -> GuestSpec:
    checksum = f"sha256:{hashlib.sha256(RESCUE_IMAGE).hexdigest()}"
    in_rescue = replace(guest, rescue=RescueImage("rescue", checksum, len(RESCUE_IMAGE), "raw", dict(properties)))
    qemu.driver.prepare_image(of_rescue_image(in_rescue), lambda: iter([RESCUE_IMAGE]))
    qemu.driver.rescue(in_rescue)
    return in_rescue


def domain_xml(qemu: Hypervisor, guest: GuestSpec) -> str:
    assert isinstance(qemu.driver, LibvirtDriver)
    domain = domain_lookup(qemu.driver._connection.handle(), guest.uuid)
    assert domain is not None
    return str(domain.XMLDesc(0))


def test_rescued_guest_boots_from_the_rescue_disk_and_afterwards_from_its_own(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest, WORDS) == 1)

    in_rescue = rescued(qemu, guest)
    eventually(lambda: said(qemu, guest, RESCUE_WORDS) == 1)
    xml = domain_xml(qemu, guest)
    assert "disk.rescue" in xml
    assert "vdb" in xml
    qemu.driver.hard_reboot(in_rescue)
    eventually(lambda: said(qemu, guest, RESCUE_WORDS) == 2)

    qemu.driver.hard_reboot(guest)
    eventually(lambda: said(qemu, guest, WORDS) == 2)
    assert "disk.rescue" not in domain_xml(qemu, guest)


@pytest.mark.parametrize("bus", ["virtio", "sata", "usb", "ide"])
def test_rescue_disk_is_on_the_bus_of_its_image_and_booted_from(qemu: Hypervisor, bus: str) -> None:
    guest = qemu.build(qemu.guest())
    rescued(qemu, guest, hw_rescue_bus=bus)
    eventually(lambda: said(qemu, guest, RESCUE_WORDS) == 1)


def test_rescue_by_a_disc_has_the_disc(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    rescued(qemu, guest, hw_rescue_device="cdrom")
    assert domain_xml(qemu, guest).count("device='cdrom'") == 2


def test_rebuilt_guest_boots_from_the_new_image_with_none_of_the_old_disk(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest, WORDS) == 1)
    checksum = f"sha256:{hashlib.sha256(RESCUE_IMAGE).hexdigest()}"
    new = replace(guest, image_id="new", image_checksum=checksum, image_size_bytes=len(RESCUE_IMAGE))

    qemu.driver.prepare_image(new, lambda: iter([RESCUE_IMAGE]))
    qemu.driver.destroy(guest.uuid)
    qemu.driver.prepare_disks(new)
    qemu.driver.spawn(new)

    eventually(lambda: said(qemu, guest, RESCUE_WORDS) == 1)
    assert said(qemu, guest, WORDS) == 0


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()


def with_agent(qemu: Hypervisor, linux: bytes, script: str) -> GuestSpec:
    guest = qemu.guest(
        linux,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        image_properties={"hw_qemu_guest_agent": "yes"},
        user_data_base64=base64.b64encode(script.encode()).decode(),
    )
    qemu.build(guest, linux)
    eventually(lambda: said(qemu, guest, f"\n{LISTENS}") > 0)
    return guest


def test_agent_in_the_guest_sets_the_password_or_says_why_not(qemu: Hypervisor, linux: bytes) -> None:
    guest = with_agent(qemu, linux, AGENT)
    qemu.driver.set_password(guest, user="root", password="a new one: ü")
    eventually(lambda: said(qemu, guest, "password of root is now <a new one: ü>") == 1)
    with pytest.raises(DriverError, match="there is no such user") as refused:
        qemu.driver.set_password(guest, user="boss", password="another")
    assert refused.value.failure_class is FailureClass.USER


def test_agent_that_never_answers_is_given_up_in_time(qemu: Hypervisor, linux: bytes) -> None:
    guest = with_agent(qemu, linux, AGENT.replace("serve &", "SILENT=1 serve &"))
    assert isinstance(qemu.driver, LibvirtDriver)
    domain = domain_lookup(qemu.driver._connection.handle(), guest.uuid)
    with pytest.raises(DriverError, match="did not set the password") as refused:
        password_set(domain, user="root", password="another", timeout_s=2)
    assert refused.value.failure_class is FailureClass.USER
