"""In-process candidate search on the database of DATABASE_URL (an empty or throw-away one).

    DATABASE_URL=postgres://... python bench/placement_candidates.py [--sizes 1000 5000 10000] [--rounds 50]

For each size of the fleet: the full load of the snapshot, a look that finds nothing changed, a look after one claim,
and searches for VCPU, MEMORY_MB and DISK_GB on the unchanged snapshot with and without limit, required trait and
aggregate. Then trees of a host and eight equal devices. Prints medians in milliseconds, of the clock and of this
process's own CPU (the latter also as a multiple of the smallest fleet's), and the memory of a process that searches.
Rows are made in bulk, so the fleet is there in seconds.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import F  # noqa: E402

from placement.candidates import CandidateQuery, RequestGroup, SearchOptions  # noqa: E402
from placement.domain import Claim  # noqa: E402
from placement.models import (  # noqa: E402
    Allocation,
    ChangeStamp,
    Consumer,
    Inventory,
    PlacementAggregate,
    ProviderAggregate,
    ProviderRemoval,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from placement.selectors import ProviderSnapshot, candidate_refusals, candidate_search  # noqa: E402
from placement.services import allocations_claim  # noqa: E402

FLAVOR = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
STOCK = {"VCPU": (64, 4.0), "MEMORY_MB": (512 * 1024, 1.0), "DISK_GB": (4096, 1.0)}
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_VMX", "HW_CPU_X86_SSE42", "COMPUTE_NODE"]
DEVICES, AGGREGATES, BATCH = 8, 10, 5000
EVERY_TRAIT = {"HW_CPU_X86_SSE42", "COMPUTE_NODE"}


class Bench:
    """Measures and prints; remembers the first size, to show growth."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._first: dict[str, float] = {}

    def line(self, name: str, work: Callable[[], object], before: Callable[[], object] | None = None) -> None:
        """The median of some rounds; `before` is not counted."""
        took, worked = [], []
        for _ in range(self._rounds):
            if before is not None:
                before()
            begin, begin_cpu = time.perf_counter(), time.thread_time()
            work()
            took.append((time.perf_counter() - begin) * 1000)
            worked.append((time.thread_time() - begin_cpu) * 1000)
        middle = statistics.median(worked)
        ratio = middle / self._first.setdefault(name, middle)
        print(f"  {name:<56} {statistics.median(took):9.3f} ms   {middle:9.3f} ms of CPU   x {ratio:5.2f}")


def empty() -> None:
    """No fleet. As nobody says so to readers, they must notice by themselves."""
    for model in (Allocation, Consumer, Inventory, ProviderTrait, ProviderAggregate, ProviderRemoval):
        model.objects.all().delete()
    ResourceProvider.objects.update(parent=None, root=None)
    ResourceProvider.objects.all().delete()


def make_fleet(hosts: int, devices: int = 0) -> list[UUID]:
    """Hosts with 2 to 5 traits and one of ten aggregates; below each so many devices with one PCI_DEVICE."""
    empty()
    ResourceProvider.objects.bulk_create(
        [ResourceProvider(uuid=uuid4(), name=f"host-{number}") for number in range(hosts)], batch_size=BATCH
    )
    ResourceProvider.objects.update(root_id=F("pk"))
    rows = list(ResourceProvider.objects.order_by("pk"))
    stock_hosts(rows)
    children = [
        ResourceProvider(uuid=uuid4(), name=f"{row.name}-{number}", parent=row, root=row)
        for row in rows
        for number in range(devices)
    ]
    stock({"PCI_DEVICE": (1, 1.0)}, ResourceProvider.objects.bulk_create(children, batch_size=BATCH))
    ResourceProvider.objects.update(changed=ChangeStamp())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself soon after
    return [row.uuid for row in rows]


def stock_hosts(rows: list[ResourceProvider]) -> None:
    """Inventories, traits and aggregates of the hosts."""
    stock(STOCK, rows)
    traits = {trait.name: trait for trait in Trait.objects.filter(name__in=TRAITS)}
    ProviderTrait.objects.bulk_create(
        [
            ProviderTrait(provider=row, trait=traits[name])
            for number, row in enumerate(rows)
            for place, name in enumerate(TRAITS)
            if name in EVERY_TRAIT or (number >> place) % 2
        ],
        batch_size=BATCH,
    )
    aggregates = [PlacementAggregate.objects.get_or_create(uuid=UUID(int=number))[0] for number in range(AGGREGATES)]
    ProviderAggregate.objects.bulk_create(
        [ProviderAggregate(provider=row, aggregate=aggregates[number % AGGREGATES]) for number, row in enumerate(rows)],
        batch_size=BATCH,
    )


