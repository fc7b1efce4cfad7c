"""The NUMA cells of a guest: what it asks for, and once fitted where each cell goes."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

# Page sizes by symbol, as Nova stores them in place of a size in KiB.
SMALL_PAGES, LARGE_PAGES, ANY_PAGES = -1, -2, -3
PAGE_WORDS = {"small": SMALL_PAGES, "large": LARGE_PAGES, "any": ANY_PAGES}


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
