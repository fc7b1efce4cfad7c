"""NUMA cells of a host, with what is in use, and of a guest, with where they are. Memory is MiB, page sizes KiB.

A host reports its cells in `HostReport.numa_topology`, without usage; the scheduler fits a guest's cells on them and
counts what guests have; a placed guest travels in `GuestSpec.numa_topology`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import (
    CELLS_MAX,
    CPUS_MAX,
    NETWORKS_NEAR_MAX,
    THREADS_MAX,
    Amount,
    CpuNumber,
    Cpus,
    Name,
    Signed,
)
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid

# Page sizes by symbol, as Nova stores them in place of a size in KiB.
SMALL_PAGES, LARGE_PAGES, ANY_PAGES = -1, -2, -3
PAGE_WORDS = {"small": SMALL_PAGES, "large": LARGE_PAGES, "any": ANY_PAGES}


@dataclass(frozen=True, slots=True)
class NUMAPages:
    """Pages of one size in one cell. `reserved` are kept from guests."""

    size_kib: Amount
    total: Amount
    used: Amount = 0
    reserved: Amount = 0

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

    id: CpuNumber
    cpuset: Cpus
    pcpuset: Cpus
    memory_mib: Amount
    socket: Signed | None = None
    cpu_usage: Amount = 0
    memory_used_mib: Amount = 0
    pinned_cpus: Cpus = frozenset()
    siblings: Annotated[
        tuple[Annotated[frozenset[CpuNumber], Meta(max_length=THREADS_MAX)], ...], Meta(max_length=CPUS_MAX)
    ] = ()
    mempages: Annotated[tuple[NUMAPages, ...], Meta(max_length=16)] = ()
    physnets: Annotated[frozenset[Name], Meta(max_length=NETWORKS_NEAR_MAX)] = frozenset()
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

    cells: Annotated[tuple[NUMACell, ...], Meta(max_length=CELLS_MAX)]

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


class CpuPolicy(StrEnum):
    """How vCPUs get host CPUs: shared float, dedicated are pinned one to one, mixed has both."""

    SHARED = "shared"
    DEDICATED = "dedicated"
    MIXED = "mixed"


class ThreadPolicy(StrEnum):
    """What pinned vCPUs want of a core's threads: siblings if there are, no siblings in use, or siblings only."""

    PREFER = "prefer"
    ISOLATE = "isolate"
    REQUIRE = "require"


class EmulatorThreads(StrEnum):
    """Where the hypervisor's own threads run: on the guest's CPUs, or on a CPU of their own."""

    SHARE = "share"
    ISOLATE = "isolate"


@dataclass(frozen=True, slots=True)
class InstanceNUMACell:
    """One NUMA cell of a guest: `cpuset` are its shared vCPUs, `pcpuset` its pinned ones.

    `page_size` is in KiB or a symbol, None for no constraint. The last three are set by a fit: the host cell, pairs of
    (vCPU, host CPU), and host CPUs reserved for emulator threads.
    """

    id: int
    cpuset: frozenset[int]
    pcpuset: frozenset[int]
    memory_mib: int
    page_size: int | None = None
    cpu_policy: CpuPolicy | None = None
    thread_policy: ThreadPolicy | None = None
    host_cell: int | None = None
    pinning: tuple[tuple[int, int], ...] = ()
    reserved: frozenset[int] = frozenset()

    @property
    def is_pinned(self) -> bool:
        """Whether some or all of its vCPUs are pinned."""
        return self.cpu_policy in (CpuPolicy.DEDICATED, CpuPolicy.MIXED)

    @property
    def is_shared(self) -> bool:
        """Whether some or all of its vCPUs float, so that overcommit limits apply."""
        return self.cpu_policy is not CpuPolicy.DEDICATED

    @property
    def vcpus(self) -> frozenset[int]:
        """All its vCPUs."""
        return self.cpuset | self.pcpuset

    @property
    def host_cpus(self) -> frozenset[int]:
        """Host CPUs it has for itself, emulator threads included."""
        return frozenset(cpu for _, cpu in self.pinning) | self.reserved


@dataclass(frozen=True, slots=True)
class GuestTopology:
    """All cells of a guest. CPU and thread policies are the same in all of them."""

    cells: tuple[InstanceNUMACell, ...]
    emulator_threads: EmulatorThreads | None = None

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[InstanceNUMACell]:
        return iter(self.cells)

    @property
    def cpu_policy(self) -> CpuPolicy | None:
        """The CPU policy of all cells."""
        return self.cells[0].cpu_policy

    @property
    def thread_policy(self) -> ThreadPolicy | None:
        """The thread policy of all cells."""
        return self.cells[0].thread_policy

    @property
    def emulator_threads_isolated(self) -> bool:
        """Whether one more host CPU, next to the first cell, is taken for emulator threads."""
        return self.emulator_threads is EmulatorThreads.ISOLATE

    @property
    def is_placed(self) -> bool:
        """Whether each cell has its host cell."""
        return all(cell.host_cell is not None for cell in self.cells)

    @property
    def pinned_count(self) -> int:
        """How many vCPUs have a host CPU of their own."""
        return sum(len(cell.pinning) for cell in self.cells)

    def require_place(self) -> None:
        """Raises Invalid unless a guest can be made of it: each cell has its host cell and the size of its pages, each
        vCPU that is to be pinned its CPU.
        """
        for cell in self.cells:
            pinned = frozenset(vcpu for vcpu, _ in cell.pinning)
            where = f"this is no topology of a placed guest: cell {cell.id}"
            if cell.host_cell is None:
                raise Invalid(f"{where} has no host cell")
            if pinned != cell.pcpuset:
                wanted, has = format_cpus(cell.pcpuset) or "none", format_cpus(pinned) or "none"
                raise Invalid(f"{where} has pins of vCPUs {has}, to be pinned are {wanted}")
            if cell.page_size is not None and cell.page_size < 1:  # a symbol, which a fit replaces by a size
                raise Invalid(f"{where} has pages without a size")


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """Sockets, cores per socket, threads per core. In a preference 0 is no constraint; in a limit it is none."""

    sockets: int
    cores: int
    threads: int

    @property
    def parts(self) -> tuple[int, int, int]:
        """All three numbers."""
        return self.sockets, self.cores, self.threads

    @property
    def text(self) -> str:
        """For people: '2:4:1'."""
        return ":".join(map(str, self.parts))
