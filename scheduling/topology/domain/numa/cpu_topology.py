"""The sockets, cores and threads a guest sees. Source: Nova's rules of `cpu_sockets` and its like."""

from collections.abc import Iterator

from computeagent.protocol.topology import CpuTopology
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest, parse_whole_number

NO_LIMIT = 65536
_PARTS = ("sockets", "cores", "threads")


def best_cpu_topology(flavor: FlavorSnapshot, image: ImageSnapshot, *, allow_threads: bool = True) -> CpuTopology:
    """The topology with exactly the flavor's vCPUs within all limits that matches most of what is preferred.

    Among equals: fewest threads, then most sockets; so without any constraint every vCPU is a socket. Raises Invalid
    for limits that contradict or cannot be met.
    """
    hw_request = HwRequest(flavor, image)
    maximum = limits(hw_request)
    wanted = preference(hw_request, maximum)
    possible = list(possible_topologies(flavor.vcpus, maximum, allow_threads=allow_threads))
    if not possible:
        raise Invalid(
            _(
                "{vcpus} vCPUs cannot be made of at most {maximum} sockets:cores:threads",
                vcpus=flavor.vcpus,
                maximum=maximum.text,
            ),
            field="hw:cpu_max_sockets",
        )
    return max(possible, key=lambda one: _matches(one, wanted))


def limits(hw_request: HwRequest) -> CpuTopology:
    """The most of each: the image's, which may only tighten the flavor's. Raises Invalid."""
    flavor = _read(hw_request, "cpu_max_", of_image=False)
    image = _read(hw_request, "cpu_max_", of_image=True)
    for part, own, other in zip(_PARTS, image.parts, flavor.parts, strict=True):
        if other and own > other:
            field = f"hw_cpu_max_{part}"
            raise Invalid(
                _(
                    "{field}={own} of the image is above hw:cpu_max_{part}={other}",
                    field=field,
                    own=own,
                    part=part,
                    other=other,
                ),
                field=field,
            )
    return CpuTopology(*(own or other or NO_LIMIT for own, other in zip(image.parts, flavor.parts, strict=True)))


def preference(hw_request: HwRequest, maximum: CpuTopology) -> CpuTopology:
    """All three from the image if it names any, else from the flavor unless one is beyond the limits.

    Raises Invalid for an image's preference beyond the limits.
    """
    image = _read(hw_request, "cpu_", of_image=True)
    for part, own, limit in zip(_PARTS, image.parts, maximum.parts, strict=True):
        if own > limit:
            field = f"hw_cpu_{part}"
            raise Invalid(
                _("{field}={own} of the image is above the limit of {limit}", field=field, own=own, limit=limit),
                field=field,
            )
    if any(image.parts):
        return image
    flavor = _read(hw_request, "cpu_", of_image=False)
    is_within = all(own <= limit for own, limit in zip(flavor.parts, maximum.parts, strict=True))
    return flavor if is_within else CpuTopology(0, 0, 0)


def possible_topologies(vcpus: int, maximum: CpuTopology, *, allow_threads: bool = True) -> Iterator[CpuTopology]:
    """All that make `vcpus` within the limits, fewest threads first, then most sockets first."""
    max_threads = maximum.threads if allow_threads else 1
    for threads in _divisors(vcpus):
        if threads > max_threads:
            return
        cores_in_all = vcpus // threads
        for cores in _divisors(cores_in_all):
            sockets = cores_in_all // cores
            if sockets <= maximum.sockets and cores <= maximum.cores:
                yield CpuTopology(sockets, cores, threads)


def _divisors(number: int) -> Iterator[int]:
    return (each for each in range(1, number + 1) if number % each == 0)


def _matches(one: CpuTopology, wanted: CpuTopology) -> int:
    return sum(
        bool(wanted_value) and have == wanted_value for have, wanted_value in zip(one.parts, wanted.parts, strict=True)
    )


def _read(hw_request: HwRequest, prefix: str, *, of_image: bool) -> CpuTopology:
    read, sign = (hw_request.of_image, "hw_") if of_image else (hw_request.of_flavor, "hw:")
    numbers = []
    for part in _PARTS:
        key = f"{prefix}{part}"
        text = read(key)
        numbers.append(parse_whole_number(text, f"{sign}{key}", minimum=0) if text else 0)
    return CpuTopology(*numbers)
