"""The pools that devices make, and claims of devices: which state each gets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from computeagent.protocol.pci import DeviceState, DeviceType, PciDeviceRecord
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import PciPool, Pools
from scheduling.topology.domain.pci.support import ANYWHERE, NumaPlace, consume

# Only network functions can be managed by another machine; pools say so even where a spec does not.
_NETWORK_TYPES = (DeviceType.PF, DeviceType.VF, DeviceType.VDPA)
# Known to Placement only.
_HIDDEN_TAGS = frozenset(("resource_class", "traits"))


Devices = tuple[PciDeviceRecord, ...]


def pool_of(device: PciDeviceRecord) -> PciPool:
    """The pool that a device belongs to, empty."""
    tags = {name: value for name, value in device.tags if name not in _HIDDEN_TAGS}
    if device.dev_type in _NETWORK_TYPES:
        tags.setdefault("remote_managed", "false")
    return PciPool(
        device.vendor_id,
        device.product_id,
        device.dev_type,
        device.numa_node,
        0,
        device.card,
        device.provider,
        tuple(sorted(tags.items())),
    )


def pools_of(devices: Iterable[PciDeviceRecord]) -> Pools:
    """The pools of all available devices, in a fixed order."""
    counts = Counter(pool_of(device) for device in devices if device.state is DeviceState.AVAILABLE)
    ordered = sorted(counts.items(), key=lambda item: (len(item[0].tags), item[0].address, str(item[0])))
    return tuple(replace(pool, count=count) for pool, count in ordered)


def claim(
    devices: Devices,
    requests: Sequence[PciRequest],
    owner: str,
    place: NumaPlace = ANYWHERE,
    providers: Mapping[str, Sequence[str]] | None = None,
) -> Devices | Refusal:
    """All devices after `owner` was promised what the requests ask for; or why that cannot be.

    The promised ones are `claimed`. Functions of a card promised whole, and the card of a function, are `unclaimable`.
    """
    pools = pools_of(devices)
    taken = consume(pools, requests, place, providers)
    if isinstance(taken, Refusal):
        return taken
    wanted = {replace(pools[at], count=0): count for at, count in taken.given}
    chosen: list[PciDeviceRecord] = []
    for device in sorted(devices, key=lambda each: each.address):
        if device.state is DeviceState.AVAILABLE and wanted.get(pool := pool_of(device), 0):
            wanted[pool] -= 1
            chosen.append(device)
    if any(wanted.values()):
        return Refusal(RefusalReason.PCI_SHORT, wanted=taken.count, available=len(chosen))
    return _changed(devices, {each.address for each in chosen}, DeviceState.CLAIMED, owner)


def allocate(devices: Devices, owner: str) -> Devices:
    """All devices once the guest has what it was promised."""
    mine = {each.address for each in devices if each.owner == owner and each.state is DeviceState.CLAIMED}
    return _changed(devices, mine, DeviceState.ALLOCATED, owner)


def free(devices: Devices, owner: str) -> Devices:
    """All devices after the guest gave back its own. A device that is gone from the host becomes `deleted`."""
    mine = {each.address for each in devices if each.owner == owner}
    return _changed(devices, mine, DeviceState.AVAILABLE, "")


def _changed(devices: Devices, addresses: set[str], state: DeviceState, owner: str) -> Devices:
    changed = tuple(
        replace(each, state=_after(each, state), owner=owner) if each.address in addresses else each for each in devices
    )
    return settled(changed)


def _after(device: PciDeviceRecord, state: DeviceState) -> DeviceState:
    is_gone = device.state is DeviceState.REMOVED and state is DeviceState.AVAILABLE
    return DeviceState.DELETED if is_gone else state


def settled(devices: Devices) -> Devices:
    """Devices nobody owns get the state that their relatives, the card or its functions, leave them."""
    owned: dict[str, list[PciDeviceRecord]] = {}
    for each in devices:
        if each.owner:
            owned.setdefault(each.card, []).append(each)
    return tuple(replace(each, state=_idle(each, owned)) if _is_idle(each) else each for each in devices)


def _is_idle(device: PciDeviceRecord) -> bool:
    return not device.owner and device.state not in (DeviceState.REMOVED, DeviceState.DELETED)


def _idle(device: PciDeviceRecord, owned: Mapping[str, list[PciDeviceRecord]]) -> DeviceState:
    is_card = device.dev_type == DeviceType.PF
    states = {each.state for each in owned.get(device.card, ()) if (each.dev_type == DeviceType.PF) != is_card}
    if states & {DeviceState.ALLOCATED, DeviceState.REMOVED}:
        return DeviceState.UNAVAILABLE
    return DeviceState.UNCLAIMABLE if DeviceState.CLAIMED in states else DeviceState.AVAILABLE
