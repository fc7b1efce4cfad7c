"""Claims per second by parallel processes, on the database of DATABASE_URL (an empty or throw-away one).

    DATABASE_URL=postgres://... python bench/placement_claims.py --processes 1 4 8 --seconds 5

Measures, one after the other: every process claiming on hosts of its own choice (spread) or all on one host (hot), by
`allocations_claim` and by `allocations_replace` (what PUT /allocations/{consumer} calls: a new consumer, or one whose
allocations are replaced), and batches of ten on ten hosts. All is freed again after the measured time. Prints one line
per load: claims per second, median and 95th percentile of one call in milliseconds, CPU of Python per call in
milliseconds, and the refusals, which should be none.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from placement.domain import Claim, ConsumerState, InventorySpec  # noqa: E402
from placement.selectors import ProviderSnapshot, consumer_list  # noqa: E402
from placement.services import (  # noqa: E402
    allocations_claim,
    allocations_free,
    allocations_replace,
    audit_inventory_usage,
    inventory_set,
    provider_delete,
    provider_ensure,
)

FLAVOR = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
STOCK = {name: InventorySpec(total=2**30) for name in FLAVOR}
OWNER = str(UUID(int=1))


@dataclass(frozen=True)
class Load:
    """What one call does: `by` on a host of its own choice or on the one hot host, so many consumers at once."""

    by: str
    is_hot: bool = False
    batch: int = 1


LOADS = {
    "claim, spread": Load("claim"),
    "claim, hot": Load("claim", is_hot=True),
    "put new, spread": Load("new"),
    "put new, hot": Load("new", is_hot=True),
    "put again, spread": Load("again"),
    "put again, hot": Load("again", is_hot=True),
    "claim 10 on 10": Load("claim", batch=10),
}


def calls_of(rng: random.Random, hosts: list[UUID], load: Load) -> Callable[[], None]:
    """Makes one call each time it is called."""
    held: list[tuple[UUID, int]] = [(uuid4(), 0)]

    def hosts_of_call() -> list[UUID]:
        return [hosts[0]] * load.batch if load.is_hot else rng.sample(hosts, load.batch)

    def claim() -> None:
        allocations_claim([Claim(uuid4(), OWNER, OWNER, {host: FLAVOR}) for host in hosts_of_call()])

    def replace() -> None:
        consumer, generation = held[0] if load.by == "again" else (uuid4(), 0)
        state = ConsumerState(consumer, OWNER, OWNER, None, {hosts_of_call()[0]: FLAVOR}, generation or None)
        allocations_replace([state])
        held[0] = (consumer, generation + 1)

    return claim if load.by == "claim" else replace


def work(seed: int, hosts: list[UUID], load: Load, seconds: float, start: Barrier) -> tuple[list[float], int, float]:
    """Call until the time is over; the seconds of each call, how many were refused, and the seconds of CPU."""
    call = calls_of(random.Random(seed), hosts, load)
    allocations_free([uuid4()])
    start.wait()
    took, refused, end, cpu = [], 0, time.perf_counter() + seconds, time.process_time()
    while (begin := time.perf_counter()) < end:
        try:
            call()
        except KilonovaError:
            refused += 1
        took.append(time.perf_counter() - begin)
    return took, refused, time.process_time() - cpu


def measure(hosts: list[UUID], name: str, processes: int, seconds: float) -> None:
    """One load; prints its line and gives everything back."""
    load = LOADS[name]
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
    took = sorted(second for calls, _, _ in results for second in calls)
    rate = len(took) * load.batch / seconds
    middle, slow = statistics.median(took) * 1000, took[int(len(took) * 0.95)] * 1000
    refused, cpu = sum(count for _, count, _ in results), sum(one for _, _, one in results) * 1000 / len(took)
    print(
        f"{name:>18} by {processes}: {rate:7.0f} claims/s   median {middle:6.2f} ms   95 % {slow:6.2f} ms"
        f"   Python {cpu:5.2f} ms   refused {refused}"
    )
    assert audit_inventory_usage() == []
    for part in chunks([consumer.uuid for consumer in consumer_list()], 500):
        allocations_free(part)


def chunks(uuids: list[UUID], size: int) -> Iterator[list[UUID]]:
    """Parts of a list."""
    for begin in range(0, len(uuids), size):
        yield uuids[begin : begin + size]


def snapshot_reads(hosts: list[UUID]) -> None:
    """What it costs to see that nothing changed, and to take in one changed provider."""
    snapshot = ProviderSnapshot()
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
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hosts", type=int, default=100)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    hosts = [uuid4() for _ in range(options.hosts)]
    for host in hosts:
        provider_ensure(host, f"bench-{host}")
        inventory_set(host, STOCK)
    print(f"{connection.vendor}, {options.hosts} hosts, {options.seconds:g} s each")
    for name in LOADS:
        for processes in options.processes:
            measure(hosts, name, processes, options.seconds)
    snapshot_reads(hosts)
    for host in hosts:
        provider_delete(host)


if __name__ == "__main__":
    main()
