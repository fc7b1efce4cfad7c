"""Small hosts and guests for tests of NUMA rules."""

from typing import Any

from computeagent.protocol.topology import (
    CpuPolicy,
    GuestTopology,
    HostTopology,
    InstanceNUMACell,
    NUMACell,
    NUMAPages,
    ThreadPolicy,
)
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.constraint import guest_topology


def hw_request(
    *, vcpus: int = 4, memory: int = 2048, properties: dict[str, Any] | None = None, **specs: str
) -> HwRequest:
    """A flavor with `hw:` extra specs by keyword, dots as double underscores, and an image with `properties`."""
    return HwRequest(flavor(vcpus=vcpus, memory=memory, **specs), ImageSnapshot(properties=properties or {}))


def flavor(*, vcpus: int = 4, memory: int = 2048, others: dict[str, str] | None = None, **specs: str) -> FlavorSnapshot:
    """`others` are extra specs under their whole names."""
    named = {f"hw:{key.replace('__', '.')}": value for key, value in specs.items()}
    return FlavorSnapshot("1", "m1", vcpus, memory, extra_specs={**named, **(others or {})})


def wanted(**changes: Any) -> GuestTopology | None:
    """The topology that such requests make."""
    asked = hw_request(**changes)
    return guest_topology(asked.flavor, asked.image)


def cell(at: int = 0, cpus: int = 4, *, threads: int = 1, **changes: Any) -> NUMACell:
    """A cell of `cpus` CPUs, all offered both ways, 4 GiB, no page information; cores of `threads` in a row."""
    first = at * cpus
    numbers = frozenset(range(first, first + cpus))
    cores = tuple(frozenset(range(one, one + threads)) for one in range(first, first + cpus, threads))
    defaults: dict[str, Any] = {"cpuset": numbers, "pcpuset": numbers, "memory_mib": 4096, "siblings": cores}
    return NUMACell(id=at, **{**defaults, **changes})


def host(*cells: NUMACell) -> HostTopology:
    """A host of these cells."""
    return HostTopology(cells)


def part(at: int = 0, *, shared: int = 0, pinned: int = 0, memory: int = 1024, **changes: Any) -> InstanceNUMACell:
    """A guest cell; its policy follows from what it has. vCPUs are numbered from 0, the pinned ones first."""
    policy = {(True, False): CpuPolicy.DEDICATED, (True, True): CpuPolicy.MIXED}.get((bool(pinned), bool(shared)))
    defaults: dict[str, Any] = {"cpu_policy": policy, "memory_mib": memory}
    pins, floats = frozenset(range(pinned)), frozenset(range(pinned, pinned + shared))
    return InstanceNUMACell(id=at, cpuset=floats, pcpuset=pins, **{**defaults, **changes})


def guest(*cells: InstanceNUMACell, **changes: Any) -> GuestTopology:
    """A guest of these cells."""
    return GuestTopology(cells, **changes)


def pages(size_kib: int, total: int, used: int = 0, reserved: int = 0) -> NUMAPages:
    """Pages of one size."""
    return NUMAPages(size_kib, total, used, reserved)


ISOLATE, REQUIRE, PREFER = ThreadPolicy.ISOLATE, ThreadPolicy.REQUIRE, ThreadPolicy.PREFER
