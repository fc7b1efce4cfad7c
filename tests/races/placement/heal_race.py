"""`heal_race.py RACERS SECONDS` on the database of DATABASE_URL, which has no rows of ours at first.

Racers claim and free on one provider. Beside them one process counts its inventory anew, over and over, and now and
then makes the counter wrong first, as a bug would. Prints what each did and what the audit finds afterwards, as JSON.
"""

import json
import multiprocessing
import sys
import time
from collections import Counter
from multiprocessing.queues import SimpleQueue
from uuid import UUID, uuid4

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.kernel.errors import KilonovaError  # noqa: E402
from placement.domain import Claim, InventorySpec  # noqa: E402
from placement.models import Inventory  # noqa: E402
from placement.services import (  # noqa: E402
    allocations_claim,
    allocations_free,
    audit_inventory_usage,
    inventory_put,
    provider_ensure,
)
from placement.services.heal import inventory_used_recount  # noqa: E402

FORK = multiprocessing.get_context("fork")
PROVIDER = UUID(int=1)
DRIFT_EVERY = 5


def claim_and_free(until: float, answer: "SimpleQueue[dict[str, int]]") -> None:
    """Take one, give it back. A full provider is no failure; a counter that healing broke would show in the audit."""
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        consumer = uuid4()
        try:
            allocations_claim([Claim(consumer, "p", "u", {PROVIDER: {"VCPU": 1}})])
            counts["claimed"] += 1
        except KilonovaError:
            counts["refused"] += 1
        allocations_free([consumer])
    answer.put(dict(counts))


def heal(until: float, answer: "SimpleQueue[dict[str, int]]") -> None:
    """Count anew; every few times after making the counter wrong."""
    counts: Counter[str] = Counter()
    turn = 0
    while time.monotonic() < until:
        turn += 1
        if is_drift := turn % DRIFT_EVERY == 0:
            Inventory.objects.filter(provider__uuid=PROVIDER).update(used=40)
        is_done = inventory_used_recount(PROVIDER, "VCPU")
        counts["healed" if is_done else "not needed"] += 1
        counts["healed without drift"] += is_done and not is_drift
    answer.put(dict(counts))


def main(racers: int, seconds: float) -> None:
    """One race."""
    provider_ensure(PROVIDER, "racetrack")
    inventory_put(PROVIDER, "VCPU", InventorySpec(total=50))
    connections.close_all()  # a connection must not be shared with a forked child
    answer: SimpleQueue[dict[str, int]] = FORK.SimpleQueue()
    until = time.monotonic() + seconds
    works = [claim_and_free] * racers + [heal]
    children = [FORK.Process(target=work, args=(until, answer)) for work in works]
    for child in children:
        child.start()
    reports = [answer.get() for _ in children]
    for child in children:
        child.join()
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report)
    inventory_used_recount(PROVIDER, "VCPU")
    print(json.dumps({"counts": counts, "findings": [one.sentence() for one in audit_inventory_usage()]}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
