"""Where a guest's CPUs and memory are on its host: from a placed guest to typed values for its definition. Pure.

Source of the rules: Nova's libvirt guests with NUMA, pinning, huge pages and PCI devices.
"""

import math
import re
from dataclasses import dataclass, replace

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.pci import PciDeviceRecord, split_address
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology import CpuTopology, EmulatorThreads, GuestTopology, InstanceNUMACell, NUMACell
from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid

REALTIME_PRIORITY = 1
"""Of the guest's real-time vCPUs under SCHED_FIFO; Nova's default."""

# cgroup limits as libvirt knows them: https://libvirt.org/formatdomain.html#cpu-tuning
QUOTAS = {
    "cpu_shares": (2, 262_144),
    "cpu_period": (1_000, 1_000_000),
    "cpu_quota": (1_000, 17_592_186_044_415),
}
UNSET = "0"
WHOLE_CARD, MACVTAP = "direct-physical", "macvtap"


@dataclass(frozen=True, slots=True)
class DomainCell:
    """A NUMA cell of the domain, as the guest sees it. `page_kib` 0: ordinary pages."""

    id: int
    vcpus: frozenset[int]
    memory_mib: int
    host_cell: int
    page_kib: int = 0


@dataclass(frozen=True, slots=True)
class HostDevice:
    """A PCI device handed through. `is_managed`: libvirt takes it from the host's driver, and gives it back.

    `mac`: it is a port's, and has this address; with `devname` the guest gets a macvtap on that interface of the host
    instead of the device.
    """

    domain: str
    bus: str
    slot: str
    function: str
    is_managed: bool = True
    mac: str = ""
    devname: str = ""


@dataclass(frozen=True, slots=True)
class GuestTuning:
    """All that a definition says of CPUs, memory and devices of the host. Empty for a guest that asks for nothing.

    `vcpu_set` confines the whole guest where it has no cells. `quotas` are pairs of libvirt's element and amount.
    """

    vcpu_set: frozenset[int] = frozenset()
    cpu_topology: CpuTopology | None = None
    cells: tuple[DomainCell, ...] = ()
    vcpu_pins: tuple[tuple[int, frozenset[int]], ...] = ()
    emulator_cpus: frozenset[int] = frozenset()
    realtime_vcpus: frozenset[int] = frozenset()
    quotas: tuple[tuple[str, int], ...] = ()
    is_locked: bool = False
    devices: tuple[HostDevice, ...] = ()

    @property
    def has_huge_pages(self) -> bool:
        """Whether any cell's memory is in huge pages."""
        return any(cell.page_kib for cell in self.cells)


@dataclass(frozen=True, slots=True)
class HostView:
    """What the rules need to know of the host. `pci_devices`: those that guests may have, as it reports them."""

    cells: tuple[NUMACell, ...] = ()
    shared_set: frozenset[int] = frozenset()
    pci_devices: tuple[PciDeviceRecord, ...] = ()


def guest_tuning(guest: GuestSpec, host: HostView) -> GuestTuning:
    """The values for one guest on this host.

    Raises DriverError of class HOST where the host does not have what the guest was placed on, and of class USER for
    a request that cannot be.
    """
    placed = placed_guest(guest)
    realtime = _cpus(guest.realtime_vcpus)
    tuning = GuestTuning(
        cpu_topology=_cpu_topology(guest),
        quotas=_quotas(guest),
        is_locked=guest.has_locked_memory or bool(realtime),
        devices=_devices(guest, host),
    )
    if placed is None:
        return replace(tuning, vcpu_set=host.shared_set)
    pairs = [(cell, _host_cell(cell, host)) for cell in placed]
    pins = tuple(pin for cell, on in pairs for pin in _pins(cell, on))
    return replace(
        tuning,
        cells=tuple(_domain_cell(at, cell, on) for at, (cell, on) in enumerate(pairs)),
        vcpu_pins=tuple(sorted(pins, key=lambda pin: pin[0])),
        emulator_cpus=_emulator_cpus(placed, pins, realtime, host),
        realtime_vcpus=realtime,
    )


def placed_guest(guest: GuestSpec) -> GuestTopology | None:
    """The guest's cells with their places. Raises DriverError when one has none."""
    try:
        if guest.numa_topology is not None:
            guest.numa_topology.require_place()
    except Invalid as error:
        raise DriverError(error.message) from error
    return guest.numa_topology


def _cpus(text: str) -> frozenset[int]:
    try:
        return parse_cpus(text)
    except Invalid as error:
        raise DriverError(error.message) from error


