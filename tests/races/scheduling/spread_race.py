"""One race: `spread_race.py SCHEDULERS REQUESTS HOSTS` on the database of DATABASE_URL.

A burst of requests for equal instances meets equal hosts: once with one scheduler, once with several, real processes
with their own views, which begin at the same moment and share the requests out. Prints one JSON object: for both, what
the schedulers said, how many hosts got instances, and the most that one host got.
"""

import json
import multiprocessing
import sys
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from typing import Any
from uuid import UUID

import django

django.setup()

from django.db import connections  # noqa: E402

from placement.selectors import allocations_by_consumer  # noqa: E402
from placement.services import allocations_free  # noqa: E402
from scheduling.destinations.selectors.inputs import scheduling_inputs  # noqa: E402
from scheduling.destinations.services.select import destinations_select  # noqa: E402
from scheduling.errors import NoValidHost  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from scheduling.models import SchedulingDecision  # noqa: E402
from tests.services.scheduling.fleet.fleet_world import fleet, request  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def scheduler(requests: int, start: Barrier, answer: Connection) -> None:
    """One scheduler: one request after the other, as fast as it can."""
    said: Counter[str] = Counter()
    SchedulingDecision.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    for _ in range(requests):
        try:
            destinations_select(request=request(), inputs=scheduling_inputs())
        except NoValidHost as error:
            said[error.code] += 1
        else:
            said["placed"] += 1
    answer.send(said)


def burst(schedulers: int, requests: int) -> dict[str, Any]:
    """All schedulers at once; afterwards the fleet is empty again."""
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(schedulers)
    pipes = [FORK.Pipe(duplex=False) for _ in range(schedulers)]
    for _, sender in pipes:
        FORK.Process(target=scheduler, args=(requests // schedulers, start, sender), daemon=True).start()
    said = sum((_answer(answer) for answer, _ in pipes), Counter[str]())
    held = allocations_by_consumer()
    on: Counter[UUID] = Counter(next(iter({row.provider_uuid for row in rows})) for rows in held.values())
    allocations_free(held)
    return {"said": dict(said), "hosts": len(on), "maximum": max(on.values())}


def _answer(answer: Connection) -> Counter[str]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a scheduler failed or hangs")
    said: Counter[str] = answer.recv()
    return said


def main(schedulers: int, requests: int, hosts: int) -> None:
    """One scheduler alone, then several."""
    cells_ensure()
    fleet(hosts, vcpus=64, memory_mib=65536, disk_gib=1000, disk_available_least_gib=1000)
    result = {"one": burst(1, requests), "several": burst(schedulers, requests)}
    sys.stdout.write(json.dumps(result))


main(*map(int, sys.argv[1:]))
