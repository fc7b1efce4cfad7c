"""How vCPUs and memory are split into guest cells. Source: Nova's rules of `numa_nodes`, `numa_cpus`, `numa_mem`."""

from dataclasses import dataclass

from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.flavor_keys import HwRequest, parse_whole_number

NODES, CPUS, MEMORY = "hw:numa_nodes", "hw:numa_cpus", "hw:numa_mem"
MAX_NODES = 128


@dataclass(frozen=True, slots=True)
class CellShare:
    """The vCPUs and the memory of one guest cell."""

    vcpus: frozenset[int]
    memory_mib: int


def node_count(hw_request: HwRequest) -> int | None:
    """How many cells flavor or image ask for; None for no constraint. Raises Invalid if both do."""
    flavor, image = hw_request.of_flavor("numa_nodes"), hw_request.of_image("numa_nodes")
    _one_side_only(flavor, image, "numa_nodes")
    if not flavor and not image:
        return None
    field = NODES if flavor else "hw_numa_nodes"
    count = parse_whole_number(flavor or image, field)
    if count > MAX_NODES:
        raise Invalid(
            _("{field}: {count} is more than {max_nodes}", field=field, count=count, max_nodes=MAX_NODES), field=field
        )
    return count


def shares(hw_request: HwRequest, count: int) -> tuple[CellShare, ...]:
    """The cells, from 0: by the lists of flavor or image, or in equal contiguous blocks. Raises Invalid."""
    cpus, memory = _lists(hw_request, "numa_cpus"), _lists(hw_request, "numa_mem")
    if not cpus and not memory:
        return _equal_shares(hw_request, count)
    for field, given in ((CPUS, cpus), (MEMORY, memory)):
        if len(given) != count:
            raise Invalid(
                _(
                    "{field}.N is given for {count} of {count_2} cells; all or none expected",
                    field=field,
                    count=len(given),
                    count_2=count,
                ),
                field=field,
            )
    found = tuple(
        CellShare(parse_cpus(one, f"{CPUS}.{at}"), parse_whole_number(memory[at], f"{MEMORY}.{at}"))
        for at, one in enumerate(cpus)
    )
    _check_cpus(hw_request, found)
    _check_memory(hw_request, found)
    return found


def _equal_shares(hw_request: HwRequest, count: int) -> tuple[CellShare, ...]:
    vcpus, memory = hw_request.flavor.vcpus, hw_request.flavor.memory_mib
    if vcpus % count or memory % count:
        what = f"{vcpus} vCPUs" if vcpus % count else f"{memory} MB"
        raise Invalid(
            _("{nodes}: asymmetric, {what} cannot be split over {count} cells", nodes=NODES, what=what, count=count),
            field=NODES,
        )
    width = vcpus // count
    return tuple(CellShare(frozenset(range(at * width, (at + 1) * width)), memory // count) for at in range(count))


def _lists(hw_request: HwRequest, key: str) -> tuple[str, ...]:
    flavor, image = hw_request.numbered(key)
    _one_side_only(flavor, image, key)
    return flavor or image


def _one_side_only(flavor: object, image: object, key: str) -> None:
    if flavor and image:
        raise Invalid(_("hw_{key} of the image: the flavor gives hw:{key} already", key=key), field=f"hw_{key}")


def _check_cpus(hw_request: HwRequest, found: tuple[CellShare, ...]) -> None:
    left = hw_request.vcpus
    for at, share in enumerate(found):
        beyond, twice = share.vcpus - hw_request.vcpus, (share.vcpus & hw_request.vcpus) - left
        for wrong, why in ((beyond, _("out of range")), (twice, _("in two cells"))):
            if wrong:
                raise Invalid(
                    _("{cpus}.{at}: vCPU {wrong} is {why}", cpus=CPUS, at=at, wrong=format_cpus(wrong), why=why),
                    field=f"{CPUS}.{at}",
                )
        left -= share.vcpus
    if left:
        raise Invalid(_("{cpus}: vCPU {left} is in no cell", cpus=CPUS, left=format_cpus(left)), field=CPUS)


def _check_memory(hw_request: HwRequest, found: tuple[CellShare, ...]) -> None:
    total = sum(share.memory_mib for share in found)
    if total != hw_request.flavor.memory_mib:
        raise Invalid(
            _(
                "{memory}: cells have {total} MB, the flavor {memory_mib}",
                memory=MEMORY,
                total=total,
                memory_mib=hw_request.flavor.memory_mib,
            ),
            field=MEMORY,
        )
