"""Claims per second by parallel processes, on the database of DATABASE_URL (an empty or throw-away one).

    DATABASE_URL=postgres://... python bench/placement_claims.py --processes 8 --seconds 5

Measures, one after the other: every process claiming on hosts of its own choice (spread), all on one host (hot), and
batches of ten on ten hosts. Each claim is freed again after the measured time. Prints one line per load: claims per
second, median and 95th percentile of one call in milliseconds, and the refusals, which should be none.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from uuid import UUID, uuid4

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402

from controlplane.kernel.errors import KilonovaError  # noqa: E402
from placement.domain import Claim, InventorySpec  # noqa: E402
from placement.selectors import FleetSnapshot, consumer_list  # noqa: E402
from placement.services import (  # noqa: E402
    allocations_claim,
    allocations_free,
    audit_inventory_usage,
    inventory_set,
    provider_delete,
    provider_ensure,
)

FLAVOR = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
STOCK = {name: InventorySpec(total=2**30) for name in FLAVOR}
LOADS = {"spread": (1, False), "hot": (1, True), "batches of 10": (10, False)}


def claims_of(rng: random.Random, hosts: list[UUID], batch: int, is_hot: bool) -> list[Claim]:
    """One call's claims."""
    chosen = [hosts[0]] * batch if is_hot else rng.sample(hosts, batch)
    return [Claim(uuid4(), UUID(int=1), UUID(int=2), {host: FLAVOR}) for host in chosen]


def work(seed: int, hosts: list[UUID], load: str, seconds: float, start: Barrier) -> tuple[list[float], int]:
    """Claim until the time is over; the seconds of each call, and how many were refused."""
    rng, (batch, is_hot) = random.Random(seed), LOADS[load]
    allocations_free([uuid4()])
    start.wait()
    took, refused, end = [], 0, time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        try:
            allocations_claim(claims_of(rng, hosts, batch, is_hot))
        except KilonovaError:
            refused += 1
        took.append(time.perf_counter() - begin)
    return took, refused


def measure(hosts: list[UUID], load: str, processes: int, seconds: float) -> None:
    """One load; prints its line and gives everything back."""
    connections.close_all()
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(processes), context.SimpleQueue()
    children = [
        context.Process(target=lambda seed=seed: answers.put(work(seed, hosts, load, seconds, start)))
        for seed in range(processes)
    ]
    for child in children:
        child.start()
    results = [answers.get() for _ in children]
    for child in children:
        child.join()
    took = sorted(second for calls, _ in results for second in calls)
    rate = len(took) * LOADS[load][0] / seconds
    middle, slow = statistics.median(took) * 1000, took[int(len(took) * 0.95)] * 1000
    refused = sum(count for _, count in results)
    print(f"{load:>14}: {rate:8.0f} claims/s   median {middle:6.1f} ms   95 % {slow:6.1f} ms   refused {refused}")
    assert audit_inventory_usage() == []
    for part in chunks([consumer.uuid for consumer in consumer_list()], 500):
        allocations_free(part)


def chunks(uuids: list[UUID], size: int) -> Iterator[list[UUID]]:
    """Parts of a list."""
    for begin in range(0, len(uuids), size):
        yield uuids[begin : begin + size]


def snapshot_looks(hosts: list[UUID]) -> None:
    """What it costs to see that nothing changed, and to take in one changed provider."""
    snapshot = FleetSnapshot()
    snapshot.read(len)
    begin = time.perf_counter()
    for _ in range(100):
        snapshot.read(len)
    unchanged = (time.perf_counter() - begin) * 10
    inventory_set(hosts[0], {**STOCK, "VCPU": InventorySpec(total=2**20)})
    begin = time.perf_counter()
    snapshot.read(len)
    changed = (time.perf_counter() - begin) * 1000
    print(f"      snapshot: unchanged fleet {unchanged:.2f} ms, one changed provider {changed:.2f} ms")


def main() -> None:
    """Make hosts, measure, remove them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hosts", type=int, default=100)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    hosts = [uuid4() for _ in range(options.hosts)]
    for host in hosts:
        provider_ensure(host, f"bench-{host}")
        inventory_set(host, STOCK)
    print(f"{connection.vendor}, {options.processes} processes, {options.hosts} hosts, {options.seconds:g} s each")
    for load in LOADS:
        measure(hosts, load, options.processes, options.seconds)
    snapshot_looks(hosts)
    for host in hosts:
        provider_delete(host)


if __name__ == "__main__":
    main()
