"""A host's cells with exactly what the known guests have of them, whatever the host has become meanwhile."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

from computeagent.protocol.topology import GuestTopology, HostTopology, InstanceNUMACell, NUMACell
from scheduling.topology.domain.numa.usage import PinningConflict, claim

Key = TypeVar("Key", bound=Hashable)


def emptied(host: HostTopology) -> HostTopology:
    """The host with nobody on it."""
    return HostTopology(tuple(_emptied(cell) for cell in host.cells))


def occupied(
    host: HostTopology | None, guests: Mapping[Key, GuestTopology]
) -> tuple[HostTopology | None, dict[Key, str]]:
    """The host with these guests on it and nobody else; and by guest what the host does not have of it any more.

    A guest that does not fit any more (a cell is gone, a CPU is not offered, two have the same CPU) keeps all that
    is there, so that nobody else gets it.
    """
    if host is None:
        return None, dict.fromkeys(guests, "the host reports no NUMA topology any more")
    problems: dict[Key, str] = {}
    host = emptied(host)
    for key, guest in guests.items():
        try:
            host = claim(host, guest)
        except PinningConflict as error:
            problems[key] = error.message
            host = _with_what_is_there(host, guest)
    return host, problems


def _emptied(cell: NUMACell) -> NUMACell:
    pages = tuple(replace(each, used=0) for each in cell.mempages)
    return replace(cell, cpu_usage=0, memory_used_mib=0, pinned_cpus=frozenset(), mempages=pages)


def _with_what_is_there(host: HostTopology, guest: GuestTopology) -> HostTopology:
    parts = {part.host_cell: part for part in guest.cells}
    return HostTopology(tuple(_held(cell, parts[cell.id]) if cell.id in parts else cell for cell in host.cells))


def _held(cell: NUMACell, part: InstanceNUMACell) -> NUMACell:
    free = replace(part, pinning=(), reserved=frozenset())
    (held,) = claim(HostTopology((cell,)), GuestTopology((free,))).cells
    return replace(held, pinned_cpus=held.pinned_cpus | (part.host_cpus & cell.pcpuset))
