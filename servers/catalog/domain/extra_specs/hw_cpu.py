"""`hw:` keys for processors, memory and their place on the host."""

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import boolean, cpu_list, number, one_of, page_size
from servers.catalog.domain.extra_specs.rules import KeyRule

NUMA_NODES_MAX = 128
"""How many NUMA nodes Nova lets a guest have."""

_WISHED = {
    "sockets": gettext_noop("How many sockets the guest should see."),
    "cores": gettext_noop("How many cores of a socket the guest should see."),
    "threads": gettext_noop("How many threads of a core the guest should see."),
}
_LIMITS = {
    "sockets": gettext_noop("The most sockets that an image may ask for."),
    "cores": gettext_noop("The most cores of a socket that an image may ask for."),
    "threads": gettext_noop("The most threads of a core that an image may ask for."),
}

HW_CPU_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "hw:cpu_policy",
        one_of("dedicated", "shared", "mixed"),
        gettext_noop("Whether guest CPUs have host CPUs to themselves; mixed: those of a mask only."),
    ),
    KeyRule(
        "hw:cpu_thread_policy",
        one_of("prefer", "isolate", "require"),
        gettext_noop("How dedicated CPUs lie on hardware threads: siblings liked, left empty, or demanded."),
    ),
    KeyRule(
        "hw:emulator_threads_policy",
        one_of("isolate", "share"),
        gettext_noop("Where the hypervisor's own threads run: on one more dedicated CPU, or on a pool of the host."),
    ),
    KeyRule(
        "hw:cpu_dedicated_mask", cpu_list(), gettext_noop("The guest CPUs that are dedicated with the policy mixed.")
    ),
    KeyRule("hw:cpu_realtime", boolean(), gettext_noop("Whether guest CPUs run with realtime priority.")),
    KeyRule(
        "hw:cpu_realtime_mask",
        cpu_list(),
        gettext_noop("The guest CPUs with realtime priority; beginning with ^: all but."),
    ),
    KeyRule("hw:mem_page_size", page_size(), gettext_noop("Pages that back the guest's memory. A bare number is KiB.")),
    KeyRule(
        "hw:locked_memory",
        boolean(),
        gettext_noop("Whether the guest's memory is never swapped. Needs hw:mem_page_size."),
    ),
    KeyRule("hw:numa_nodes", number(1, NUMA_NODES_MAX), gettext_noop("How many NUMA nodes the guest has.")),
    KeyRule(
        "hw:numa_cpus.{node}", cpu_list(), gettext_noop("The guest CPUs of one of its NUMA nodes, counted from 0.")
    ),
    KeyRule("hw:numa_mem.{node}", number(1), gettext_noop("MB of memory of one of the guest's NUMA nodes.")),
    KeyRule(
        "hw:pci_numa_affinity_policy",
        one_of("required", "preferred", "legacy", "socket"),
        gettext_noop("How near PCI devices must be to the guest's NUMA nodes."),
    ),
    *(KeyRule(f"hw:cpu_{part}", number(1), meaning) for part, meaning in _WISHED.items()),
    *(KeyRule(f"hw:cpu_max_{part}", number(1), meaning) for part, meaning in _LIMITS.items()),
    KeyRule("hw:mem_encryption", boolean(), gettext_noop("Whether the guest's memory is encrypted.")),
    KeyRule(
        "hw:mem_encryption_model",
        one_of("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"),
        gettext_noop("By which feature of the CPU memory is encrypted."),
    ),
    KeyRule(
        "hw:maxphysaddr_mode",
        one_of("passthrough", "emulate"),
        gettext_noop("Where the width of physical addresses is from."),
    ),
    KeyRule(
        "hw:maxphysaddr_bits", number(1, 64), gettext_noop("The width of physical addresses, with the mode emulate.")
    ),
)
