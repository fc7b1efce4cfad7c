"""Changes of what a guest's inside must be like: NUMA cells, pinned CPUs, pages, PCI devices."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.hosts.topologies import topology_of
from scheduling.domain.request.resources import MEMORY_MB, VCPU
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.pci.pool import NumaPolicy
from scheduling.whatif.domain.nearest_fit.amounts import ask_for_less
from scheduling.whatif.domain.nearest_fit.change import (
    ChangeKind,
    ChangeStep,
    Trial,
    spec_step,
    with_specs,
    without_properties,
)
from scheduling.whatif.domain.world import World

_PINNING = (
    "hw:cpu_policy", "hw:cpu_thread_policy", "hw:cpu_dedicated_mask", "hw:emulator_threads_policy", "hw:cpu_realtime",
    "hw:cpu_realtime_mask", "resources:PCPU",
)  # fmt: skip
_CELLS = ("hw:numa_nodes", "hw:numa_cpus.", "hw:numa_mem.")
_PAGES = ("hw:mem_page_size", "hw:locked_memory")
_TOPOLOGY = (*_PINNING, *_CELLS, *_PAGES, "hw:pmem")
_ALIAS = "pci_passthrough:alias"
_PCI_POLICY = "hw:pci_numa_affinity_policy"
MAX_CELLS = 8
"""So many cells are tried; real hosts have fewer."""


def plain_guest(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A guest that does not ask for any topology."""
    yield from _without(trial, _TOPOLOGY, Phrase(gettext_noop("ask for no NUMA topology")))


def shared_cpus(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """CPUs that others use too."""
    yield from _without(trial, _PINNING, Phrase(gettext_noop("ask for shared CPUs instead of pinned ones")))


def any_threads(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Whatever threads there are."""
    keys = ("hw:cpu_thread_policy", "hw:emulator_threads_policy")
    yield from _without(trial, keys, Phrase(gettext_noop("ask for no CPU thread policy")))


def other_cells(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The same guest over fewer or more NUMA cells, as many as the host has at most."""
    before, host = _cells_asked(trial.request), topology_of(row.numa_topology)
    bare = _bare(trial, _CELLS)
    for count in range(1, min(MAX_CELLS, 0 if host is None else len(host)) + 1):
        if count != before:
            one = gettext_noop("spread it over {count} NUMA cell instead of {before}")
            more = gettext_noop("spread it over {count} NUMA cells instead of {before}")
            sentence = Phrase(one if count == 1 else more, count=count, before=before)
            changed = with_specs(bare, {"hw:numa_nodes": str(count)})
            yield ChangeStep(ChangeKind.REQUEST, "extra_spec", sentence, abs(count - before) / before, changed)


def fewer_cpus(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """As many vCPUs as the nearest cell has, in each cell."""
    if isinstance(refusal.available, int | float):
        yield from ask_for_less(trial, VCPU, int(refusal.available) * _cells_asked(trial.request))


def less_memory(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """As much memory as the nearest cell has, in each cell."""
    if isinstance(refusal.available, int | float):
        yield from ask_for_less(trial, MEMORY_MB, int(refusal.available) * _cells_asked(trial.request))


def fewer_pages(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """As much memory as there are pages of that size in the nearest cell."""
    size = refusal.unit.removesuffix(" KiB")
    if isinstance(refusal.available, int) and size.isdecimal():
        mib = refusal.available * int(size) // 1024
        yield from ask_for_less(trial, MEMORY_MB, mib * _cells_asked(trial.request))


def other_pages(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Another size that the host has, any size, or no constraint."""
    host, before = topology_of(row.numa_topology), trial.request.flavor.extra_specs.get("hw:mem_page_size")
    sizes = {pages.size_kib for cell in host.cells for pages in cell.mempages} if host is not None else set()
    for text, size in (*((f"{one}", 0.5) for one in sorted(sizes, reverse=True)), ("any", 0.75)):
        if before not in (None, text, f"{text}KB"):
            words = text if text == "any" else f"{text} KiB"
            yield from spec_step(
                trial,
                {"hw:mem_page_size": text},
                Phrase(gettext_noop("ask for pages of {words} instead of {before}"), words=words, before=before),
                size,
            )
    yield from _without(trial, _PAGES, Phrase(gettext_noop("ask for no page size")))


def fewer_devices(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """As many devices as are free, or none."""
    free = refusal.available if isinstance(refusal.available, int) else 0
    for at, asked in enumerate(trial.request.pci_requests):
        if asked.count != refusal.wanted or refusal.detail not in ("", asked.words):
            continue
        for count in dict.fromkeys((min(free, asked.count - 1), 0)):
            some = gettext_noop("ask for {count} {device} instead of {before}")
            none = gettext_noop("ask for no {device} instead of {before}")
            sentence = Phrase(some if count else none, count=count, device=asked.words, before=asked.count)
            size = (asked.count - count) / asked.count
            yield ChangeStep(ChangeKind.REQUEST, "pci_devices", sentence, size, _with_devices(trial, at, count))


def devices_anywhere(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Devices that need not be near the guest's cells."""
    preferred = NumaPolicy.PREFERRED
    request = trial.request
    far = tuple(replace(one, numa_policy=preferred) for one in request.pci_requests)
    if far != request.pci_requests:
        then = with_specs(trial, {_PCI_POLICY: preferred.value})
        then = replace(then, request=replace(then.request, pci_requests=far))
        sentence = Phrase(gettext_noop("prefer PCI devices near the NUMA cells, without insisting"))
        yield ChangeStep(ChangeKind.REQUEST, "pci_devices", sentence, 0.5, then)


def _without(trial: Trial, names: tuple[str, ...], sentence: str) -> Iterator[ChangeStep]:
    """The flavor's extra specs and the image's properties of these names taken away, where there are any."""
    changed = _bare(trial, names)
    if changed.request != trial.request:
        yield ChangeStep(ChangeKind.REQUEST, "extra_spec", sentence, 1.0, changed)


def _bare(trial: Trial, names: tuple[str, ...]) -> Trial:
    """Names that end with a point stand for all that begin so. An image's property has `_` for `:`."""
    specs = _named(trial.request.flavor.extra_specs, names)
    properties = _named(trial.request.image.properties, tuple(name.replace(":", "_") for name in names))
    return without_properties(with_specs(trial, dict.fromkeys(specs)), frozenset(properties))


def _named(keys: Iterable[str], names: tuple[str, ...]) -> list[str]:
    begins = tuple(name for name in names if name.endswith("."))
    return [key for key in keys if key in names or key.startswith(begins)]


def _cells_asked(request: ScheduleRequest) -> int:
    """How many cells the guest has; 1 where it says nothing, or contradicts itself."""
    try:
        guest = guest_topology(request.flavor, request.image)
    except Invalid:
        return 1
    return 1 if guest is None else len(guest)


def _with_devices(trial: Trial, at: int, count: int) -> Trial:
    """One request for devices lowered, also in the flavor's alias that it came from."""
    requests = trial.request.pci_requests
    lowered = () if count == 0 else (replace(requests[at], count=count),)
    left = tuple(chain(requests[:at], lowered, requests[at + 1 :]))
    aliases = [part.strip() for part in trial.request.flavor.extra_specs.get(_ALIAS, "").split(",") if part.strip()]
    own = requests[at].alias
    changed = [f"{own}:{count}" if part.partition(":")[0] == own else part for part in aliases]
    then = with_specs(trial, {_ALIAS: ",".join(part for part in changed if not part.endswith(":0")) or None})
    return replace(then, request=replace(then.request, pci_requests=left))
