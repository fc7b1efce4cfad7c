"""The elements of a domain's XML that make it boot with UEFI. Made of typed values only."""

import xml.etree.ElementTree as ET

from computeagent.drivers.libvirt.firmware import GuestFirmware


def add_firmware(os_element: ET.Element, firmware: GuestFirmware | None) -> None:
    """Below `<os>`, after its type: the firmware, and the guest's own variables, which libvirt makes of the template
    when they are not there yet.
    """
    if firmware is None:
        return
    loader = ET.SubElement(os_element, "loader", readonly="yes", type="pflash")
    loader.text = str(firmware.code)
    if firmware.is_secure:
        loader.set("secure", "yes")
    if firmware.variables is None:
        loader.set("stateless", "yes")
        return
    ET.SubElement(os_element, "nvram", template=str(firmware.template)).text = str(firmware.variables)


def add_management_mode(features: ET.Element, firmware: GuestFirmware | None) -> None:
    """Below `<features>`: the CPU's mode in which alone the firmware's variables can be written, where it needs one."""
    if firmware is not None and firmware.has_smm:
        ET.SubElement(features, "smm", state="on")
