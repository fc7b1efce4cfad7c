"""What one racer does. Imported by claim_race.py once Django is set up; each runs in a process of its own."""

import random
import select
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID, uuid4

from django.db import OperationalError

from controlplane.kernel.errors import Conflict, NoCapacity
from placement.candidates import FleetColumns
from placement.domain import UNCHECKED, Claim, ConsumerChanged, ConsumerState, CountLimit, InventorySpec, Unchecked
from placement.models import CountedConsumer
from placement.selectors import ProviderSnapshot
from placement.services import allocations_claim, allocations_free, allocations_replace, inventory_put
from placement.services.counts import keys_prune

ROUNDS = 25
BATCH_MAX = 4


class Readable(Protocol):
    """What `select` can wait for."""

    def fileno(self) -> int:
        """The file descriptor."""


def claim_on(providers: Sequence[UUID], consumer: UUID | None = None) -> Claim:
    """One consumer that takes a slot of each of these providers."""
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
    """Claims, frees (each twice) and operators' changes, interleaved; at the end everything is given back."""
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


def state_on(provider: UUID, consumer: UUID, vcpus: int, generation: int | Unchecked | None) -> ConsumerState:
    """What a client of the HTTP API puts: the whole new state of a consumer."""
    return ConsumerState(consumer, "p", "u", "INSTANCE", {provider: {"VCPU": vcpus, "MEMORY_MB": 512}}, generation)


def hot(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """All on one provider: own consumers claimed, replaced and freed (nobody else may disturb that), and shared ones.

    `writes` counts what the provider's generation must have grown by.
    """
    host, shared = providers[0], [UUID(int=number) for number in range(1, 4)]
    for _ in range(ROUNDS):
        consumer, generation = uuid4(), 1
        if not attempt([claim_on([host], consumer)], counts):
            continue
        counts["writes"] += 1
        for vcpus in rng.choices([1, 2, 3], k=2):
            try:
                allocations_replace([state_on(host, consumer, vcpus, generation)])
            except NoCapacity:
                counts["NoCapacity"] += 1
                continue
            generation, counts["writes"] = generation + 1, counts["writes"] + 1
        try:
            allocations_replace([state_on(host, rng.choice(shared), 1, rng.choice([None, 1, UNCHECKED]))])
            counts["writes"] += 1
        except (NoCapacity, ConsumerChanged) as error:
            counts[type(error).__name__] += 1
        for gone in ([consumer], [rng.choice(shared)]):
            counts["freed"] += allocations_free(gone)
    allocations_free(shared)


def group(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """Each racer wants one member of each of many groups on the same host, which may have one of each."""
    for number in range(ROUNDS):
        one = claim_on([providers[0]])
        limit = CountLimit(providers[0], f"group:{number}", 1)
        attempt([replace(one, limits=(limit,))], counts)


def together(rng: random.Random, providers: list[UUID], counts: Counter[str]) -> None:
    """Consumers of a few keys, each of which must be on one provider: batches of several keys in random order, freed.

    `torn` counts how often a racer saw its own key on more than one provider.
    """
    for _ in range(ROUNDS):
        chosen = {f"together:{number}": rng.choice(providers) for number in rng.sample(range(4), 2)}
        batch = [
            replace(claim_on([provider]), limits=(CountLimit(provider, key, 99, together=True),))
            for key, provider in chosen.items()
        ]
        if attempt(batch, counts):
            for key, provider in chosen.items():
                counted = CountedConsumer.objects.filter(key=key).values_list("provider__uuid", flat=True)
                counts["torn"] += set(counted) != {provider}
            counts["freed"] += allocations_free([claim.consumer_uuid for claim in batch])
        if rng.random() < 0.1:
            keys_prune()


MODES: dict[str, Callable[[random.Random, list[UUID], Counter[str]], None]] = {
    "grab": grab,
    "churn": churn,
    "same": same,
    "hot": hot,
    "group": group,
    "together": together,
}


def watch(until: Readable) -> Counter[str]:
    """Keep a snapshot of the fleet fresh while others write; at the end compare it with one that is loaded anew."""
    snapshot, counts = ProviderSnapshot(), Counter[str]()
    while not select.select([until], [], [], 0)[0]:
        snapshot.read(len)
        counts["looks"] += 1
    snapshot_values, fresh = snapshot.read(_as_values), ProviderSnapshot().read(_as_values)
    counts["differs"] = sum(
        snapshot_values.get(uuid) != fresh.get(uuid) for uuid in snapshot_values.keys() | fresh.keys()
    )
    return counts


def _as_values(columns: FleetColumns) -> dict[UUID, object]:
    """All numbers of all providers, so that the order of rows does not matter."""
    return {
        uuid: {
            name: (int(column.total[row]), int(column.capacity[row]), int(column.used[row]))
            for name, column in sorted(columns.classes.items())
        }
        for uuid, row in columns.row_of.items()
    }
