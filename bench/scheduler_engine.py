"""What one call of schedule() costs on synthetic fleets, trace included; milliseconds, median and best of the runs.

Once by the host table alone and once with Placement's candidates, whose search is measured too: for a flat fleet, and
for one in which every host has four devices below it, every second of them with none left.

python -m bench.scheduler_engine [--hosts 1000 5000 10000] [--runs 30]
"""

import argparse
import json
import random
import statistics
import time
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from placement.candidates import FleetColumns, ProviderFacts, columns_of
from placement.domain import InventoryUsage, capacity_of
from scheduling.domain.hosts.host_rows import InventoryNumbers
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import (
    DEFAULT_POLICY,
    AggregateRow,
    CandidateSet,
    FlavorSnapshot,
    HostRow,
    HostTable,
    ImageSnapshot,
    InventoryRow,
    ScheduleRequest,
    candidate_set,
    host_table_from_rows,
    schedule,
    trace_to_dict,
)

TRAITS = ("HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F", "COMPUTE_NODE", "STORAGE_DISK_SSD")
HYPERVISOR = {"arch": "x86_64", "model": "EPYC", "features": ["aes", "avx2"]}


def fleet(count: int) -> tuple[list[HostRow], list[AggregateRow]]:
    """64 VCPU, 512 GiB, 4 TB hosts with 0 to 10 instances, ten zones, every second host with SSDs."""
    rng = random.Random(1)
    rows = [_row(at, rng) for at in range(count)]
    names = [row.host for row in rows]
    zones = [
        AggregateRow(f"zone-{z}", f"zone-{z}", frozenset(names[z::10]), {"availability_zone": f"az{z}"})
        for z in range(10)
    ]
    ssd = AggregateRow("ssd", "ssd", frozenset(names[::2]), {"ssd": "true"})
    gpu = AggregateRow("gpu", "gpu", frozenset(names[::20]), {"ram_weight_multiplier": "2.0"})
    return rows, [*zones, ssd, gpu]


def _row(at: int, rng: random.Random) -> HostRow:
    held = rng.randint(0, 10)
    return HostRow(
        host=f"cmp-{at:05d}",
        nodename=f"cmp-{at:05d}.lab",
        uuid=str(UUID(int=at)),
        cell_uuid="cell1",
        inventories={
            "VCPU": InventoryRow(64, used=4 * held, allocation_ratio=4.0),
            "MEMORY_MB": InventoryRow(524288, used=16384 * held, reserved=512),
            "DISK_GB": InventoryRow(4096, used=80 * held),
        },
        hypervisor_type="QEMU",
        hypervisor_version=8002002,
        traits=frozenset(rng.sample(TRAITS, 3)),
        instances=frozenset(str(UUID(int=at << 8 | each)) for each in range(held)),
        supported_instances=(("x86_64", "qemu", "hvm"),),
        cpu_info=HYPERVISOR,
    )


def request(count: int = 1, *, alternates: int = 2, **extra_specs: str) -> ScheduleRequest:
    """A batch of m1.small."""
    specs = {name.replace("__", ":"): value for name, value in extra_specs.items()}
    return ScheduleRequest(
        "req-1",
        "project",
        "user",
        tuple(f"new-{at}" for at in range(count)),
        FlavorSnapshot("1", "m1.small", 4, 16384, 80, extra_specs=specs),
        ImageSnapshot("i", "image", {"hw_architecture": "x86_64"}),
        num_alternates=alternates,
    )


CASES: dict[str, ScheduleRequest] = {
    "one instance": request(),
    "one instance, aggregate ssd": request(aggregate_instance_extra_specs__ssd="true"),
    "one instance, nobody has room": request(resources__VCPU="300"),
    "ten instances": request(10, alternates=0),
    "ten instances and alternates": request(10),
}


