"""The guest topology that a flavor and an image ask for. Source: Nova's NUMA constraints."""

from computeagent.protocol.topology import GuestCell, GuestTopology
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import Wishes
from scheduling.topology.domain.numa.cells import Share, node_count, shares
from scheduling.topology.domain.numa.cpu_rules import CpuRules, cpu_rules
from scheduling.topology.domain.numa.memory_rules import locked_memory, page_size

# Every key that can make a topology, or be wrong in making one, begins with one of these.
_FLAVOR_KEYS = ("hw:", "resources", "trait")
_IMAGE_KEYS = ("hw_", "trait")


def guest_topology(flavor: FlavorSnapshot, image: ImageSnapshot) -> GuestTopology | None:
    """The cells a guest asks for; None if it asks for nothing of the kind.

    There is a topology if any of these is given: a number of nodes, a page size, vPMEM, a CPU policy of dedicated or
    mixed. Raises Invalid, with the key in `field` and in the message, for a wish that cannot be or contradicts.
    """
    if not says_anything(flavor, image):
        return None
    wishes = Wishes(flavor, image)
    rules = cpu_rules(wishes)
    nodes, size = node_count(wishes), page_size(wishes)
    locked_memory(wishes)
    if not (nodes or size or pmem_labels(wishes) or rules.is_pinned):
        return None
    cells = (_cell(at, share, rules, size) for at, share in enumerate(shares(wishes, nodes or 1)))
    return GuestTopology(tuple(cells), rules.emulator_threads)


def says_anything(flavor: FlavorSnapshot, image: ImageSnapshot) -> bool:
    """Whether any key of flavor or image can matter to a topology. Most say nothing, and cost nothing."""
    return any(key.startswith(_FLAVOR_KEYS) for key in flavor.extra_specs) or any(
        key.startswith(_IMAGE_KEYS) for key in image.properties
    )


def pmem_labels(wishes: Wishes) -> tuple[str, ...]:
    """The labels of persistent memory the flavor asks for."""
    return tuple(filter(None, (label.strip() for label in wishes.of_flavor("pmem").split(","))))


def _cell(at: int, share: Share, rules: CpuRules, size: int | None) -> GuestCell:
    return GuestCell(
        id=at,
        cpuset=share.vcpus - rules.pinned,
        pcpuset=share.vcpus & rules.pinned,
        memory_mib=share.memory_mib,
        page_size=size,
        cpu_policy=rules.policy,
        thread_policy=rules.threads,
    )
