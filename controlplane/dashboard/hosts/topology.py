"""The picture of a host's NUMA cells and PCI devices, with the names of those who have them."""

from dataclasses import dataclass

from django.utils.translation import gettext

from computeagent.protocol.pci import DeviceState, PciDeviceRecord
from controlplane.dashboard.templatetags.pages import mib
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.texts import gettext_noop
from scheduling.topology.domain.host_picture import CellPicture, CpuPicture, CpuUse
from servers.hosts.selectors.topology import HostTopologyShown

DEVICE_STATES = {
    DeviceState.AVAILABLE: gettext_noop("free"),
    DeviceState.CLAIMED: gettext_noop("promised"),
    DeviceState.ALLOCATED: gettext_noop("in use"),
    DeviceState.UNAVAILABLE: gettext_noop("its card is in use"),
    DeviceState.UNCLAIMABLE: gettext_noop("its card is promised"),
    DeviceState.REMOVED: gettext_noop("gone from the host, in use"),
    DeviceState.DELETED: gettext_noop("gone"),
}


@dataclass(frozen=True, slots=True)
class CpuCell:
    """One CPU: `title` says all of it."""

    cpu: CpuPicture
    title: str


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """One device in words; `owner_name` is empty where nobody has it."""

    device: PciDeviceRecord
    state: str
    owner_name: str


@dataclass(frozen=True, slots=True)
class CellCard:
    """One NUMA cell: its CPUs, how its memory is used, its large pages, its devices, and who has a cell in it."""

    picture: CellPicture
    sentence: str
    cores: tuple[tuple[CpuCell, ...], ...]
    pages: tuple[str, ...]
    devices: tuple[DeviceLine, ...]
    guests: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TopologyCard:
    """All cells, and the devices near none."""

    cells: tuple[CellCard, ...]
    devices: tuple[DeviceLine, ...]
    uses: frozenset[CpuUse]


def topology_card(shown: HostTopologyShown) -> TopologyCard:
    """No query: names were read with the picture."""
    cells = tuple(_card(one, shown) for one in shown.picture.cells)
    uses = frozenset(cpu.use for one in shown.picture.cells for core in one.cores for cpu in core)
    return TopologyCard(cells, _devices(shown.picture.devices, shown), uses)


def _card(one: CellPicture, shown: HostTopologyShown) -> CellCard:
    pages = tuple(
        gettext("%(used)s of %(total)s pages of %(size)s")
        % {
            "used": f"{page.used:,}",
            "total": f"{page.total - page.reserved:,}",
            "size": _page_size(page.size_kib),
        }
        for page in one.pages
    )
    cores = tuple(tuple(CpuCell(cpu, _title(cpu, shown)) for cpu in core) for core in one.cores)
    guests = tuple((owner, _name(owner, shown)) for owner in one.guests)
    return CellCard(one, _sentence(one), cores, pages, _devices(one.devices, shown), guests)


def _sentence(one: CellPicture) -> str:
    cell = one.cell
    memory = {"used": mib(cell.memory_used_mib), "total": mib(cell.memory_mib)}
    parts = [gettext("%(used)s of %(total)s given to guests placed here") % memory]
    if cell.pcpuset:
        pinned = {"count": len(cell.pcpuset) - cell.avail_pcpus, "total": len(cell.pcpuset)}
        parts.append(gettext("%(count)s of %(total)s CPUs pinned") % pinned)
    if cell.cpuset:
        shared = {"cpus": format_cpus(cell.cpuset), "count": cell.cpu_usage}
        parts.append(gettext("CPUs %(cpus)s shared, %(count)s placed vCPUs on them") % shared)
    if cell.physnets:
        parts.append(gettext("near networks %(names)s") % {"names": ", ".join(sorted(cell.physnets))})
    return gettext("%(sentence)s.") % {"sentence": gettext("; ").join(parts)}


def _title(cpu: CpuPicture, shown: HostTopologyShown) -> str:
    if cpu.use is CpuUse.PINNED:
        pinned = gettext("CPU %(cpu)s: pinned to %(name)s") if cpu.owner else gettext("CPU %(cpu)s: pinned")
        return pinned % {"cpu": cpu.cpu, "name": _name(cpu.owner, shown) if cpu.owner else ""}
    use = gettext("CPU %(cpu)s: free for pinning") if cpu.use is CpuUse.FREE else gettext("CPU %(cpu)s: shared")
    return use % {"cpu": cpu.cpu}


def _devices(devices: tuple[PciDeviceRecord, ...], shown: HostTopologyShown) -> tuple[DeviceLine, ...]:
    return tuple(
        DeviceLine(one, DEVICE_STATES[one.state], _name(one.owner, shown) if one.owner else "") for one in devices
    )


def _name(owner: str, shown: HostTopologyShown) -> str:
    return shown.names.get(owner) or owner


def _page_size(size_kib: int) -> str:
    return f"{size_kib} KiB" if size_kib < 1024 else mib(size_kib // 1024)
