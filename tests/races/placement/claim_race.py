"""One race: `claim_race.py MODE RACERS PROVIDERS SLOTS` on the database of DATABASE_URL.

Makes the providers, forks the racers (real processes, each with its own connection, started together) and a watcher,
waits for all, and prints what they report and what the database then holds, as one JSON object.
"""

import json
import multiprocessing
import random
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from uuid import UUID, uuid4

import django

django.setup()

from claim_modes import MODES, watch  # noqa: E402
from django.db import connections  # noqa: E402

from placement.domain import InventorySpec  # noqa: E402
from placement.selectors import allocations_by_consumer, consumer_list, fleet_usage, provider_list  # noqa: E402
from placement.services import (  # noqa: E402
    allocations_free,
    audit_inventory_usage,
    inventory_set,
    provider_ensure,
)
from tests.races.deadlocks import deadlocks_broken  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def make_providers(count: int, slots: int) -> list[UUID]:
    """Providers with room for `slots` claims each; memory is overcommitted to the same number."""
    uuids = [uuid4() for _ in range(count)]
    memory = InventorySpec(total=slots * 512 // 2, allocation_ratio=2.0)
    for uuid in uuids:
        provider_ensure(uuid, f"racetrack-{uuid}")
        inventory_set(uuid, {"VCPU": InventorySpec(total=slots), "MEMORY_MB": memory})
    return uuids


def race(mode: str, seed: int, providers: list[UUID], start: Barrier, answer: Connection) -> None:
    """A racer: wait for the others, race, report."""
    counts: Counter[str] = Counter()
    allocations_free([uuid4()])  # the connection is open before the race starts
    start.wait()
    MODES[mode](random.Random(seed), providers, counts)
    answer.send(counts)


def observe(start: Barrier, until: Connection, answer: Connection) -> None:
    """The watcher: wait for the others, look until told to stop, report."""
    start.wait()
    answer.send(watch(until))


def run(mode: str, racers: int, providers: list[UUID]) -> tuple[Counter[str], Counter[str], float]:
    """All racers at once: the sum of their reports, the watcher's report, and seconds. None may fail or hang."""
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(racers + 2)
    answers, senders = zip(*(FORK.Pipe(duplex=False) for _ in range(racers)), strict=True)
    until, stop = FORK.Pipe(duplex=False)
    seen, see = FORK.Pipe(duplex=False)
    children = [
        FORK.Process(target=race, args=(mode, seed, providers, start, senders[seed]), daemon=True)
        for seed in range(racers)
    ]
    watcher = FORK.Process(target=observe, args=(start, until, see), daemon=True)
    for child in (*children, watcher):
        child.start()
    start.wait(TIMEOUT_S)
    begin = time.monotonic()
    sums = sum((_answer(answer) for answer in answers), Counter[str]())
    seconds = time.monotonic() - begin
    stop.send("enough")
    return sums, _answer(seen), seconds


def _answer(answer: Connection) -> Counter[str]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a racer failed or hangs")
    counts: Counter[str] = answer.recv()
    return counts


def verdict() -> dict[str, object]:
    """What is true now."""
    usage, held = fleet_usage(), allocations_by_consumer()
    used = {f"{uuid} {name}": (one.used, one.capacity) for uuid, row in usage.items() for name, one in row.items()}
    return {
        "findings": [finding.sentence() for finding in audit_inventory_usage()],
        "over": [name for name, (now, capacity) in used.items() if now > capacity],
        "free": [capacity - now for now, capacity in used.values()],
        "used": [now for now, _ in used.values()],
        "deadlocks": deadlocks_broken(),
        "consumers": len(consumer_list()),
        "generations": sum(provider.generation for provider in provider_list()),
        "holders": len(held),
        "vcpus_allocated": sum(row.used for rows in held.values() for row in rows if row.resource_class == "VCPU"),
    }


def main(mode: str, racers: int, providers: int, slots: int) -> None:
    """Make, race, judge."""
    counts, seen, seconds = run(mode, racers, make_providers(providers, slots))
    sys.stdout.write(json.dumps({**verdict(), "counts": counts, "seen": seen, "seconds": round(seconds, 2)}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
