"""One race: `volume_claim_race.py ROUNDS` on the database of DATABASE_URL, empty at first.

Four processes make, grow and remove volumes of one small pool at once, each ending the work that it
takes as an agent of its own host would; in between they report the pool, move work, and tell what the pool has. Prints
one JSON object: what was answered how often, and what is in the rows. What is no refusal ends it.
"""

import json
import multiprocessing
import random
import sys
import uuid
from collections import Counter
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport, VolumeFacts, VolumesOnHost  # noqa: E402
from controlplane.kernel.errors import KilonovaError  # noqa: E402
from controlplane.work.models import Work  # noqa: E402
from placement.selectors import allocations_by_consumer, fleet_usage  # noqa: E402
from servers.agent_api import conductor_connect  # noqa: E402
from servers.models import PoolSighting, StoragePool, Volume  # noqa: E402
from servers.volumes.domain.pools import VOLUME_GB  # noqa: E402
from servers.volumes.domain.volumes import VolumeRequest  # noqa: E402
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend  # noqa: E402
from servers.volumes.services.work import volume_work_move  # noqa: E402
from tests.worlds import cloud as world  # noqa: E402

TIMEOUT_S = 400
RACERS = 4
POOL_GIB = 12
FORK: ForkContext = multiprocessing.get_context("fork")
POOL = PoolReport(
    "shared",
    PoolKind.FILE,
    is_shared=True,
    identity="race",
    total_bytes=POOL_GIB * 2**30,
    free_bytes=POOL_GIB * 2**30,
    abilities=tuple(PoolAbility),
)


class Racer:
    """One process: a member of the project, and the agent of a host."""

    def __init__(self, number: int, people: world.People) -> None:
        self.host, self.people = f"h{number}", people
        self.conductor = conductor_connect()
        self.rng = random.Random(number)
        self.said: Counter[str] = Counter()
        self.too_many = 0

    def round(self) -> None:
        """One thing of each kind, in another order each time."""
        steps = [self.make, self.grow, self.remove, self.work, self.work, self.report, self.tell, volume_work_move]
        self.rng.shuffle(steps)
        for step in steps:
            try:
                step()
                self.said[f"{step.__name__}: done"] += 1
            except KilonovaError as error:
                self.said[f"{step.__name__}: {type(error).__name__}"] += 1
            self.look()

    def look(self) -> None:
        """No moment has more promised than there is."""
        for classes in fleet_usage(list(StoragePool.objects.values_list("pk", flat=True))).values():
            self.too_many += any(each.used > each.capacity for each in classes.values())

    def make(self) -> None:
        volume_create(caller=self.people.member, request=VolumeRequest(size_gib=self.rng.randint(1, 4)))

    def grow(self) -> None:
        volume = self._any()
        if volume is not None:
            volume_extend(caller=None, volume_id=volume.pk, size_gib=volume.size_gib + self.rng.randint(1, 2))

    def remove(self) -> None:
        volume = self._any()
        if volume is not None:
            volume_delete(caller=None, volume_id=volume.pk)

    def work(self) -> None:
        """All that waits for any host is asked for by each: one has it."""
        for host in [f"h{number}" for number in range(RACERS)]:
            for work_id in self.conductor.volume_work(host=host):
                token = uuid.uuid4().hex
                order = self.conductor.volume_take(host=host, work_id=work_id, owner=self.host, token=token)
                if order is not None:
                    self.conductor.volume_done(lease=order.lease, facts=VolumeFacts())
                    self.said["ended"] += 1

    def report(self) -> None:
        world.host(self.host, pools=(POOL,))

    def tell(self) -> None:
        names = tuple(str(pk) for pk in Volume.objects.values_list("pk", flat=True))
        self.conductor.volumes_present(host=self.host, pools=[VolumesOnHost("shared", "race", names, ())])

    def _any(self) -> Volume | None:
        found = list(Volume.objects.order_by("pk")[:20])
        return self.rng.choice(found) if found else None


def racer(number: int, people: world.People, count: int, start: Any, answer: Connection) -> None:
    """All rounds of one process."""
    mine = Racer(number, people)
    StoragePool.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    for _ in range(count):
        mine.round()
    answer.send((dict(mine.said), mine.too_many))


def main(count: int) -> dict[str, Any]:
    """Race, then look."""
    people = world.people()
    for number in range(RACERS):
        world.host(f"h{number}", pools=(replace(POOL),))
    connections.close_all()
    start, ends = FORK.Barrier(RACERS), []
    for number in range(RACERS):
        here, there = FORK.Pipe()
        FORK.Process(target=racer, args=(number, people, count, start, there), daemon=True).start()
        ends.append(here)
    answers = [end.recv() for end in ends if end.poll(TIMEOUT_S)]
    said: Counter[str] = Counter()
    for counts, _ in answers:
        said.update(counts)
    Racer(0, people).work()  # what was begun last
    (pool,) = StoragePool.objects.all()
    volumes = list(Volume.objects.all())
    held = allocations_by_consumer([one.pk for one in volumes])
    return {
        "racers": len(answers),
        "said": said,
        "too_many": sum(too_many for _, too_many in answers),
        "used": fleet_usage([pool.pk])[pool.pk][VOLUME_GB].used,
        "rows": sum(one.size_gib for one in volumes),
        "differing": [str(one.pk) for one in volumes if [each.used for each in held[one.pk]] != [one.size_gib]],
        "open": Work.objects.filter(state__in=["waiting", "running"]).count(),
        "ended": Work.objects.filter(state="done").count(),
        "sightings": PoolSighting.objects.filter(is_missing=True).count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
