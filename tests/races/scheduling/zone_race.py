"""One race: `zone_race.py RACERS ROUNDS` on the database of DATABASE_URL.

In each round that many schedulers, real processes with their own views, choose at the same moment for one instance each
among hosts of one availability zone, and an operator gives the zone another name. Prints one JSON object: for each
round whether the zone was renamed, the zone that the hosts are in afterwards, and the zones that instances were
scheduled into; and how many deadlocks PostgreSQL broke.
"""

import json
import multiprocessing
import sys
import uuid
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from placement.selectors import allocations_by_consumer  # noqa: E402
from placement.services import allocations_free  # noqa: E402
from scheduling.destinations.selectors.inputs import scheduling_inputs  # noqa: E402
from scheduling.destinations.services.select import destinations_select  # noqa: E402
from scheduling.errors import HostInUse  # noqa: E402
from scheduling.fleet.selectors.zones import zone_of_host  # noqa: E402
from scheduling.fleet.services.aggregates import aggregate_create_whole, aggregate_update  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from tests.races.deadlocks import deadlocks_broken  # noqa: E402
from tests.services.scheduling.fleet.fleet_world import fleet, request  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def scheduler(rounds: int, start: Barrier, answer: Connection) -> None:
    """One scheduler: one request in each round."""
    scheduling_inputs()  # the connection is open before the race starts
    for _ in range(rounds):
        start.wait(TIMEOUT_S)
        found = destinations_select(request=request(), inputs=scheduling_inputs(), subject=uuid.uuid4())
        answer.send(found.instances[0].selected.availability_zone)
        start.wait(TIMEOUT_S)


def operator(aggregate_id: uuid.UUID, rounds: int, start: Barrier, answer: Connection) -> None:
    """Who renames the zone, once in each round."""
    zone_of_host(host="cmp-00")
    for number in range(rounds):
        start.wait(TIMEOUT_S)
        try:
            aggregate_update(aggregate_id=aggregate_id, metadata={"availability_zone": f"az{number + 1}"})
        except HostInUse:
            answer.send(False)
        else:
            answer.send(True)
        start.wait(TIMEOUT_S)


def main(racers: int, rounds: int) -> dict[str, Any]:
    """All rounds; after each the fleet is empty again."""
    cells_ensure()
    hosts = fleet(3, vcpus=64, memory_mib=65536, disk_gib=1000, disk_available_least_gib=1000)
    aggregate_id = aggregate_create_whole(name="rack", metadata={"availability_zone": "az0"}, hosts=hosts).pk
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(racers + 2)
    renamed, told = FORK.Pipe(duplex=False)
    FORK.Process(target=operator, args=(aggregate_id, rounds, start, told), daemon=True).start()
    answers = []
    for _ in range(racers):
        here, there = FORK.Pipe(duplex=False)
        FORK.Process(target=scheduler, args=(rounds, start, there), daemon=True).start()
        answers.append(here)
    results = []
    for _ in range(rounds):
        start.wait(TIMEOUT_S)
        found = {"renamed": _answer(renamed), "scheduled": [_answer(each) for each in answers]}
        results.append({**found, "zone": zone_of_host(host="cmp-00")})
        allocations_free(allocations_by_consumer())
        start.wait(TIMEOUT_S)
    return {"rounds": results, "deadlocks": deadlocks_broken()}


def _answer(answer: Connection) -> Any:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a racer failed or hangs")
    return answer.recv()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*map(int, sys.argv[1:]))))
