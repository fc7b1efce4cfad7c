"""What the NUMA and PCI rules cost: one fit, and the two filters over fleets; milliseconds, median and best.

Fleets of equal hosts (interned: one fit for all) and of hosts that all differ in what is pinned. The plain request
asks for nothing of the kind and must cost next to nothing.

python -m bench.numa_fit [--hosts 100 1000 10000] [--runs 20]
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from computeagent.protocol.topology import GuestTopology, HostTopology, NUMACell, NUMAPages
from computeagent.protocol.topology_json import host_from_dict, host_to_dict
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.policy import DEFAULT_FILTERS, Policy, PolicyOptions
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import resource_request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import (
    FlavorSnapshot,
    HostRow,
    HostTable,
    InventoryRow,
    ScheduleRequest,
    host_table_from_rows,
    schedule,
)
from scheduling.filters.numa_topology import NUMATopologyFilter
from scheduling.filters.pci_passthrough import PciPassthroughFilter
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.numa.fit import fit
from scheduling.topology.domain.pci.asked import PciRequest

CPUS = 32
GPU = PciRequest(1, ((("product_id", "1eb8"), ("vendor_id", "10de")),), "gpu")
REQUESTS: Mapping[str, tuple[dict[str, str], tuple[PciRequest, ...]]] = {
    "plain": ({}, ()),
    "numa_nodes=2": ({"hw:numa_nodes": "2"}, ()),
    "dedicated": ({"hw:cpu_policy": "dedicated"}, ()),
    "dedicated, 2 MB": ({"hw:cpu_policy": "dedicated", "hw:mem_page_size": "2MB"}, ()),
    "one GPU": ({}, (GPU,)),
    "dedicated, GPU": ({"hw:cpu_policy": "dedicated"}, (GPU,)),
}


def topology(rng: random.Random | None) -> HostTopology:
    """Two cells of 32 threads and 256 GiB; some pinned where `rng` is given."""
    return HostTopology(tuple(_cell(at, rng) for at in range(2)))


def _cell(at: int, rng: random.Random | None) -> NUMACell:
    numbers = range(at * CPUS, (at + 1) * CPUS)
    pinned = frozenset(rng.sample(numbers, rng.randint(0, 8))) if rng else frozenset[int]()
    used = rng.randint(0, 32768) if rng else 0
    return NUMACell(
        id=at,
        cpuset=frozenset(numbers),
        pcpuset=frozenset(numbers),
        memory_mib=262144,
        socket=at,
        pinned_cpus=pinned,
        memory_used_mib=used,
        siblings=tuple(frozenset({one, one + 1}) for one in numbers[::2]),
        mempages=(NUMAPages(4, 58720256, used * 256), NUMAPages(2048, 16384)),
    )


def fleet(count: int, *, differ: bool) -> list[HostRow]:
    """Hosts of 64 threads and 512 GiB; every 20th has two GPUs."""
    rng = random.Random(1) if differ else None
    return [_row(at, rng) for at in range(count)]


def _row(at: int, rng: random.Random | None) -> HostRow:
    gpu = {"vendor_id": "10de", "product_id": "1eb8", "dev_type": "type-PCI", "numa_node": 0, "count": 2}
    return HostRow(
        host=f"host-{at:06}",
        nodename=f"node-{at:06}",
        uuid=f"uuid-{at:06}",
        cell_uuid="cell",
        inventories={
            "VCPU": InventoryRow(64, allocation_ratio=4.0),
            "MEMORY_MB": InventoryRow(524288),
            "DISK_GB": InventoryRow(4096),
        },
        numa_topology=host_to_dict(topology(rng)),
        pci_pools=[] if at % 20 else [gpu],
    )


def request(name: str, count: int = 1) -> ScheduleRequest:
    """`count` instances of 4 vCPUs and 4 GiB."""
    specs, devices = REQUESTS[name]
    return ScheduleRequest(
        request_id="req",
        project_id="project",
        user_id="user",
        instance_uuids=tuple(f"new-{at}" for at in range(count)),
        flavor=FlavorSnapshot("1", "m1", 4, 4096, 10, extra_specs=specs),
        pci_requests=devices,
    )


def measure(work: Callable[[], object], runs: int) -> str:
    """Median and best of `runs`, after one run that warms caches."""
    work()
    spent = []
    for _ in range(runs):
        start = time.process_time()
        work()
        spent.append((time.process_time() - start) * 1000)
    return f"{statistics.median(spent):9.3f} ms CPU median {min(spent):9.3f} best"


def filters(table: HostTable, asked: ScheduleRequest) -> None:
    """Both filters over all hosts."""
    spec = RequestSpecView(asked, resource_request(asked), PolicyOptions(), {})
    hosts = Hosts(table, np.arange(len(table), dtype=np.int64), "stage", {})
    for each in (NUMATopologyFilter(), PciPassthroughFilter()):
        hosts = hosts.without(each.refusals(hosts, spec))


def report_fit(runs: int) -> None:
    """One fit and one decoding."""
    host = topology(random.Random(1))
    data = host_to_dict(host)
    print("decode one topology      ", measure(lambda: host_from_dict(data), runs))
    for name, (specs, _) in REQUESTS.items():
        guest = guest_topology(FlavorSnapshot("1", "m1", 4, 4096, extra_specs=specs), request(name).image)
        if guest is not None:
            print(f"one fit, {name:16}", measure(lambda guest=guest: _fit(host, guest), runs))


def _fit(host: HostTopology, guest: GuestTopology) -> object:
    return fit(host, guest)


def report_fleet(count: int, runs: int, *, differ: bool) -> None:
    """Both filters, and whole runs of the scheduler with them."""
    rows = fleet(count, differ=differ)
    start = time.process_time()
    table = host_table_from_rows(rows)
    kind = "different" if differ else "equal"
    print(f"\n{count} {kind} hosts: table from rows {(time.process_time() - start) * 1000:.1f} ms")
    rules = Policy(filters=(*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter"))
    for name in REQUESTS:
        asked, batch = request(name), request(name, 10)
        print(f"  {name:16} two filters ", measure(lambda asked=asked: filters(table, asked), runs))
        print(
            f"  {name:16} schedule 1  ",
            measure(lambda asked=asked: schedule(ScheduleCall(table, asked, rules, 1)), runs),
        )
        print(
            f"  {name:16} schedule 10 ",
            measure(lambda batch=batch: schedule(ScheduleCall(table, batch, rules, 1)), max(1, runs // 4)),
        )


def main() -> None:
    """Parse arguments, print figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    report_fit(options.runs)
    for count in options.hosts:
        for differ in (False, True):
            report_fleet(count, options.runs, differ=differ)


if __name__ == "__main__":
    main()
