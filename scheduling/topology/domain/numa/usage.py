"""What a placed guest takes of its host's cells, and gives back. Source: Nova's NUMA usage."""

from dataclasses import replace

from computeagent.protocol.topology import (
    GuestTopology,
    HostTopology,
    InstanceNUMACell,
    NUMACell,
    NUMAPages,
    ThreadPolicy,
)
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _


class PinningConflict(Conflict):
    """CPUs to pin are unknown to the cell or taken, or CPUs to unpin are not pinned: `extra` has cell and cpus."""

    code = "pinning_conflict"


def claim(host: HostTopology, guest: GuestTopology) -> HostTopology:
    """The host with the guest on it. Raises PinningConflict if somebody else has one of its CPUs."""
    return _apply(host, guest, 1)


def free(host: HostTopology, guest: GuestTopology) -> HostTopology:
    """The host without the guest: the inverse of `claim`. No amount falls below 0. Raises PinningConflict."""
    return _apply(host, guest, -1)


def _apply(host: HostTopology, guest: GuestTopology, sign: int) -> HostTopology:
    cells = {cell.id: cell for cell in host.cells}
    for part in guest.cells:
        at = part.host_cell
        if at is None or at not in cells:
            raise PinningConflict(
                _("guest cell {part} is on host cell {at}, which is not there", part=part.id, at=at), cell=at, cpus=""
            )
        cells[at] = _apply_cell(cells[at], part, sign)
    return HostTopology(tuple(cells[cell.id] for cell in host.cells))


def _apply_cell(cell: NUMACell, part: InstanceNUMACell, sign: int) -> NUMACell:
    return replace(
        cell,
        memory_used_mib=max(0, cell.memory_used_mib + sign * part.memory_mib),
        cpu_usage=max(0, cell.cpu_usage + sign * len(part.cpuset)),
        pinned_cpus=_pinned(cell, part, sign),
        mempages=_mempages(cell, part, sign),
    )


def _mempages(cell: NUMACell, part: InstanceNUMACell, sign: int) -> tuple[NUMAPages, ...]:
    """Pages of the guest's size; of the smallest size if it asked for none."""
    smallest = cell.smallest_pages
    size = part.page_size or (smallest.size_kib if smallest else 0)
    return tuple(_used(pages, part, sign) if pages.size_kib == size else pages for pages in cell.mempages)


def _used(pages: NUMAPages, part: InstanceNUMACell, sign: int) -> NUMAPages:
    count = part.memory_mib * 1024 // pages.size_kib
    return replace(pages, used=max(0, pages.used + sign * count))


def _pinned(cell: NUMACell, part: InstanceNUMACell, sign: int) -> frozenset[int]:
    if not part.is_pinned:
        return cell.pinned_cpus
    cpus = _with_siblings(cell, part.host_cpus) if part.thread_policy is ThreadPolicy.ISOLATE else part.host_cpus
    _check(cell, _("unknown to the cell"), cpus - cell.pcpuset)
    if sign > 0:
        _check(cell, _("pinned already"), cpus & cell.pinned_cpus)
        return cell.pinned_cpus | cpus
    _check(cell, _("not pinned"), cpus - cell.pinned_cpus)
    return cell.pinned_cpus - cpus


def _with_siblings(cell: NUMACell, cpus: frozenset[int]) -> frozenset[int]:
    """Under isolate the siblings are taken along, so that nobody else gets them."""
    return cpus.union(*(threads for threads in cell.siblings if threads & cpus))


def _check(cell: NUMACell, what: str, wrong: frozenset[int]) -> None:
    if wrong:
        cpus = format_cpus(wrong)
        raise PinningConflict(
            _("host cell {cell}: CPU {cpus} is {what}", cell=cell.id, cpus=cpus, what=what), cell=cell.id, cpus=cpus
        )