def _host_cell(cell: InstanceNUMACell, host: HostView) -> NUMACell:
    found = next((each for each in host.cells if each.id == cell.host_cell), None)
    if found is None:
        has = format_cpus(each.id for each in host.cells) or "none"
        raise DriverError(f"the guest was placed on NUMA cell {cell.host_cell}; this host has {has}")
    return found


def _domain_cell(at: int, cell: InstanceNUMACell, on: NUMACell) -> DomainCell:
    """Cells are numbered from 0 in the guest. libvirt takes no page size for ordinary pages."""
    smallest, size = on.smallest_pages, cell.page_size or 0
    is_huge = size > (0 if smallest is None else smallest.size_kib)
    return DomainCell(at, cell.vcpus, cell.memory_mib, on.id, size if is_huge else 0)


def _pins(cell: InstanceNUMACell, on: NUMACell) -> list[tuple[int, frozenset[int]]]:
    """Each vCPU and where it may run: on its own CPU, or anywhere on the shared CPUs of the cell."""
    if cell.cpuset and not on.cpuset:
        raise DriverError(f"vCPUs {format_cpus(cell.cpuset)} float, and NUMA cell {on.id} of this host shares no CPU")
    own = [(vcpu, frozenset({cpu})) for vcpu, cpu in cell.pinning]
    return own + [(vcpu, on.cpuset) for vcpu in cell.cpuset]


def _emulator_cpus(
    placed: GuestTopology, pins: tuple[tuple[int, frozenset[int]], ...], realtime: frozenset[int], host: HostView
) -> frozenset[int]:
    """Where the hypervisor's own threads run: on their reserved CPU (isolate), on the host's shared set (share, if it
    has one), else where the guest's vCPUs run, those at real time left out.
    """
    if placed.emulator_threads is EmulatorThreads.ISOLATE:
        return frozenset().union(*(cell.reserved for cell in placed.cells))
    is_sharing = placed.emulator_threads is EmulatorThreads.SHARE
    if is_sharing and host.shared_set:
        return host.shared_set
    if is_sharing and realtime:
        raise DriverError(
            "the guest has real-time vCPUs and shares its emulator threads; this host has no shared CPU set for them"
        )
    return frozenset().union(*(cpus for vcpu, cpus in pins if vcpu not in realtime))


def _cpu_topology(guest: GuestSpec) -> CpuTopology | None:
    wanted = guest.cpu_topology
    if wanted is not None and math.prod(wanted.parts) != guest.vcpus:
        sockets, cores, threads = wanted.parts
        raise DriverError(f"{sockets} sockets of {cores} cores of {threads} threads are not {guest.vcpus} vCPUs")
    return wanted


def _quotas(guest: GuestSpec) -> tuple[tuple[str, int], ...]:
    """`quota:cpu_shares`, `cpu_period` and `cpu_quota` of the flavor. Raises DriverError (USER)."""
    found = []
    for name, (minimum, maximum) in QUOTAS.items():
        text = guest.extra_specs.get(f"quota:{name}", "").strip()
        if text in ("", UNSET) or (name == "cpu_quota" and text.startswith("-")):
            continue
        number = int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None
        if number is None or not minimum <= number <= maximum:
            raise DriverError(
                f"quota:{name}={text[:40]!r} must be a whole number from {minimum} to {maximum}",
                failure_class=FailureClass.USER,
            )
        found.append((name.removeprefix("cpu_"), number))
    return tuple(found)


def _devices(guest: GuestSpec, host: HostView) -> tuple[HostDevice, ...]:
    offered = {device.address: device for device in host.pci_devices}
    ports = {port.pci_request_id: port for port in guest.ports if port.pci_request_id}
    return tuple(_device(each.address, offered, ports.get(each.request_id)) for each in guest.pci_devices)


def _device(address: str, offered: dict[str, PciDeviceRecord], port: PortSpec | None) -> HostDevice:
    try:
        parts = split_address(address, "pci_devices")
    except Invalid as error:
        raise DriverError(error.message) from error
    device = offered.get(address.lower())
    if device is None:
        raise DriverError(f"PCI device {address} was given to the guest; this host does not have it, or not for guests")
    domain, bus, slot, function = (f"0x{part}" for part in parts)
    is_managed = dict(device.tags).get("managed") != "false"
    if port is None or port.vnic_type == WHOLE_CARD:
        return HostDevice(domain, bus, slot, function, is_managed)
    if port.vnic_type != MACVTAP:
        return HostDevice(domain, bus, slot, function, is_managed, mac=port.mac)
    if not device.devname:
        raise DriverError(f"PCI device {address} has no interface of this host, which a port of type macvtap needs")
    return HostDevice(domain, bus, slot, function, is_managed, port.mac, device.devname)
