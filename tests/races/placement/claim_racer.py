"""One racer: a process that claims and frees at random until nothing is left, and says what it won.

Started by test_claim_race.py, with the providers on its command line: `claim_racer.py MODE SEED PROVIDER...`. Prints
`ready`, waits for a line on its standard input, and ends with one JSON line of counts.

MODE grab: claims until each provider has refused it. MODE churn: claims and frees ROUNDS times, then frees all. MODE
same: all racers claim and free the very same consumers.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

import django

django.setup()

from django.db import OperationalError  # noqa: E402

from controlplane.kernel.errors import Conflict, NoCapacity  # noqa: E402
from placement.domain import Claim, InventorySpec  # noqa: E402
from placement.services import allocations_claim, allocations_free, inventory_put  # noqa: E402

ROUNDS = 25
BATCH_MAX = 4


def claim_on(providers: Sequence[UUID], consumer: UUID | None = None) -> Claim:
    """One consumer that takes a slot of one or two providers, in no particular order."""
    return Claim(
        consumer_uuid=consumer or uuid4(),
        project_id=UUID(int=1),
        user_id=UUID(int=2),
        resources={provider: {"VCPU": 1, "MEMORY_MB": 512} for provider in providers},
    )


def batch_of(rng: random.Random, providers: list[UUID]) -> list[Claim]:
    """A batch over several providers, in random order: what deadlocks where locks are not ordered."""
    return [claim_on(rng.sample(providers, rng.randint(1, 2))) for _ in range(rng.randint(1, BATCH_MAX))]


def attempt(batch: list[Claim], counts: Counter[str]) -> bool:
    """Claim; count how it ended."""
    try:
        allocations_claim(batch)
    except (NoCapacity, Conflict, OperationalError) as error:
        counts[type(error).__name__] += 1
        return False
    counts["won"] += 1
    return True


def grab(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """First in batches, then one by one until everything is gone."""
    while attempt(batch_of(rng, providers), counts):
        pass
    for provider in rng.sample(providers, len(providers)):
        while attempt([claim_on([provider])], counts):
            pass


def churn(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """Claims, frees (often twice) and operators' changes, interleaved; at the end everything is given back."""
    held: list[UUID] = []
    for _ in range(ROUNDS):
        batch = batch_of(rng, providers)
        if attempt(batch, counts):
            held += [claim.consumer_uuid for claim in batch]
        rng.shuffle(held)
        gone = [held.pop() for _ in range(min(len(held), rng.randint(0, 3)))]
        counts["freed"] += allocations_free(gone)
        counts["freed_again"] += allocations_free(gone)
        if rng.random() < 0.1:
            inventory_put(rng.choice(providers), "VCPU", InventorySpec(total=rng.randint(8, 12)))
    counts["freed"] += allocations_free(held)


def same(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """Everybody's consumers are the same few, so each claim meets others' and each free may be somebody else's."""
    consumers = [UUID(int=number) for number in range(1, 9)]
    for _ in range(ROUNDS):
        chosen = rng.sample(consumers, 3)
        if attempt([claim_on(rng.sample(providers, 2), consumer) for consumer in chosen], counts):
            counts["claimed"] += len(chosen)
        counts["freed"] += allocations_free(rng.sample(consumers, 3))
    counts["freed"] += allocations_free(consumers)


MODES: dict[str, Callable[[random.Random, list[UUID], Counter[str]], None]] = {
    "grab": grab,
    "churn": churn,
    "same": same,
}


def main(mode: str, seed: str, *providers: str) -> None:
    """Wait for the start, race, report."""
    counts: Counter[str] = Counter()
    allocations_free([uuid4()])  # the connection is open before the race starts
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    MODES[mode](random.Random(seed), [UUID(text) for text in providers], counts)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
