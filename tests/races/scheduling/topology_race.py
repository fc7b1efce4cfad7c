"""One race: `topology_race.py RACERS TIMES` on the database of DATABASE_URL, which has no rows of ours at first.

Forked racers all ask the scheduler for the last pinned CPUs, and then for the last PCI devices, of one host at the same
moments, TIMES times; the first racer gives all back after each. By amounts four guests would fit, by cells three do,
and there are three devices. Prints one JSON object.
"""

import json
import multiprocessing
import sys
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier

import django

django.setup()

from django.db import connections  # noqa: E402

from placement.selectors import allocations_by_consumer  # noqa: E402
from scheduling.destinations.selectors.inputs import scheduling_inputs  # noqa: E402
from scheduling.destinations.services.select import destinations_select  # noqa: E402
from scheduling.domain.request.schedule_request import ScheduleRequest  # noqa: E402
from scheduling.errors import NoValidHost  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from scheduling.models import PciDevice, TopologyClaim  # noqa: E402
from scheduling.topology.selectors.audit import topology_findings  # noqa: E402
from scheduling.topology.services.claims import claims_free  # noqa: E402
from tests.services.scheduling.topology.topology_world import cell, device, numa_host, pinned, wanting  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def asked(kind: str) -> ScheduleRequest:
    """A guest of three pinned CPUs, or of one device."""
    return pinned(vcpus=3, memory_mib=64) if kind == "cpus" else wanting(gpus=1, memory_mib=64)


def racer(number: int, kind: str, start: Barrier, times: int, answer: Connection) -> None:
    """Ask; wait for the others; the first looks at what came out and gives it back."""
    counts: Counter[str] = Counter()
    for _ in range(times):
        start.wait(TIMEOUT_S)
        try:
            destinations_select(request=asked(kind), inputs=scheduling_inputs())
            counts["granted"] += 1
        except NoValidHost as error:
            counts[f"refused: {error.code}"] += 1
        start.wait(TIMEOUT_S)
        if number == 0:
            counts += counted()
        start.wait(TIMEOUT_S)
    answer.send(counts)


def counted() -> Counter[str]:
    """What the books say after one round; all of it is given back."""
    held = list(TopologyClaim.objects.values_list("pk", flat=True))
    owned = PciDevice.objects.filter(owner_uuid__isnull=False).count()
    found = Counter({"claims": len(held), "devices": owned, "findings": len(topology_findings())})
    found["allocations"] = len(allocations_by_consumer())
    claims_free(held)
    found["left"] = len(allocations_by_consumer()) + len(topology_findings()) + TopologyClaim.objects.count()
    return found


def run(kind: str, racers: int, times: int) -> Counter[str]:
    """All racers at once: the sum of their reports."""
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(racers)
    pipes = [FORK.Pipe(duplex=False) for _ in range(racers)]
    for number, (_, sender) in enumerate(pipes):
        FORK.Process(target=racer, args=(number, kind, start, times, sender), daemon=True).start()
    return sum((_answer(answer) for answer, _ in pipes), Counter[str]())


def _answer(answer: Connection) -> Counter[str]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a racer failed or hangs")
    counts: Counter[str] = answer.recv()
    return counts


def main(racers: int, times: int) -> None:
    """Both races on one host."""
    cells_ensure()
    cells = {"cells": [cell(at, f"{4 * at}-{4 * at + 3}") for at in range(3)]}
    cards = tuple(device(f"0000:8{at}:00.0", numa_node=at) for at in range(3))
    numa_host(vcpus=64, dedicated_vcpus=12, memory_mib=16384, numa_topology=cells, pci_devices=cards)
    sys.stdout.write(json.dumps({kind: dict(run(kind, racers, times)) for kind in ("cpus", "devices")}))


main(int(sys.argv[1]), int(sys.argv[2]))
