"""Network cards of a domain that is there: added and taken away while it runs, and in its definition.

A guest lets go of a card when it has an operating system that does; libvirt only asks it to. Who does not is asked
again, as Nova does, and then the card stays.
"""

import logging
import time
import xml.etree.ElementTree as ET
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, libvirt
from computeagent.drivers.libvirt.refusals import has_no_slot
from computeagent.protocol.steps import FailureClass

log = logging.getLogger(__name__)
UNPLUG_TRIES = 8
"""Nova's device_detach_attempts."""
POLL_S = 0.2


def interface_attach(domain: Any, guest_xml: str, mac: str) -> None:
    """Have the card of this MAC address in the running domain; `guest_xml` is the whole guest with it.

    Raises DriverError: class USER where the guest has no slot for it, and nothing is left of it.
    """
    wanted = _card(guest_xml, mac)
    if wanted is None:
        raise DriverError("this hypervisor has no network to join the card to", failure_class=FailureClass.NETWORK)
    if _card(domain.XMLDesc(0), mac) is None:
        try:
            domain.attachDeviceFlags(ET.tostring(wanted, encoding="unicode"), libvirt.VIR_DOMAIN_AFFECT_LIVE)
        except LibvirtError as error:
            if _card(domain.XMLDesc(0), mac) is not None:
                interface_detach(domain, mac, timeout_s=0)
            if has_no_slot(error_text(error)):
                message = "the guest has no slot left for another card while it runs; it can get it while it is off"
                raise DriverError(message, failure_class=FailureClass.USER) from error
            raise DriverError(f"the card cannot be added: {error_text(error)}") from error


def interface_detach(domain: Any, mac: str, *, timeout_s: float) -> None:
    """Have no card of this MAC address in the running domain. One that is gone is a success.

    The guest is asked up to UNPLUG_TRIES times within `timeout_s` seconds, by libvirt that waits some seconds each time
    itself. Raises DriverError, class USER, for one that does
    not let go; a guest that was asked may do so later still.
    """
    deadline = time.monotonic() + timeout_s
    tries = 0
    while (card := _card(domain.XMLDesc(0), mac)) is not None:
        if tries == UNPLUG_TRIES or (tries and time.monotonic() >= deadline):
            raise DriverError(
                f"the guest did not let go of the card in {timeout_s:.0f} s, though it was asked {tries} times",
                failure_class=FailureClass.USER,
            )
        tries += 1
        try:
            domain.detachDeviceFlags(ET.tostring(card, encoding="unicode"), libvirt.VIR_DOMAIN_AFFECT_LIVE)
        except LibvirtError as error:
            if not domain.isActive():
                return
            # It has been asked already and thinks about it; or it is gone.
            log.info("a card of %s was not taken away: %s", domain.name(), error_text(error))
        until = time.monotonic() + max(0.0, deadline - time.monotonic()) / (UNPLUG_TRIES + 1 - tries)
        while _card(domain.XMLDesc(0), mac) is not None and time.monotonic() < until:
            time.sleep(POLL_S)


def _card(domain_xml: str, mac: str) -> ET.Element | None:
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output or ours, no document from outside
    cards = root.findall("devices/interface")
    return next((card for card in cards if (at := card.find("mac")) is not None and _same(at, mac)), None)


def _same(element: ET.Element, mac: str) -> bool:
    return element.get("address", "").lower() == mac.lower()
