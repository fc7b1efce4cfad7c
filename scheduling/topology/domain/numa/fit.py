"""Fitting a whole guest on a host: each guest cell on a host cell of its own, near its PCI devices and networks.

Source: Nova's search over permutations of host cells. The first that passes wins, as there. Whether a guest cell fits
on a host cell is asked once, and what is left to try depends only on the set of cells in use, so that sets known to
lead nowhere are not tried again: the search grows with the subsets of cells, not with their permutations.
"""

from dataclasses import dataclass, field

from computeagent.protocol.topology import GuestTopology, HostTopology, InstanceNUMACell, NUMACell
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.numa.cell_fit import Limits, fit_cell
from scheduling.topology.domain.numa.network import NetworkNeeds, refuse_far_networks
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import Pools, count_by_cell
from scheduling.topology.domain.pci.support import NumaPlace, refuse_pci

# How far down Nova's order of checks a refusal is: the furthest one is the closest to a fit.
_DEPTH = (
    RefusalReason.PAGE_SIZE_UNSUPPORTED,
    RefusalReason.PAGES_SHORT,
    RefusalReason.NUMA_MEMORY_SHORT,
    RefusalReason.NUMA_CPU_SHORT,
    RefusalReason.PINNED_CPU_SHORT,
    RefusalReason.CPU_THREADS_UNSUITED,
)


@dataclass(frozen=True, slots=True)
class FitNeeds:
    """What a fit looks at besides the cells. `pools` None: nothing is known of PCI devices.

    `pack` fills the fullest cells first, where by default the emptiest come first.
    """

    limits: Limits | None = None
    pci_requests: tuple[PciRequest, ...] = ()
    pools: Pools | None = None
    networks: NetworkNeeds = field(default_factory=NetworkNeeds)
    pack: bool = False


PLAIN = FitNeeds()


def fit(host: HostTopology, guest: GuestTopology, needs: FitNeeds = PLAIN) -> GuestTopology | Refusal:
    """The guest with host cells, page sizes and pinned CPUs filled in; or why it does not fit, with the numbers."""
    if len(host) < len(guest):
        return Refusal(RefusalReason.NUMA_CELLS_SHORT, wanted=len(guest), available=len(host))
    search = _Search(host, guest, needs)
    chosen = search.run()
    if chosen is None:
        return search.why_not()
    return GuestTopology(chosen, guest.emulator_threads)


def ordered_cells(host: HostTopology, guest: GuestTopology, needs: FitNeeds) -> tuple[NUMACell, ...]:
    """Host cells in the order they are tried. Only where there is a choice are they sorted, the last sort dominating:

    by free memory, then by CPUs in use, then by free PCI devices (many first for a guest that asks for some).
    """
    if len(host) == len(guest):
        return host.cells
    cells = sorted(host.cells, key=lambda cell: cell.avail_memory, reverse=not needs.pack)
    if guest.cells[0].is_pinned:
        cells.sort(key=lambda cell: cell.avail_pcpus, reverse=not needs.pack)
    else:
        cells.sort(key=lambda cell: cell.cpu_usage, reverse=needs.pack)
    if needs.pools is not None:
        devices = count_by_cell(needs.pools)
        cells.sort(key=lambda cell: devices[cell.id], reverse=bool(needs.pci_requests))
    return tuple(cells)


class _Search:
    """One search: guest cells in their order, host cells in theirs, back where nothing fits."""

    def __init__(self, host: HostTopology, guest: GuestTopology, needs: FitNeeds) -> None:
        self.host = host
        self.guest = guest
        self.needs = needs
        self.cells = ordered_cells(host, guest, needs)
        self.answers: dict[tuple[int, int], InstanceNUMACell | Refusal] = {}
        self.dead: set[frozenset[int]] = set()
        self.max_placed = 0
        self.surroundings: Refusal | None = None

    def run(self) -> tuple[InstanceNUMACell, ...] | None:
        """The first way to place all cells."""
        # A guest cell without any home is found here, before a search over the others.
        if any(all(isinstance(self._pair(at, cell), Refusal) for cell in self.cells) for at in range(len(self.guest))):
            return None
        return self._extend(())

    def why_not(self) -> Refusal:
        """What kept the guest off this host, said of the cell that came closest."""
        for at in range(len(self.guest)):
            refusals = [one for cell in self.cells if isinstance(one := self._pair(at, cell), Refusal)]
            if len(refusals) == len(self.cells):
                return max(refusals, key=_closeness)
        if self.surroundings is not None:
            return self.surroundings
        return Refusal(RefusalReason.NUMA_CELLS_SHORT, wanted=len(self.guest), available=self.max_placed)

    def _extend(self, chosen: tuple[InstanceNUMACell, ...]) -> tuple[InstanceNUMACell, ...] | None:
        used = frozenset(cell.host_cell for cell in chosen if cell.host_cell is not None)
        if used in self.dead:
            return None
        self.max_placed = max(self.max_placed, len(chosen))
        found = self._complete(chosen, used) if len(chosen) == len(self.guest) else self._next(chosen, used)
        if found is None:
            self.dead.add(used)
        return found

    def _next(self, chosen: tuple[InstanceNUMACell, ...], used: frozenset[int]) -> tuple[InstanceNUMACell, ...] | None:
        for cell in self.cells:
            if cell.id in used:
                continue
            answer = self._pair(len(chosen), cell)
            if isinstance(answer, InstanceNUMACell):
                found = self._extend((*chosen, answer))
                if found is not None:
                    return found
        return None

    def _pair(self, at: int, cell: NUMACell) -> InstanceNUMACell | Refusal:
        """One guest cell on one host cell. Isolated emulator threads stay by the guest's first cell."""
        key = (at, cell.id)
        if key not in self.answers:
            reserve = int(self.guest.emulator_threads_isolated and at == 0)
            self.answers[key] = fit_cell(cell, self.guest.cells[at], self.needs.limits, reserve)
        return self.answers[key]

    def _complete(
        self, chosen: tuple[InstanceNUMACell, ...], used: frozenset[int]
    ) -> tuple[InstanceNUMACell, ...] | None:
        """The choice, if devices and networks are near enough to these cells."""
        refusal = self._refuse_devices(used) or refuse_far_networks(self.host, used, self.needs.networks)
        if refusal is None:
            return chosen
        self.surroundings = refusal
        return None

    def _refuse_devices(self, used: frozenset[int]) -> Refusal | None:
        if not self.needs.pci_requests or self.needs.pools is None:
            return None
        return refuse_pci(self.needs.pools, self.needs.pci_requests, NumaPlace(used, self.host.sockets))


def _closeness(refusal: Refusal) -> tuple[int, float]:
    available = refusal.available
    return _DEPTH.index(refusal.reason), float(available) if isinstance(available, int | float) else 0.0
