"""One race: `host_name_race.py ROUNDS` on the database of DATABASE_URL.

In each round agents of hosts whose names differ in capitals alone, real processes, register at the same moment. Prints
one JSON object: for each round what was said to each of them, and the names of the hosts that there are.
"""

import json
import multiprocessing
import sys
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.kernel.errors import KilonovaError  # noqa: E402
from scheduling.fleet.selectors.hosts import host_list  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from scheduling.fleet.services.hosts import host_delete, host_register  # noqa: E402
from scheduling.models import Service  # noqa: E402
from tests.services.scheduling.fleet.fleet_world import report  # noqa: E402

NAMES = ("HV-1", "hv-1", "Hv-1")
TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def agent(host: str, rounds: int, start: Barrier, answer: Connection) -> None:
    """One agent: it registers once in each round."""
    Service.objects.exists()  # the connection is open before the race starts
    for _ in range(rounds):
        start.wait(TIMEOUT_S)
        try:
            host_register(host=host, report=report(f"node-of-{host}"))
        except KilonovaError as error:
            answer.send(error.code)
        else:
            answer.send("registered")
        start.wait(TIMEOUT_S)


def main(rounds: int) -> list[dict[str, Any]]:
    """All rounds; after each there is no host again."""
    cells_ensure()
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(len(NAMES) + 1)
    answers = []
    for name in NAMES:
        here, there = FORK.Pipe(duplex=False)
        FORK.Process(target=agent, args=(name, rounds, start, there), daemon=True).start()
        answers.append(here)
    results = []
    for _ in range(rounds):
        start.wait(TIMEOUT_S)
        said = [_answer(each) for each in answers]
        hosts = [one.host for one in host_list()]
        results.append({"said": sorted(said), "hosts": hosts})
        for host in hosts:
            host_delete(host=host)
        start.wait(TIMEOUT_S)
    return results


def _answer(answer: Connection) -> str:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("an agent failed or hangs")
    said: str = answer.recv()
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