NESTED_CASES: dict[str, ScheduleRequest] = {
    "one instance with a device": request(resources1__VGPU="1"),
    "one instance, nobody has devices": request(resources1__VGPU="9"),
    "ten instances with devices": request(10, resources1__VGPU="1"),
}


def providers(rows: list[HostRow], *, has_devices: bool) -> FleetColumns:
    """The hosts as Placement has them; the devices of every second host are taken."""
    roots = [_provider(UUID(row.uuid), None, row.traits, row.inventories) for row in rows]
    devices = [
        _provider(
            UUID(int=root.uuid.int + (at << 64)), root.uuid, frozenset(), {"VGPU": InventoryRow(1, used=number % 2)}
        )
        for number, root in enumerate(roots)
        for at in range(1, 5)
        if has_devices
    ]
    return columns_of([*roots, *devices])


def _provider(
    uuid: UUID, parent: UUID | None, traits: frozenset[str], inventories: Mapping[str, InventoryNumbers]
) -> ProviderFacts:
    return ProviderFacts(
        uuid=uuid,
        root_uuid=parent or uuid,
        inventories={name: _usage(one) for name, one in inventories.items()},
        traits=traits,
        parent_uuid=parent,
    )


def _usage(one: InventoryNumbers) -> InventoryUsage:
    capacity = capacity_of(total=one.total, reserved=one.reserved, allocation_ratio=one.allocation_ratio)
    return InventoryUsage(
        one.total, one.reserved, one.allocation_ratio, one.used, capacity, one.min_unit, one.max_unit, one.step_size
    )


def measure(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median and best, in milliseconds."""
    call()
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        spent.append((time.perf_counter() - start) * 1000)
    return statistics.median(spent), min(spent)


def stored_bytes(snapshot: HostTable, asked: ScheduleRequest, found: CandidateSet | None = None) -> int:
    """Size of the trace as decisions keep it."""
    trace = schedule(ScheduleCall(snapshot, asked, DEFAULT_POLICY, 1, candidates=found))
    return len(zlib.compress(json.dumps(trace_to_dict(trace), separators=(",", ":")).encode(), 6))


def report(count: int, case: str, times: tuple[float, float], stored: int | None = None) -> None:
    """One line."""
    median, best = times
    print(f"{count:>7}  {case:<44} {median:>9.2f} {best:>9.2f} {'' if stored is None else stored:>11}")


def bench_candidates(
    snapshot: HostTable, columns: FleetColumns, cases: Mapping[str, ScheduleRequest], runs: int
) -> None:
    """For each case the search, then the choice with what it found."""
    nodes = {UUID(text): text for text in snapshot.uuids}
    for name, asked in cases.items():
        search = partial(candidate_set, columns, candidate_query(asked, resource_request(asked)), nodes)
        report(len(snapshot), f"candidates: {name}", measure(search, runs))
        found = search()
        run = partial(schedule, ScheduleCall(snapshot, asked, DEFAULT_POLICY, 1, candidates=found))
        report(len(snapshot), f"with candidates: {name}", measure(run, runs), stored_bytes(snapshot, asked, found))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1000, 5000, 10000])
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    print(f"{'hosts':>7}  {'case':<44} {'median ms':>9} {'best ms':>9} {'trace bytes':>11}")
    for count in options.hosts:
        rows, aggregates = fleet(count)
        report(count, "table from rows", measure(partial(host_table_from_rows, rows, aggregates), 3))
        snapshot = host_table_from_rows(rows, aggregates)
        for name, asked in CASES.items():
            times = measure(partial(schedule, ScheduleCall(snapshot, asked, DEFAULT_POLICY, 1)), options.runs)
            report(count, name, times, stored_bytes(snapshot, asked))
        bench_candidates(snapshot, providers(rows, has_devices=False), CASES, options.runs)
        bench_candidates(snapshot, providers(rows, has_devices=True), NESTED_CASES, options.runs)


if __name__ == "__main__":
    main()
