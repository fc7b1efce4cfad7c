"""One race: `policy_race.py RACERS TIMES` on the database of DATABASE_URL, which has no rows of ours at first.

Forked racers, each with a validated version of its own, activate it again and again at the same moments, with and
without saying which version they mean to replace; a watcher counts active versions. Prints one JSON object.
"""

import json
import multiprocessing
import sys
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from uuid import UUID

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.kernel.errors import Conflict  # noqa: E402
from scheduling.models import SchedulerPolicy  # noqa: E402
from scheduling.policies.selectors.policies import active_id, policy_active  # noqa: E402
from scheduling.policies.services.policies import policy_activate, policy_create, policy_validate  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def make_versions(count: int) -> list[UUID]:
    """Validated versions, one for each racer."""
    made = [policy_create(body={"host_subset_size": number + 1}).pk for number in range(count)]
    for pk in made:
        policy_validate(policy_id=pk)
    return made


def blind(mine: UUID, start: Barrier, times: int, answer: Connection) -> None:
    """Activate my version, whichever is active. Nothing is told but that it went well or was refused."""
    counts: Counter[str] = Counter()
    policy_active()  # the connection is open before the race starts
    for _ in range(times):
        start.wait(TIMEOUT_S)
        counts[_tried(mine, named=False)] += 1
    answer.send(counts)


def named(mine: UUID, start: Barrier, times: int, answer: Connection) -> None:
    """Activate my version in place of the one that all racers saw: exactly one of them may succeed."""
    counts: Counter[str] = Counter()
    for _ in range(times):
        seen = active_id()
        start.wait(TIMEOUT_S)
        counts[_tried(mine, named=True, replaces=seen)] += 1
        start.wait(TIMEOUT_S)
        counts["active"] += SchedulerPolicy.objects.filter(state="active").count()
        start.wait(TIMEOUT_S)
    answer.send(counts)


def _tried(mine: UUID, *, named: bool, replaces: UUID | None = None) -> str:
    try:
        if named:
            policy_activate(policy_id=mine, replaces=replaces)
        else:
            policy_activate(policy_id=mine)
    except Conflict:
        return "refused"
    return "activated"


def run(mode: str, versions: list[UUID], times: int) -> Counter[str]:
    """All racers at once: the sum of their reports."""
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(len(versions))
    pipes = [FORK.Pipe(duplex=False) for _ in versions]
    target = named if mode == "named" else blind
    for version, (_, sender) in zip(versions, pipes, strict=True):
        FORK.Process(target=target, args=(version, start, times, sender), daemon=True).start()
    return sum((_answer(answer) for answer, _ in pipes), Counter[str]())


def _answer(answer: Connection) -> Counter[str]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a racer failed or hangs")
    counts: Counter[str] = answer.recv()
    return counts


def main(racers: int, times: int) -> None:
    """Both ways, then what the database holds."""
    versions = make_versions(racers)
    result = {mode: dict(run(mode, versions, times)) for mode in ("blind", "named")}
    states = Counter(SchedulerPolicy.objects.values_list("state", flat=True))
    sys.stdout.write(json.dumps({**result, "states": dict(states), "version": policy_active().version}))


main(int(sys.argv[1]), int(sys.argv[2]))
