"""Topologies as JSON values."""

import json

from computeagent.protocol.topology import EmulatorThreads, GuestTopology
from computeagent.protocol.topology_json import guest_from_dict, guest_to_dict, host_from_dict, host_to_dict
from scheduling.topology.domain.numa.fit import fit
from tests.units.scheduling.topology.numa.topologies import cell, guest, host, pages, part

BUSY = cell(
    1,
    threads=2,
    socket=0,
    cpu_usage=2,
    memory_used_mib=5,
    pinned_cpus=frozenset({4}),
    mempages=(pages(4, 9, 8, 1),),
    physnets=frozenset({"fast"}),
    tunneled=True,
)


def test_host_topology_survives_json() -> None:
    where = host(cell(0), BUSY)
    assert host_from_dict(json.loads(json.dumps(host_to_dict(where)))) == where


def test_host_topology_is_written_small() -> None:
    assert host_to_dict(host(cell(0, siblings=())))["cells"] == [
        {"id": 0, "cpuset": "0-3", "pcpuset": "0-3", "memory_mib": 4096}
    ]


def test_placed_guest_survives_json() -> None:
    found = fit(host(cell(0)), guest(part(shared=1, pinned=2), emulator_threads=EmulatorThreads.ISOLATE))
    assert isinstance(found, GuestTopology) and found.is_placed
    assert guest_from_dict(json.loads(json.dumps(guest_to_dict(found)))) == found
