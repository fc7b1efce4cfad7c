"""A network card with virtual functions for a simulated host, whose libvirt then lists them as it does real ones."""

import xml.etree.ElementTree as ET
from pathlib import Path

FUNCTIONS = 4
CARD = "<address domain='0x0000' bus='0x81' slot='0x00' function='0x0'/>"
DEVICE = """
<device>
  <name>pci_0000_81_{slot:02x}_{number}</name>
  <parent>{parent}</parent>
  <capability type='pci'>
    <domain>0</domain><bus>129</bus><slot>{slot}</slot><function>{number}</function>
    <product id='{product}'/><vendor id='0x8086'/>
    {capability}
  </capability>
</device>
"""


def virtual_functions_add(file: Path) -> None:
    """Write them into the file of a simulated host."""
    places = "".join(
        f"<address domain='0x0000' bus='0x81' slot='0x10' function='{one:#x}'/>" for one in range(FUNCTIONS)
    )
    functions = f"<capability type='virt_functions' maxCount='{FUNCTIONS}'>{places}</capability>"
    of_card = f"<capability type='phys_function'>{CARD}</capability>"
    texts = [DEVICE.format(slot=0, number=0, parent="computer", product="0x10fb", capability=functions)]
    for number in range(FUNCTIONS):
        place = {"slot": 16, "number": number, "parent": "pci_0000_81_00_0"}
        texts.append(DEVICE.format(**place, product="0x10ed", capability=of_card))
    tree = ET.parse(file)  # noqa: S314 - what was written just now
    tree.getroot().extend(ET.fromstring(text) for text in texts)  # noqa: S314 - the text above
    tree.write(file, encoding="utf-8", xml_declaration=True)
