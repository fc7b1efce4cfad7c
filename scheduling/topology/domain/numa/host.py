"""The NUMA cells of a host, with what is in use. Memory is in MiB, page sizes in KiB."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NUMAPages:
    """Pages of one size in one cell. `reserved` are kept from guests."""

    size_kib: int
    total: int
    used: int = 0
    reserved: int = 0

    @property
    def free(self) -> int:
        """Pages that may still be promised; negative where small pages are overcommitted."""
        return self.total - self.used - self.reserved

    @property
    def size_kb(self) -> int:
        """Nova's name of size_kib."""
        return self.size_kib


@dataclass(frozen=True, slots=True)
class NUMACell:
    """One NUMA cell. `cpuset` are the CPUs offered shared (VCPU), `pcpuset` those offered pinned (PCPU).

    `cpu_usage` counts shared vCPUs placed here. `siblings` are the threads of each core; a CPU in none of them is a
    core of its own. `physnets` and `tunneled` say which networks are near this cell.
    """

    id: int
    cpuset: frozenset[int]
    pcpuset: frozenset[int]
    memory_mib: int
    socket: int | None = None
    cpu_usage: int = 0
    memory_used_mib: int = 0
    pinned_cpus: frozenset[int] = frozenset()
    siblings: tuple[frozenset[int], ...] = ()
    mempages: tuple[NUMAPages, ...] = ()
    physnets: frozenset[str] = frozenset()
    tunneled: bool = False

    @property
    def free_pcpus(self) -> frozenset[int]:
        """CPUs that can be pinned."""
        return self.pcpuset - self.pinned_cpus

    @property
    def avail_pcpus(self) -> int:
        """How many CPUs can be pinned."""
        return len(self.pcpuset) - len(self.pcpuset & self.pinned_cpus)

    @property
    def avail_memory(self) -> int:
        """Free memory in MiB; negative under overcommit."""
        return self.memory_mib - self.memory_used_mib

    @property
    def cores(self) -> tuple[frozenset[int], ...]:
        """The threads of every core, in order: sibling sets, and CPUs without siblings alone."""
        alone = (self.cpuset | self.pcpuset).difference(*self.siblings)
        return (*filter(None, self.siblings), *(frozenset({cpu}) for cpu in sorted(alone)))

    @property
    def free_siblings(self) -> tuple[frozenset[int], ...]:
        """The threads of every core that can be pinned; empty for cores without any."""
        free = self.free_pcpus
        return tuple(threads & free for threads in self.cores)

    @property
    def threads_per_core(self) -> int:
        """Threads of the largest core; 1 without SMT."""
        return max((len(threads) for threads in self.siblings), default=1) or 1

    @property
    def has_threads(self) -> bool:
        """Whether any core has more than one thread."""
        return any(len(threads) > 1 for threads in self.siblings)

    def pages(self, size_kib: int) -> NUMAPages | None:
        """The pages of one size, if the cell has that size."""
        return next((each for each in self.mempages if each.size_kib == size_kib), None)

    @property
    def smallest_pages(self) -> NUMAPages | None:
        """The pages of the smallest size, if the host reports pages."""
        return min(self.mempages, key=lambda each: each.size_kib, default=None)

    # Nova's names, for plug-ins that were written for it.
    @property
    def memory(self) -> int:
        """Nova's name of memory_mib."""
        return self.memory_mib

    @property
    def memory_usage(self) -> int:
        """Nova's name of memory_used_mib."""
        return self.memory_used_mib


@dataclass(frozen=True, slots=True)
class HostTopology:
    """All cells of a host, in the order it reports them."""

    cells: tuple[NUMACell, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[NUMACell]:
        return iter(self.cells)

    def cell(self, cell_id: int) -> NUMACell | None:
        """The cell of this id."""
        return next((each for each in self.cells if each.id == cell_id), None)

    @property
    def has_threads(self) -> bool:
        """Whether the host has SMT."""
        return any(cell.has_threads for cell in self.cells)

    @property
    def sockets(self) -> dict[int, int | None]:
        """The CPU socket of each cell; None where the host does not say."""
        return {cell.id: cell.socket for cell in self.cells}