def stock(totals: dict[str, tuple[int, float]], rows: list[ResourceProvider]) -> None:
    """The same inventories for all."""
    classes = {one.name: one for one in ResourceClass.objects.filter(name__in=totals)}
    Inventory.objects.bulk_create(
        [
            Inventory(
                provider=row,
                resource_class=classes[name],
                total=total,
                max_unit=total,
                allocation_ratio=ratio,
                capacity=int(total * ratio),
            )
            for row in rows
            for name, (total, ratio) in totals.items()
        ],
        batch_size=BATCH,
    )


def query(limit: int | None = None, *more: RequestGroup, **rules: object) -> CandidateQuery:
    """The flavor, with what else is asked."""
    policy = "isolate" if len(more) > 1 else None
    return CandidateQuery((RequestGroup("", FLAVOR, **rules), *more), policy, limit=limit)


def claim_on(host: UUID) -> None:
    """One more consumer somewhere."""
    allocations_claim([Claim(uuid4(), UUID(int=1), UUID(int=2), {host: FLAVOR})])


def measure_flat(bench: Bench, size: int) -> None:
    """Hosts without anything below."""
    hosts = make_fleet(size)
    gc.collect()
    snapshot = ProviderSnapshot()
    print(f"{size} hosts:")
    bench.line("full load", lambda: ProviderSnapshot().read(len))
    snapshot.read(len)
    gc.collect()
    gc.freeze()
    bench.line("look, nothing changed", lambda: snapshot.read(len))
    bench.line("look, after one claim", lambda: snapshot.read(len), before=lambda: claim_on(hosts[size // 2]))
    narrow = {"required": (frozenset({"HW_CPU_X86_AVX2"}),), "member_of": (frozenset({UUID(int=2)}),)}
    asked = {
        "search, limit 1": query(1),
        "search, limit 1000": query(1000),
        "search, limit 1000, trait and aggregate": query(1000, **narrow),
        "search, all": query(),
    }
    for name, one in asked.items():
        bench.line(name + ", with the look", lambda one=one: candidate_search(one, snapshot=snapshot))
    seeded = SearchOptions(seed=1)
    bench.line(
        "search, limit 1000, random, with the look", lambda: candidate_search(query(1000), seeded, snapshot=snapshot)
    )
    huge = CandidateQuery((RequestGroup("", {**FLAVOR, "VCPU": 300}),))
    bench.line("why nobody, with the look", lambda: candidate_refusals(huge, snapshot=snapshot))
    bench.line("why nobody, all in words", lambda: dict(candidate_refusals(huge, snapshot=snapshot)))
    gc.unfreeze()
    worker_memory()


def print_memory() -> None:
    """What a process that only searches needs, at its peak and at rest."""
    candidate_search(query(1000))
    for _ in range(20):
        candidate_search(query(1000))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident, peak = (int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    print(f"  a process that searches: {resident:.0f} MiB resident, {peak:.0f} MiB at its peak", flush=True)


def worker_memory() -> None:
    """The same in a process of its own, which has not made the fleet."""
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, "--worker"], check=True)


def measure_trees(bench: Bench, size: int) -> None:
    """Hosts with eight equal devices, `size` providers in all; one device asked, and all eight."""
    make_fleet(size // (DEVICES + 1), DEVICES)
    snapshot = ProviderSnapshot()
    snapshot.read(len)
    gc.collect()
    gc.freeze()
    print(f"{size // (DEVICES + 1)} hosts with {DEVICES} devices each:")
    one = [RequestGroup("1", {"PCI_DEVICE": 1})]
    eight = [RequestGroup(str(number), {"PCI_DEVICE": 1}) for number in range(DEVICES)]
    for like in ("all", "one"):
        options = SearchOptions(symmetry=like)
        for name, more in (("no device", []), ("one device", one), ("eight devices, isolated", eight)):
            for limit in (1, 1000):
                bench.line(
                    f"{name}, limit {limit}, like: {like}",
                    lambda more=more, limit=limit, options=options: candidate_search(
                        query(limit, *more), options, snapshot=snapshot
                    ),
                )
    gc.unfreeze()


def main() -> None:
    """Make fleets, measure, remove them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 10000])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--worker", action="store_true", help="only load the fleet that is there, and tell the memory")
    options = parser.parse_args()
    if options.worker:
        print_memory()
        return
    call_command("migrate", verbosity=0)
    print(f"{connection.vendor}, {options.rounds} rounds each, ratios to {options.sizes[0]} hosts")
    bench = Bench(options.rounds)
    for size in options.sizes:
        measure_flat(bench, size)
    measure_trees(Bench(max(5, options.rounds // 5)), options.sizes[-1])
    empty()


if __name__ == "__main__":
    main()
