"""Which host CPUs a cell's pinned vCPUs get, thread by thread and core by core. Source: Nova's packing rules."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice

from computeagent.protocol.topology import InstanceNUMACell, NUMACell, ThreadPolicy

Core = list[int]


@dataclass(frozen=True, slots=True)
class Packing:
    """Pairs of (vCPU, host CPU), and host CPUs for emulator threads."""

    pinning: tuple[tuple[int, int], ...]
    reserved: frozenset[int]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Why there is no packing: what was wanted, and how much of it is free."""

    wanted: int
    available: int
    detail: str


def pack(host: NUMACell, guest: InstanceNUMACell, reserve: int = 0) -> Packing | Unpacked:
    """Pin the vCPUs of `guest.pcpuset` in order, and `reserve` CPUs more. The first choice that works is taken.

    Nothing is done to keep fragmentation low, as in Nova.
    """
    cores = [sorted(threads) for threads in host.free_siblings if threads]
    vcpus = sorted(guest.pcpuset)
    if guest.thread_policy is ThreadPolicy.ISOLATE:
        return _isolate(host, cores, vcpus, reserve)
    if guest.thread_policy is ThreadPolicy.REQUIRE:
        return _require(host, cores, vcpus, reserve)
    return _prefer(cores, vcpus, reserve)


def _isolate(host: NUMACell, cores: list[Core], vcpus: list[int], reserve: int) -> Packing | Unpacked:
    """One thread of each core that is wholly free; reserved CPUs have such a core to themselves as well.

    With SMT only where shared and pinned CPUs are the same set (Nova's older configuration): elsewhere a sibling
    could be handed out to shared guests.
    """
    threads = host.threads_per_core
    wanted = len(vcpus) + reserve
    if threads > 1 and host.pcpuset != host.cpuset:
        return Unpacked(wanted, 0, "isolate on a host with SMT and separate sets of shared and pinned CPUs")
    free = [core for core in cores if len(core) == threads]
    if len(free) < wanted:
        return Unpacked(wanted, len(free), "isolate: whole free cores")
    firsts = [core[0] for core in free[:wanted]]
    return Packing(tuple(zip(vcpus, firsts, strict=False)), frozenset(firsts[len(vcpus) :]))


def _require(host: NUMACell, cores: list[Core], vcpus: list[int], reserve: int) -> Packing | Unpacked:
    """Siblings only: as many threads of a core as work, never one alone."""
    if not host.has_threads:
        return Unpacked(len(vcpus), 0, "require: the host has no SMT")
    found = _by_threads(cores, vcpus, reserve, minimum=2)
    usable = sum(len(core) for core in cores if len(core) > 1)
    return found or Unpacked(len(vcpus) + reserve, usable, "require: threads on cores with free siblings")


def _prefer(cores: list[Core], vcpus: list[int], reserve: int) -> Packing | Unpacked:
    """Siblings if there are enough; else every free thread counts as a core of its own."""
    found = _by_threads(cores, vcpus, reserve, minimum=1)
    if found is not None:
        return found
    single = [[thread] for thread in chain.from_iterable(cores)]
    return _choose(single, single, vcpus, 1, reserve) or Unpacked(len(vcpus) + reserve, len(single), "prefer")


def _by_threads(cores: list[Core], vcpus: list[int], reserve: int, *, minimum: int) -> Packing | None:
    """From the most threads of one core down to `minimum`: emptier cores first."""
    maximum = max((len(core) for core in cores), default=0)
    for threads in range(maximum, minimum - 1, -1):
        usable = [core for core in cores if len(core) >= threads]
        found = _choose(usable, cores, vcpus, threads, reserve)
        if found is not None:
            return found
    return None


def _choose(usable: list[Core], cores: list[Core], vcpus: list[int], threads: int, reserve: int) -> Packing | None:
    """The first `threads` threads of each usable core in turn; reserved CPUs from what is left over."""
    if threads * len(usable) < len(vcpus):
        return None
    chosen = tuple(zip(vcpus, chain.from_iterable(core[:threads] for core in usable), strict=False))
    reserved = _leftover(cores, {cpu for _, cpu in chosen}, reserve)
    return Packing(chosen, reserved) if len(reserved) == reserve else None


def _leftover(cores: Iterable[Core], taken: set[int], count: int) -> frozenset[int]:
    left = (cpu for cpu in chain.from_iterable(cores) if cpu not in taken)
    return frozenset(islice(left, count))
