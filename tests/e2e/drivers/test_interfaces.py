"""Network cards that come and go while a guest runs, on real QEMU: one that listens, and one that never answers."""

import base64
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.domains import domain_lookup
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.interface_plug import interface_attach, interface_detach
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

MAC = "52:54:00:aa:bb:01"
CARD = (
    f"<domain><devices><interface type='user'><mac address='{MAC}'/><model type='virtio'/></interface>"
    "</devices></domain>"
)
WATCH = """#!/bin/sh
(while true; do grep -l 52:54:00:aa:bb:01 /sys/class/net/*/address > /tmp/now 2>/dev/null
 if ! cmp -s /tmp/now /tmp/then; then
  if [ -s /tmp/now ]; then echo card is there; else echo card is gone; fi; cp /tmp/now /tmp/then; fi
 sleep 0.2; done) &
echo watching
"""


def domain_of(qemu: Hypervisor, guest: GuestSpec) -> Any:
    assert isinstance(qemu.driver, LibvirtDriver)
    return domain_lookup(qemu.driver._connection.handle(), guest.uuid)


def has_card(domain: Any) -> bool:
    return MAC in domain.XMLDesc(0)


def test_guest_that_does_not_let_go_keeps_its_card_and_says_so_in_time(qemu: Hypervisor) -> None:
    domain = domain_of(qemu, qemu.build(qemu.guest()))
    interface_attach(domain, CARD, MAC)
    interface_attach(domain, CARD, MAC)
    assert domain.XMLDesc(0).count(MAC) == 1
    with pytest.raises(DriverError, match="did not let go of the card in 1 s, though it was asked") as refused:
        interface_detach(domain, MAC, timeout_s=1)
    assert refused.value.failure_class is FailureClass.USER
    assert has_card(domain)


def test_guest_without_a_free_slot_is_told_so_as_the_requests_fault(qemu: Hypervisor) -> None:
    domain = domain_of(qemu, qemu.build(qemu.guest(image_properties={"hw_machine_type": "pc"})))
    with pytest.raises(DriverError, match="no slot left for another card") as refused:
        for number in range(32):
            mac = f"52:54:00:aa:cc:{number:02x}"
            interface_attach(domain, CARD.replace(MAC, mac), mac)
    assert refused.value.failure_class is FailureClass.USER


def test_hypervisor_without_networks_says_that_it_has_none(qemu: Hypervisor) -> None:
    domain = domain_of(qemu, qemu.build(qemu.guest()))
    with pytest.raises(DriverError, match="no network to join the card to"):
        interface_attach(domain, "<domain><devices/></domain>", MAC)


def test_guest_sees_the_card_come_and_go(qemu: Hypervisor, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    guest = qemu.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        user_data_base64=base64.b64encode(WATCH.encode()).decode(),
    )
    qemu.build(guest, content)

    def said(words: str) -> bool:
        return words in qemu.driver.console_log(guest.uuid, max_bytes=100_000).decode(errors="replace")

    eventually(lambda: said("watching"))
    domain = domain_of(qemu, guest)
    interface_attach(domain, CARD, MAC)
    eventually(lambda: said("card is there"))
    interface_detach(domain, MAC, timeout_s=60)
    eventually(lambda: said("card is gone"))
    assert not has_card(domain)
    interface_detach(domain, MAC, timeout_s=1)
