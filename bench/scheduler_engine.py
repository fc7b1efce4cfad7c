"""What one call of schedule() costs on synthetic fleets, trace included; milliseconds, median and best of the runs.

python -m bench.scheduler_engine [--hosts 1000 5000 10000] [--runs 30]
"""

import argparse
import json
import random
import statistics
import time
import zlib
from collections.abc import Callable
from functools import partial
from uuid import UUID

from scheduling.engine import (
    DEFAULT_POLICY,
    AggregateRow,
    FlavorSnapshot,
    HostRow,
    HostTable,
    ImageSnapshot,
    InventoryRow,
    ScheduleRequest,
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


def measure(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median and best, in milliseconds."""
    call()
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        spent.append((time.perf_counter() - start) * 1000)
    return statistics.median(spent), min(spent)


def stored_bytes(snapshot: HostTable, asked: ScheduleRequest) -> int:
    """Size of the trace as decisions keep it."""
    trace = schedule(snapshot, asked, DEFAULT_POLICY, 1)
    return len(zlib.compress(json.dumps(trace_to_dict(trace), separators=(",", ":")).encode(), 6))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1000, 5000, 10000])
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    print(f"{'hosts':>7}  {'case':<32} {'median ms':>9} {'best ms':>9} {'trace bytes':>11}")
    for count in options.hosts:
        rows, aggregates = fleet(count)
        median, best = measure(partial(host_table_from_rows, rows, aggregates), 3)
        print(f"{count:>7}  {'table from rows':<32} {median:>9.2f} {best:>9.2f}")
        snapshot = host_table_from_rows(rows, aggregates)
        for name, asked in CASES.items():
            median, best = measure(partial(schedule, snapshot, asked, DEFAULT_POLICY, 1), options.runs)
            print(f"{count:>7}  {name:<32} {median:>9.2f} {best:>9.2f} {stored_bytes(snapshot, asked):>11}")


if __name__ == "__main__":
    main()
