"""How vCPUs and memory are split into guest cells. Source: Nova's rules of `numa_nodes`, `numa_cpus`, `numa_mem`."""

from dataclasses import dataclass

from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.flavor_keys import Wishes, whole

NODES, CPUS, MEMORY = "hw:numa_nodes", "hw:numa_cpus", "hw:numa_mem"
MOST_NODES = 128


@dataclass(frozen=True, slots=True)
class Share:
    """The vCPUs and the memory of one guest cell."""

    vcpus: frozenset[int]
    memory_mib: int


def node_count(wishes: Wishes) -> int | None:
    """How many cells flavor or image ask for; None for no wish. Raises Invalid if both do."""
    flavor, image = wishes.of_flavor("numa_nodes"), wishes.of_image("numa_nodes")
    _one_side_only(flavor, image, "numa_nodes")
    if not flavor and not image:
        return None
    field = NODES if flavor else "hw_numa_nodes"
    count = whole(flavor or image, field)
    if count > MOST_NODES:
        raise Invalid(f"{field}: {count} is more than {MOST_NODES}", field=field)
    return count


def shares(wishes: Wishes, count: int) -> tuple[Share, ...]:
    """The cells, from 0: by the lists of flavor or image, or in equal contiguous blocks. Raises Invalid."""
    cpus, memory = _lists(wishes, "numa_cpus"), _lists(wishes, "numa_mem")
    if not cpus and not memory:
        return _equal_shares(wishes, count)
    for field, given in ((CPUS, cpus), (MEMORY, memory)):
        if len(given) != count:
            raise Invalid(f"{field}.N is given for {len(given)} of {count} cells; all or none expected", field=field)
    found = tuple(
        Share(parse_cpus(one, f"{CPUS}.{at}"), whole(memory[at], f"{MEMORY}.{at}")) for at, one in enumerate(cpus)
    )
    _check_cpus(wishes, found)
    _check_memory(wishes, found)
    return found


def _equal_shares(wishes: Wishes, count: int) -> tuple[Share, ...]:
    vcpus, memory = wishes.flavor.vcpus, wishes.flavor.memory_mib
    if vcpus % count or memory % count:
        what = f"{vcpus} vCPUs" if vcpus % count else f"{memory} MB"
        raise Invalid(f"{NODES}: asymmetric, {what} cannot be split over {count} cells", field=NODES)
    width = vcpus // count
    return tuple(Share(frozenset(range(at * width, (at + 1) * width)), memory // count) for at in range(count))


def _lists(wishes: Wishes, key: str) -> tuple[str, ...]:
    flavor, image = wishes.numbered(key)
    _one_side_only(flavor, image, key)
    return flavor or image


def _one_side_only(flavor: object, image: object, key: str) -> None:
    if flavor and image:
        raise Invalid(f"hw_{key} of the image: the flavor gives hw:{key} already", field=f"hw_{key}")


def _check_cpus(wishes: Wishes, found: tuple[Share, ...]) -> None:
    left = wishes.vcpus
    for at, share in enumerate(found):
        beyond, twice = share.vcpus - wishes.vcpus, (share.vcpus & wishes.vcpus) - left
        for wrong, why in ((beyond, "out of range"), (twice, "in two cells")):
            if wrong:
                raise Invalid(f"{CPUS}.{at}: vCPU {format_cpus(wrong)} is {why}", field=f"{CPUS}.{at}")
        left -= share.vcpus
    if left:
        raise Invalid(f"{CPUS}: vCPU {format_cpus(left)} is in no cell", field=CPUS)


def _check_memory(wishes: Wishes, found: tuple[Share, ...]) -> None:
    total = sum(share.memory_mib for share in found)
    if total != wishes.flavor.memory_mib:
        raise Invalid(f"{MEMORY}: cells have {total} MB, the flavor {wishes.flavor.memory_mib}", field=MEMORY)
