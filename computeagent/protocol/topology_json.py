"""Host and guest topologies as JSON values, as they are stored in rows. CPU sets are text ('0-3,8').

What is zero, empty or unknown is left out, so that rows stay small.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from computeagent.protocol.topology import (
    CpuPolicy,
    EmulatorThreads,
    GuestTopology,
    HostTopology,
    InstanceNUMACell,
    NUMACell,
    NUMAPages,
    ThreadPolicy,
)
from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid

Json = dict[str, Any]
T = TypeVar("T")
WRONG_FORM = (KeyError, TypeError, ValueError, AttributeError)


def host_to_dict(topology: HostTopology) -> Json:
    """`{"cells": [{"id", "cpuset", "pcpuset", "memory_mib", ...}]}`."""
    return {"cells": [_host_cell(cell) for cell in topology.cells]}


def host_from_dict(data: Mapping[str, Any]) -> HostTopology:
    """The inverse of `host_to_dict`. Raises Invalid for another form."""
    try:
        return HostTopology(tuple(_read_host_cell(cell) for cell in data["cells"]))
    except WRONG_FORM as error:
        raise Invalid(f"numa_topology is not of the expected form: {error!r}.", field="numa_topology") from error


def guest_to_dict(topology: GuestTopology) -> Json:
    """`{"cells": [...], "emulator_threads"}`; a placed cell has `host_cell`, `pinning` (pairs), `reserved`."""
    emulator = topology.emulator_threads
    return {"cells": [_guest_cell(cell) for cell in topology.cells], **_set({"emulator_threads": emulator})}


def guest_from_dict(data: Mapping[str, Any]) -> GuestTopology:
    """The inverse of `guest_to_dict`. Raises Invalid for another form."""
    try:
        emulator = data.get("emulator_threads")
        cells = tuple(_read_guest_cell(cell) for cell in data["cells"])
        return GuestTopology(cells, EmulatorThreads(emulator) if emulator else None)
    except WRONG_FORM as error:
        raise Invalid(f"this is no topology of a guest: {error!r}") from error


def _host_cell(cell: NUMACell) -> Json:
    return {
        "id": cell.id,
        "cpuset": format_cpus(cell.cpuset),
        "pcpuset": format_cpus(cell.pcpuset),
        "memory_mib": cell.memory_mib,
        **_set(
            {
                "socket": cell.socket,
                "cpu_usage": cell.cpu_usage or None,
                "memory_used_mib": cell.memory_used_mib or None,
                "pinned_cpus": format_cpus(cell.pinned_cpus),
                "siblings": [format_cpus(threads) for threads in cell.siblings],
                "mempages": [_pages(pages) for pages in cell.mempages],
                "physnets": sorted(cell.physnets),
                "tunneled": cell.tunneled or None,
            }
        ),
    }


def _pages(pages: NUMAPages) -> list[int]:
    """Size in KiB, total, used, reserved."""
    return [pages.size_kib, pages.total, pages.used, pages.reserved]


def _read_host_cell(data: Mapping[str, Any]) -> NUMACell:
    return NUMACell(
        id=data["id"],
        cpuset=parse_cpus(data["cpuset"]),
        pcpuset=parse_cpus(data["pcpuset"]),
        memory_mib=data["memory_mib"],
        socket=data.get("socket"),
        cpu_usage=data.get("cpu_usage", 0),
        memory_used_mib=data.get("memory_used_mib", 0),
        pinned_cpus=parse_cpus(data.get("pinned_cpus", "")),
        siblings=tuple(map(parse_cpus, data.get("siblings", ()))),
        mempages=tuple(NUMAPages(*numbers) for numbers in data.get("mempages", ())),
        physnets=frozenset(data.get("physnets", ())),
        tunneled=data.get("tunneled", False),
    )


def _guest_cell(cell: InstanceNUMACell) -> Json:
    return {
        "id": cell.id,
        "cpuset": format_cpus(cell.cpuset),
        "pcpuset": format_cpus(cell.pcpuset),
        "memory_mib": cell.memory_mib,
        **_set(
            {
                "page_size": cell.page_size,
                "cpu_policy": cell.cpu_policy,
                "thread_policy": cell.thread_policy,
                "host_cell": cell.host_cell,
                "pinning": [list(pair) for pair in cell.pinning],
                "reserved": format_cpus(cell.reserved),
            }
        ),
    }


def _read_guest_cell(data: Mapping[str, Any]) -> InstanceNUMACell:
    policy, threads = data.get("cpu_policy"), data.get("thread_policy")
    return InstanceNUMACell(
        id=int(data["id"]),
        cpuset=parse_cpus(data["cpuset"]),
        pcpuset=parse_cpus(data["pcpuset"]),
        memory_mib=int(data["memory_mib"]),
        page_size=_whole(data.get("page_size")),
        cpu_policy=CpuPolicy(policy) if policy else None,
        thread_policy=ThreadPolicy(threads) if threads else None,
        host_cell=_whole(data.get("host_cell")),
        pinning=_pairs(data.get("pinning", ())),
        reserved=parse_cpus(data.get("reserved", "")),
    )


def _pairs(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(vcpu), int(cpu)) for vcpu, cpu in pairs)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _set(values: Mapping[str, T | None]) -> dict[str, T]:
    """Without what is None, '' or an empty list; 0 stays."""
    return {key: value for key, value in values.items() if value is not None and value not in ("", [])}
