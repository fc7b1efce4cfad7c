"""`hw:` keys for processors, memory and their place on the host."""

from servers.catalog.domain.allowed import boolean, cpu_list, number, one_of, page_size
from servers.catalog.domain.extra_specs.rules import KeyRule

NUMA_NODES_MAX = 128
"""How many NUMA nodes Nova lets a guest have."""

_PARTS = {"sockets": "sockets", "cores": "cores of a socket", "threads": "threads of a core"}

HW_CPU_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "hw:cpu_policy",
        one_of("dedicated", "shared", "mixed"),
        "Whether guest CPUs have host CPUs to themselves; mixed: those of a mask only.",
    ),
    KeyRule(
        "hw:cpu_thread_policy",
        one_of("prefer", "isolate", "require"),
        "How dedicated CPUs lie on hardware threads: siblings liked, left empty, or demanded.",
    ),
    KeyRule(
        "hw:emulator_threads_policy",
        one_of("isolate", "share"),
        "Where the hypervisor's own threads run: on one more dedicated CPU, or on a pool of the host.",
    ),
    KeyRule("hw:cpu_dedicated_mask", cpu_list(), "The guest CPUs that are dedicated with the policy mixed."),
    KeyRule("hw:cpu_realtime", boolean(), "Whether guest CPUs run with realtime priority."),
    KeyRule("hw:cpu_realtime_mask", cpu_list(), "The guest CPUs with realtime priority; beginning with ^: all but."),
    KeyRule("hw:mem_page_size", page_size(), "Pages that back the guest's memory. A bare number is KiB."),
    KeyRule("hw:locked_memory", boolean(), "Whether the guest's memory is never swapped. Needs hw:mem_page_size."),
    KeyRule("hw:numa_nodes", number(1, NUMA_NODES_MAX), "How many NUMA nodes the guest has."),
    KeyRule("hw:numa_cpus.{node}", cpu_list(), "The guest CPUs of one of its NUMA nodes, counted from 0."),
    KeyRule("hw:numa_mem.{node}", number(1), "MB of memory of one of the guest's NUMA nodes."),
    KeyRule(
        "hw:pci_numa_affinity_policy",
        one_of("required", "preferred", "legacy", "socket"),
        "How near PCI devices must be to the guest's NUMA nodes.",
    ),
    *(
        KeyRule(f"hw:cpu_{part}", number(1), f"How many {words} the guest should see.")
        for part, words in _PARTS.items()
    ),
    *(
        KeyRule(f"hw:cpu_max_{part}", number(1), f"The most {words} that an image may ask for.")
        for part, words in _PARTS.items()
    ),
    KeyRule("hw:mem_encryption", boolean(), "Whether the guest's memory is encrypted."),
    KeyRule(
        "hw:mem_encryption_model",
        one_of("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"),
        "By which feature of the CPU memory is encrypted.",
    ),
    KeyRule("hw:maxphysaddr_mode", one_of("passthrough", "emulate"), "Where the width of physical addresses is from."),
    KeyRule("hw:maxphysaddr_bits", number(1, 64), "The width of physical addresses, with the mode emulate."),
)
