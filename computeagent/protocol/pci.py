"""PCI devices of a host that guests may have, and those that a guest was given."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import Name, Word
from controlplane.kernel.errors import Invalid

TAGS_MAX = 16
_ADDRESS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{2}):([01][0-9a-f])\.([0-7])")


def split_address(address: str, field: str) -> tuple[str, str, str, str]:
    """Domain, bus, slot and function of an address such as 0000:0a:00.1, in lower case. Raises Invalid for `field`."""
    found = _ADDRESS.fullmatch(address.lower())
    if found is None:
        raise Invalid(f"{address[:40]!r} is no PCI address such as 0000:0a:00.1", field=field)
    return found[1], found[2], found[3], found[4]


class DeviceType(StrEnum):
    """What a device is: a plain one, a physical function, a virtual function, or a vDPA device."""

    STANDARD = "type-PCI"
    PF = "type-PF"
    VF = "type-VF"
    VDPA = "vdpa"


class DeviceState(StrEnum):
    """available: free. claimed: promised to a guest. allocated: in a guest. unavailable: its card is in use whole, or
    one of its functions is. unclaimable: its card is promised whole, or one of its functions is. removed: gone from
    the host while in use. deleted: gone.
    """

    AVAILABLE = "available"
    CLAIMED = "claimed"
    ALLOCATED = "allocated"
    REMOVED = "removed"
    DELETED = "deleted"
    UNAVAILABLE = "unavailable"
    UNCLAIMABLE = "unclaimable"


@dataclass(frozen=True, slots=True)
class PciDeviceRecord:
    """One device. `parent_address` is the card's of a virtual function, `devname` the name of its network interface,
    and `parent_devname` that of its card's; `numa_node` None: the host does not say.

    `tags` are those of the device spec that lets guests have it. `provider`, `state` and `owner`, the guest that has
    it, are the control plane's: never the host's to say.
    """

    address: Word
    vendor_id: Word
    product_id: Word
    dev_type: DeviceType
    numa_node: Annotated[int, Meta(ge=-1, le=2**16)] | None = None
    parent_address: Word = ""
    devname: Word = ""
    parent_devname: Word = ""
    label: Name = ""
    provider: Name = ""
    tags: Annotated[tuple[tuple[Name, Name], ...], Meta(max_length=TAGS_MAX)] = ()
    state: DeviceState = DeviceState.AVAILABLE
    owner: Word = ""

    @property
    def card(self) -> str:
        """The address of the card it is or belongs to."""
        return self.parent_address or self.address


@dataclass(frozen=True, slots=True)
class GivenDevice:
    """A device that a guest was given, and the request that it answers."""

    address: str
    alias: str = ""
    request_id: str = ""
