"""Rows of PCI devices as the domain sees them."""

from computeagent.protocol.pci import DeviceState, DeviceType, PciDeviceRecord
from scheduling.models import PciDevice


def device_record(row: PciDevice) -> PciDeviceRecord:
    """The device of a row."""
    return PciDeviceRecord(
        address=row.address,
        vendor_id=row.vendor_id,
        product_id=row.product_id,
        dev_type=DeviceType(row.dev_type),
        numa_node=row.numa_node,
        parent_address=row.parent_address,
        label=row.label,
        tags=tuple(sorted(row.tags.items())),
        state=DeviceState(row.state),
        owner=str(row.owner_uuid or ""),
    )
