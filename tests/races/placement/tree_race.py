"""One race: `tree_race.py RACERS PROVIDERS MOVES` on the database of DATABASE_URL, which has no rows of ours at first.

Forks the racers (real processes, started together), each of which hangs random providers under random others, and
prints what they met and the trees that the database then holds, as one JSON object.
"""

import json
import multiprocessing
import random
import sys
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from uuid import UUID, uuid4

import django

django.setup()

from django.db import connections  # noqa: E402

from placement.domain.provider_errors import ParentRefused  # noqa: E402
from placement.selectors import provider_views  # noqa: E402
from placement.services.providers import provider_create, provider_update  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def race(seed: int, providers: list[UUID], moves: int, start: Barrier, answer: Connection) -> None:
    """A racer: hang one provider under another, now and then nowhere."""
    chance, counts = random.Random(seed), Counter[str]()
    start.wait()
    for _ in range(moves):
        child, parent = chance.sample(providers, 2)
        try:
            provider_update(child, name=str(child), parent_uuid=parent if chance.random() < 0.8 else None)
            counts["moved"] += 1
        except ParentRefused as error:
            counts[error.rule.value] += 1
    answer.send(counts)


def run(racers: int, providers: list[UUID], moves: int) -> Counter[str]:
    """All racers at once: the sum of their reports. None may fail or hang."""
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(racers)
    answers, senders = zip(*(FORK.Pipe(duplex=False) for _ in range(racers)), strict=True)
    children = [
        FORK.Process(target=race, args=(seed, providers, moves, start, senders[seed]), daemon=True)
        for seed in range(racers)
    ]
    for child in children:
        child.start()
    counts: Counter[str] = Counter()
    for answer in answers:
        if not answer.poll(TIMEOUT_S):
            raise SystemExit("a racer failed or hangs")
        counts += answer.recv()
    for child in children:
        child.join(TIMEOUT_S)
    return counts


def main(racers: int, providers: int, moves: int) -> None:
    """Race, and print what came of it."""
    uuids = [uuid4() for _ in range(providers)]
    for uuid in uuids:
        provider_create(uuid, str(uuid))
    counts = run(racers, uuids, moves)
    trees = {
        str(view.uuid): [view.parent_uuid and str(view.parent_uuid), str(view.root_uuid)] for view in provider_views()
    }
    sys.stdout.write(json.dumps({"counts": counts, "trees": trees}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
