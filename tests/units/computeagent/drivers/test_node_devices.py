"""From libvirt's node devices to PCI devices."""

from computeagent.drivers.libvirt.node_devices import NodeDevices, pci_found
from computeagent.protocol.pci import PciDeviceRecord

GPU = """
<device><name>pci_0000_0a_00_0</name><parent>computer</parent><capability type='pci'><class>0x030200</class>
<domain>0</domain><bus>10</bus><slot>0</slot><function>0</function>
<product id='0x1db6'>GV100GL</product><vendor id='0x10de'>NVIDIA</vendor><numa node='1'/></capability></device>"""
CARD = """
<device><name>pci_0000_81_00_0</name><capability type='pci'>
<domain>0</domain><bus>129</bus><slot>0</slot><function>0</function>
<product id='0x1572'/><vendor id='0x8086'/>
<capability type='virt_functions' maxCount='64'><address domain='0x0000' bus='0x81' slot='0x02' function='0x1'/>
</capability><numa node='-1'/></capability></device>"""
FUNCTION = """
<device><name>pci_0000_81_02_1</name><capability type='pci'>
<domain>0</domain><bus>129</bus><slot>2</slot><function>1</function>
<product id='0x154c'/><vendor id='0x8086'/>
<capability type='phys_function'><address domain='0x0000' bus='0x81' slot='0x00' function='0x0'/></capability>
</capability></device>"""
CARD_NET = """
<device><name>net_ens1f0</name><parent>pci_0000_81_00_0</parent>
<capability type='net'><interface>ens1f0</interface></capability></device>"""
VDPA = "<device><name>vdpa_vdpa0</name><parent>pci_0000_81_02_1</parent><capability type='vdpa'/></device>"


def found(*pci: str, net: tuple[str, ...] = (), vdpa: tuple[str, ...] = ()) -> tuple[PciDeviceRecord, ...]:
    return pci_found(NodeDevices(pci, net, vdpa))


def test_plain_device_has_address_ids_and_numa_node() -> None:
    assert found(GPU) == (PciDeviceRecord("0000:0a:00.0", "10de", "1db6", "type-PCI", numa_node=1),)


def test_device_of_unknown_place_has_no_numa_node() -> None:
    assert [device.numa_node for device in found(CARD, FUNCTION)] == [None, None]


def test_card_with_functions_is_a_physical_function() -> None:
    assert found(CARD)[0].dev_type == "type-PF"


def test_function_knows_its_card_and_the_cards_name() -> None:
    device = found(FUNCTION, CARD, net=(CARD_NET,))[1]

    assert (device.dev_type, device.parent_address, device.parent_devname) == ("type-VF", "0000:81:00.0", "ens1f0")


def test_function_with_a_vdpa_device_is_one() -> None:
    assert found(FUNCTION, vdpa=(VDPA,))[0].dev_type == "vdpa"


def test_devices_come_in_the_order_of_addresses() -> None:
    assert [device.address for device in found(FUNCTION, CARD, GPU)] == ["0000:0a:00.0", "0000:81:00.0", "0000:81:02.1"]
