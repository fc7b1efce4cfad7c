"""One race: `host_removal_race.py CONDUCTORS ROUNDS INSTANCES` on the database of DATABASE_URL.

In each round a new host, equal to one that stays, is chosen for instances by conductors that are real processes, while
another process disables (odd rounds: forces down) and removes it at the same moment. Prints one JSON object: how
removals ended, where instances ended, and those that landed on a host that was gone.
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
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.identity.domain import Caller  # noqa: E402
from controlplane.identity.models import Project  # noqa: E402
from controlplane.work import jobs  # noqa: E402
from controlplane.work.models import Work  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from scheduling.fleet.services.service_states import service_disable, service_force_down  # noqa: E402
from servers.hosts.domain.removal import RemovalRefused  # noqa: E402
from servers.hosts.services.removal import host_remove  # noqa: E402
from servers.models import BuildRequest, Instance  # noqa: E402
from servers.repair.services.audit import audit_findings  # noqa: E402
from tests.worlds import cloud as world  # noqa: E402

TIMEOUT_S = 400
REMOVAL_TRIES = 20
FORK: ForkContext = multiprocessing.get_context("fork")


def conductor(caller: Caller, count: int, start: Barrier, answer: Connection) -> None:
    """Ask for instances, then schedule whatever waits until nothing does."""
    for number in range(count):
        world.create(caller, f"vm-{number}")
    start.wait(TIMEOUT_S)
    for _ in range(50):
        waiting = Work.objects.filter(queue="conductor", state="waiting")
        for kind, pk in waiting.order_by("created_at").values_list("kind", "id"):
            jobs.answer(kind, str(pk))
        if not BuildRequest.objects.exists():
            break
        time.sleep(0.02)
    answer.send({})


def remover(host: str, force: bool, start: Barrier, answer: Connection) -> None:
    """Take the host out and remove it, again and again for a short while."""
    Instance.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    time.sleep(random.uniform(0, 0.15))
    if force:
        service_force_down(host=host, forced_down=True)
    else:
        service_disable(host=host)
    said: Counter[str] = Counter()
    for _ in range(REMOVAL_TRIES):
        try:
            removed = host_remove(host=host, force=force)
        except RemovalRefused as error:
            said.update(f"refused for {one.value}" for one in error.reasons)
            time.sleep(0.005)
        else:
            left = [str(one.id) for one in removed.instances_left]
            answer.send({"removed": True, "left": left, "said": dict(said)})
            return
    answer.send({"removed": False, "left": [], "said": dict(said)})


def one_round(caller: Caller, host: str, conductors: int, instances: int, *, force: bool) -> dict[str, Any]:
    """The host comes, is chosen and removed at once; then who is where."""
    world.host(host, memory_mib=2**18)  # so that it is liked better than the one that stays
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(conductors + 1)
    pipes = [FORK.Pipe(duplex=False) for _ in range(conductors + 1)]
    FORK.Process(target=remover, args=(host, force, start, pipes[0][1]), daemon=True).start()
    for _, sender in pipes[1:]:
        FORK.Process(target=conductor, args=(caller, instances, start, sender), daemon=True).start()
    answers = [_answer(receiver) for receiver, _ in pipes]
    found: dict[str, Any] = answers[0]
    on_it = {str(pk) for pk in Instance.objects.filter(host=host).values_list("pk", flat=True)}
    found["landed_on_nothing"] = sorted(on_it - set(found["left"])) if found["removed"] else []
    return found


def _answer(answer: Connection) -> dict[str, Any]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a racer failed or hangs")
    said: dict[str, Any] = answer.recv()
    return said


def main(conductors: int, rounds: int, instances: int) -> None:
    """Round after round, then what the database holds."""
    cells_ensure()
    member = world.cloud("stays", memory_mib=2**16, vcpus=64).member
    Project.objects.update(quota_instances=-1, quota_cores=-1, quota_ram_mib=-1)
    results = [
        one_round(member, f"goes-{number}", conductors, instances, force=number % 2 == 1) for number in range(rounds)
    ]
    left = {pk for one in results for pk in one["left"]}
    states = Counter(Instance.objects.exclude(pk__in=left).values_list("vm_state", flat=True))
    result = {
        "removed": sum(one["removed"] for one in results),
        "said": dict(sum((Counter(one["said"]) for one in results), Counter[str]())),
        "left": len(left),
        "landed_on_nothing": [pk for one in results for pk in one["landed_on_nothing"]],
        "states": dict(states),
        "pending": BuildRequest.objects.count(),
        "violations": [one.message for one in audit_findings() if one.subject not in left],
    }
    sys.stdout.write(json.dumps(result))


main(*map(int, sys.argv[1:]))
