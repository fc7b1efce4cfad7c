"""A network card on an interface of the host that was made for it before. No text in it is a user's."""

import xml.etree.ElementTree as ET

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_options import GuestOptions
from computeagent.drivers.libvirt.options_xml import add_interface_options
from computeagent.protocol.steps import FailureClass

HOST_OFFLOADS = ("csum", "gso", "tso4", "tso6", "ecn", "ufo")
GUEST_OFFLOADS = ("csum", "tso4", "tso6", "ecn", "ufo")


def tap_interface(*, mac: str, model: str, tap: str, mtu: int, has_offloads: bool, options: GuestOptions) -> ET.Element:
    """`<interface type='ethernet'>`. libvirt neither makes nor removes the tap (`managed='no'`), so it needs no right
    to. Its MTU is what a virtio card tells its guest.

    Without offloads the card leaves no checksum to others: a switch in user space does not fill them in, and TCP of the
    guest would hang. Raises DriverError (USER) for more than one queue, which the tap does not have.
    """
    if options.vif_queues and model == "virtio":
        message = "more than one queue (vif_multiqueue_enabled) can be had in networks of the hypervisor alone"
        raise DriverError(message, failure_class=FailureClass.USER)
    element = ET.Element("interface", type="ethernet")
    ET.SubElement(element, "mac", address=mac)
    ET.SubElement(element, "target", dev=tap, managed="no")
    ET.SubElement(element, "model", type=model)
    add_interface_options(element, model, options)
    if model == "virtio" and not has_offloads:
        driver = element.find("driver")
        if driver is None:
            driver = ET.SubElement(element, "driver")
        driver.set("name", "qemu")
        ET.SubElement(driver, "host", dict.fromkeys(HOST_OFFLOADS, "off"))
        ET.SubElement(driver, "guest", dict.fromkeys(GUEST_OFFLOADS, "off"))
    if mtu:
        ET.SubElement(element, "mtu", size=str(mtu))
    # No boot from the network: neither the firmware's wait for it nor a stranger's boot server.
    ET.SubElement(element, "rom", enabled="no")
    return element
