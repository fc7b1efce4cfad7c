"""Whether one guest cell fits on one host cell: memory and pages, CPUs, pinning, overcommit. Source: Nova's order."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from computeagent.protocol.topology import ANY_PAGES, LARGE_PAGES, SMALL_PAGES, InstanceNUMACell, NUMACell, NUMAPages
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.numa.packing import Unpacked, pack


@dataclass(frozen=True, slots=True)
class Limits:
    """Overcommit of shared CPUs and memory, per cell."""

    cpu_ratio: float
    ram_ratio: float


def fit_cell(
    host: NUMACell, guest: InstanceNUMACell, limits: Limits | None = None, reserve: int = 0
) -> InstanceNUMACell | Refusal:
    """The guest cell as placed on this host cell, or the first rule it breaks.

    `reserve` are host CPUs wanted on top for emulator threads. Without `limits` overcommit is not looked at.
    """
    size = _page_size(host, guest)
    if isinstance(size, Refusal):
        return size
    refusal = next((one for check in _CHECKS if (one := check(host, guest, limits, reserve)) is not None), None)
    if refusal is not None:
        return refusal
    placed = replace(guest, host_cell=host.id, page_size=size)
    if not guest.is_pinned:
        return placed
    packing = pack(host, guest, reserve)
    if isinstance(packing, Unpacked):
        return _unpacked(host, guest, packing)
    return replace(placed, pinning=packing.pinning, reserved=packing.reserved)


def _page_size(host: NUMACell, guest: InstanceNUMACell) -> int | Refusal | None:
    """The page size it gets; None where it asked for none."""
    if not guest.page_size:
        return _default_memory(host, guest)
    candidates = _candidate_pages(host, guest.page_size)
    if not candidates:
        sizes = " ".join(str(pages.size_kib) for pages in host.mempages)
        return _refusal(host, guest, RefusalReason.PAGE_SIZE_UNSUPPORTED, _size_words(guest.page_size), sizes)
    found = next((pages for pages in candidates if _holds(pages, guest.memory_mib, pages.free)), None)
    return _pages_short(host, guest, candidates[0]) if found is None else found.size_kib


def _candidate_pages(host: NUMACell, wanted_value: int) -> list[NUMAPages]:
    """Sizes to try, in order: small the smallest, large all others from the largest, any all from the largest."""
    sizes = sorted(host.mempages, key=lambda pages: pages.size_kib, reverse=True)
    by_symbol = {SMALL_PAGES: sizes[-1:], LARGE_PAGES: sizes[:-1], ANY_PAGES: sizes}
    return (
        by_symbol[wanted_value]
        if wanted_value in by_symbol
        else [pages for pages in sizes if pages.size_kib == wanted_value]
    )


def _holds(pages: NUMAPages, memory_mib: int, count: int) -> bool:
    """Whether the memory is a whole number of pages and `count` are enough."""
    wanted, rest = divmod(memory_mib * 1024, pages.size_kib)
    return not rest and wanted <= count


def _default_memory(host: NUMACell, guest: InstanceNUMACell) -> Refusal | None:
    """No page size asked for: the smallest pages, or plain memory on a host that reports none.

    Pinned guests need it free; shared ones may overcommit the cell, but no guest overcommits against itself.
    """
    pages = host.smallest_pages
    if pages is not None:
        count = pages.free if guest.is_pinned else pages.total
        return None if _holds(pages, guest.memory_mib, count) else _pages_short(host, guest, pages, count)
    free = host.avail_memory if guest.is_pinned else host.memory_mib
    if free >= guest.memory_mib:
        return None
    return _refusal(host, guest, RefusalReason.NUMA_MEMORY_SHORT, guest.memory_mib, free, unit="MB")


def _cell_cpus(host: NUMACell, guest: InstanceNUMACell, limits: Limits | None, reserve: int) -> Refusal | None:
    """The cell as a whole must have the CPUs: no guest overcommits against itself."""
    wanted = len(guest.pcpuset) + reserve
    if guest.is_pinned and wanted > len(host.pcpuset):
        return _refusal(host, guest, RefusalReason.PINNED_CPU_SHORT, wanted, len(host.pcpuset))
    shared = len(guest.cpuset)
    if guest.is_shared and shared > len(host.cpuset):
        return _refusal(host, guest, RefusalReason.NUMA_CPU_SHORT, shared, len(host.cpuset))
    return None


def _free_pinned(host: NUMACell, guest: InstanceNUMACell, limits: Limits | None, reserve: int) -> Refusal | None:
    wanted = len(guest.pcpuset) + reserve
    if guest.is_pinned and wanted > host.avail_pcpus:
        return _refusal(host, guest, RefusalReason.PINNED_CPU_SHORT, wanted, host.avail_pcpus)
    return None


def _overcommit(host: NUMACell, guest: InstanceNUMACell, limits: Limits | None, reserve: int) -> Refusal | None:
    """Shared vCPUs and memory within the cell's share of the overcommit. Dedicated guests have their own already."""
    if limits is None or not guest.is_shared:
        return None
    cpus = len(host.cpuset) * limits.cpu_ratio - host.cpu_usage
    if len(guest.cpuset) > cpus:
        return _refusal(host, guest, RefusalReason.NUMA_CPU_SHORT, len(guest.cpuset), cpus, ratio=limits.cpu_ratio)
    memory = host.memory_mib * limits.ram_ratio - host.memory_used_mib
    if guest.memory_mib > memory:
        return _refusal(
            host,
            guest,
            RefusalReason.NUMA_MEMORY_SHORT,
            guest.memory_mib,
            memory,
            unit="MB",
            ratio=limits.ram_ratio,
        )
    return None


_CHECKS: tuple[Callable[[NUMACell, InstanceNUMACell, Limits | None, int], Refusal | None], ...] = (
    _cell_cpus,
    _free_pinned,
    _overcommit,
)


def _unpacked(host: NUMACell, guest: InstanceNUMACell, why: Unpacked) -> Refusal:
    # Without threads the policy cannot be had here at all; else it is only a matter of what is free.
    reason = RefusalReason.CPU_THREADS_UNSUITED
    return _refusal(host, guest, reason, why.wanted, why.available, detail=why.detail)


def _pages_short(host: NUMACell, guest: InstanceNUMACell, pages: NUMAPages, count: int | None = None) -> Refusal:
    kib = guest.memory_mib * 1024
    free = pages.free if count is None else count
    detail = f"{guest.memory_mib} MB is no multiple" if kib % pages.size_kib else ""
    wanted = -(-kib // pages.size_kib)
    return _refusal(
        host, guest, RefusalReason.PAGES_SHORT, wanted, max(0, free), unit=f"{pages.size_kib} KiB", detail=detail
    )


def _refusal(
    host: NUMACell,
    guest: InstanceNUMACell,
    reason: RefusalReason,
    wanted: int | str,
    available: float | str,
    *,
    unit: str = "",
    detail: str = "",
    ratio: float | None = None,
) -> Refusal:
    where = f"guest cell {guest.id}, host cell {host.id}"
    return Refusal(
        reason,
        wanted=wanted,
        available=available,
        unit=unit,
        detail=f"{where}: {detail}" if detail else where,
        ratio=ratio,
    )


def _size_words(wanted_value: int) -> str:
    words = {SMALL_PAGES: "small", LARGE_PAGES: "large", ANY_PAGES: "any"}
    return words.get(wanted_value) or f"{wanted_value} KiB"
