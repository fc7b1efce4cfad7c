"""Whether a guest's NUMA nodes add up to its flavor, and its pages to its memory. Source: Nova's NUMA constraints.

A flavor is complete by itself here: if it lists CPUs or memory of nodes, it lists both, for every node.
"""

from collections import Counter

from controlplane.kernel.booleans import is_true
from controlplane.kernel.cpu_list import MAX_CPU, format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.numa.memory_rules import parse_page_size
from servers.catalog.domain.extra_specs.facts import Contradiction, Findings, FlavorFacts, indexed
from servers.catalog.domain.extra_specs.hw_cpu import NUMA_NODES_MAX

NODES, CPUS, MEMORY = "hw:numa_nodes", "hw:numa_cpus", "hw:numa_mem"
PAGE_SIZE, LOCKED = "hw:mem_page_size", "hw:locked_memory"


def _even_split(flavor: FlavorFacts) -> Findings:
    """Without lists, vCPUs and memory split evenly over hw:numa_nodes."""
    if indexed(flavor.specs, CPUS) or indexed(flavor.specs, MEMORY):
        return
    nodes = int(flavor.specs.get(NODES, "1"))
    sizes = {"vCPUs": flavor.vcpus, _("MB of memory"): flavor.memory_mib}
    uneven = [f"{size} {words}" for words, size in sizes.items() if size % nodes]
    if uneven:
        lists = _("list them by {cpus}.0 and {memory}.0 and so on", cpus=CPUS, memory=MEMORY)
        yield (
            NODES,
            _(
                "{nodes}: {uneven} cannot be split evenly over {nodes_2} nodes; {lists}.",
                nodes=NODES,
                uneven=" and ".join(uneven),
                nodes_2=nodes,
                lists=lists,
            ),
        )


def _node_lists(flavor: FlavorFacts) -> Findings:
    """CPUs and memory are listed for every node: each vCPU in one of them, the memory adding up to the flavor's."""
    cpus, memory = indexed(flavor.specs, CPUS), indexed(flavor.specs, MEMORY)
    if not cpus and not memory:
        return
    missing = [*_incomplete(flavor, cpus, memory)]
    yield from missing or [*_cpus_of_nodes(flavor, cpus), *_memory_of_nodes(flavor, memory)]


def _incomplete(flavor: FlavorFacts, cpus: dict[int, str], memory: dict[int, str]) -> Findings:
    last = max((*cpus, *memory))
    nodes = int(flavor.specs.get(NODES, str(min(last + 1, NUMA_NODES_MAX))))
    for stem, found in ((CPUS, cpus), (MEMORY, memory)):
        for node in sorted(set(range(nodes)) - set(found)):
            yield (
                f"{stem}.{node}",
                _(
                    "{stem}.{node}: is missing; {cpus} and {memory} must be set for each of {nodes} nodes.",
                    stem=stem,
                    node=node,
                    cpus=CPUS,
                    memory=MEMORY,
                    nodes=nodes,
                ),
            )
        for node in sorted(node for node in found if node >= nodes):
            yield (
                f"{stem}.{node}",
                _("{stem}.{node}: there are {nodes} nodes, counted from 0.", stem=stem, node=node, nodes=nodes),
            )


def _cpus_of_nodes(flavor: FlavorFacts, lists: dict[int, str]) -> Findings:
    if flavor.vcpus > MAX_CPU + 1:
        return
    seen: Counter[int] = Counter()
    for node, text in sorted(lists.items()):
        cpus = parse_cpus(text)
        key, twice = f"{CPUS}.{node}", sorted(cpus & set(seen))
        if cpus and max(cpus) >= flavor.vcpus:
            yield (
                key,
                _(
                    "{key}: names CPU {cpus}; the flavor's {vcpus} vCPUs are 0 to {vcpus_2}.",
                    key=key,
                    cpus=max(cpus),
                    vcpus=flavor.vcpus,
                    vcpus_2=flavor.vcpus - 1,
                ),
            )
        if twice:
            yield key, _("{key}: CPU {twice} is in another node already.", key=key, twice=format_cpus(twice))
        seen.update(cpus)
    left = set(range(flavor.vcpus)) - set(seen)
    if left:
        yield (
            f"{CPUS}.0",
            _(
                "{cpus}.0: CPU {left} of {vcpus} is in none of the {count} nodes.",
                cpus=CPUS,
                left=format_cpus(left),
                vcpus=flavor.vcpus,
                count=len(lists),
            ),
        )


def _memory_of_nodes(flavor: FlavorFacts, sizes: dict[int, str]) -> Findings:
    total = sum(int(size) for size in sizes.values())
    if total != flavor.memory_mib:
        sentence = _(
            "the nodes' memory adds up to {total} MB; the flavor has {memory_mib} MB",
            total=total,
            memory_mib=flavor.memory_mib,
        )
        yield f"{MEMORY}.0", f"{MEMORY}.0: {sentence}."


def _pages(flavor: FlavorFacts) -> Findings:
    """The memory of each node is a whole number of pages of an explicit size."""
    try:
        kib = parse_page_size(flavor.specs.get(PAGE_SIZE, "any"), PAGE_SIZE)
    except Invalid as error:
        yield PAGE_SIZE, f"{error.message}."
        return
    if kib <= 0:  # one of Nova's words
        return
    nodes = int(flavor.specs.get(NODES, "1"))
    of_nodes = [int(size) for size in indexed(flavor.specs, MEMORY).values()]
    for size in dict.fromkeys(of_nodes or [flavor.memory_mib // nodes]):
        if size * 1024 % kib:
            yield (
                PAGE_SIZE,
                _(
                    "{page_size}: {size} MB of memory are not a whole number of pages of {kib} KiB.",
                    page_size=PAGE_SIZE,
                    size=size,
                    kib=kib,
                ),
            )


def _locked_memory(flavor: FlavorFacts) -> Findings:
    """hw:locked_memory needs hw:mem_page_size, for an image may name a size only where the flavor does."""
    if is_true(flavor.specs.get(LOCKED)) and PAGE_SIZE not in flavor.specs:
        yield LOCKED, _("{locked}: needs {page_size}.", locked=LOCKED, page_size=PAGE_SIZE)


NUMA_CONTRADICTIONS: tuple[Contradiction, ...] = (_even_split, _node_lists, _pages, _locked_memory)
