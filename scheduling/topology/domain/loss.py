"""A claim lost on a host's cells, devices, neighbours or zone, in the words in which Placement's shortages are kept."""

from typing import Any
from uuid import UUID

from controlplane.kernel.reasons import Refusal, RefusalReason

TOPOLOGY, NEIGHBOURS, ZONE = "topology", "neighbours", "zone"
"""Stand in `rule` of such a loss, where Placement's have the rule of an inventory."""

_CLASSES = {
    RefusalReason.PINNED_CPU_SHORT: "PCPU",
    RefusalReason.CPU_THREADS_UNSUITED: "PCPU",
    RefusalReason.NUMA_CPU_SHORT: "VCPU",
    RefusalReason.NUMA_MEMORY_SHORT: "MEMORY_MB",
    RefusalReason.PAGES_SHORT: "MEMORY_MB",
    RefusalReason.PAGE_SIZE_UNSUPPORTED: "MEMORY_MB",
    RefusalReason.PCI_SHORT: "PCI_DEVICE",
    RefusalReason.PCI_NUMA_FAR: "PCI_DEVICE",
    RefusalReason.NUM_INSTANCES: "instances",
    RefusalReason.IO_OPS: "io_ops",
    RefusalReason.OTHER_FLAVOR_ON_HOST: "flavor",
    RefusalReason.NOT_DIFFERENT_HOST: "instance",
    RefusalReason.WRONG_ZONE: "zone",
}


def loss_of(node: UUID, refusal: Refusal, *, rule: str = TOPOLOGY) -> dict[str, Any]:
    """What was short on this compute node: `reason` is the code, `wanted` and `free` its numbers, `sentence` all."""
    return {
        "provider_uuid": str(node),
        "compute_node_uuid": str(node),
        "resource_class": _CLASSES.get(refusal.reason, "NUMA_CELL"),
        "rule": rule,
        "wanted": refusal.wanted,
        "free": refusal.available,
        "reason": refusal.reason.value,
        "detail": refusal.detail,
        "sentence": refusal.sentence(),
    }
