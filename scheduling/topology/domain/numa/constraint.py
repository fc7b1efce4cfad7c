"""The guest topology that a flavor and an image ask for. Source: Nova's NUMA constraints."""

from computeagent.protocol.topology import GuestTopology, InstanceNUMACell
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.cells import CellShare, node_count, shares
from scheduling.topology.domain.numa.cpu_rules import CpuRules, cpu_rules
from scheduling.topology.domain.numa.memory_rules import locked_memory, page_size

# Every key that can make a topology, or be wrong in making one, begins with one of these.
_FLAVOR_KEYS = ("hw:", "resources", "trait")
_IMAGE_KEYS = ("hw_", "trait")


def guest_topology(flavor: FlavorSnapshot, image: ImageSnapshot) -> GuestTopology | None:
    """The cells a guest asks for; None if it asks for nothing of the kind.

    There is a topology if any of these is given: a number of nodes, a page size, vPMEM, a CPU policy of dedicated or
    mixed. Raises Invalid, with the key in `field` and in the message, for a request that cannot be or contradicts.
    """
    if not says_anything(flavor, image):
        return None
    hw_request = HwRequest(flavor, image)
    rules = cpu_rules(hw_request)
    nodes, size = node_count(hw_request), page_size(hw_request)
    locked_memory(hw_request)
    if not (nodes or size or pmem_labels(hw_request) or rules.is_pinned):
        return None
    cells = (_cell(at, share, rules, size) for at, share in enumerate(shares(hw_request, nodes or 1)))
    return GuestTopology(tuple(cells), rules.emulator_threads)


def says_anything(flavor: FlavorSnapshot, image: ImageSnapshot) -> bool:
    """Whether any key of flavor or image can matter to a topology. Most say nothing, and cost nothing."""
    return any(key.startswith(_FLAVOR_KEYS) for key in flavor.extra_specs) or any(
        key.startswith(_IMAGE_KEYS) for key in image.properties
    )


def pmem_labels(hw_request: HwRequest) -> tuple[str, ...]:
    """The labels of persistent memory the flavor asks for."""
    return tuple(filter(None, (label.strip() for label in hw_request.of_flavor("pmem").split(","))))


def _cell(at: int, share: CellShare, rules: CpuRules, size: int | None) -> InstanceNUMACell:
    return InstanceNUMACell(
        id=at,
        cpuset=share.vcpus - rules.pinned,
        pcpuset=share.vcpus & rules.pinned,
        memory_mib=share.memory_mib,
        page_size=size,
        cpu_policy=rules.policy,
        thread_policy=rules.threads,
    )
