"""One race: `neighbour_race.py RULE RACERS HOSTS ROUNDS` on the database of DATABASE_URL.

In each round that many schedulers, real processes with their own views, choose at the same moment for one instance each
on empty hosts. RULE is the filter that has something to say: for ServerGroupAffinityFilter they are members of one new
group; NumInstancesFilter and IoOpsFilter allow 2 on a host; for TypeAffinityFilter the flavors are two. Prints one JSON
object: for each round how the schedulers ended, which of them are on which host, and the rules by which claims were
lost; and how many deadlocks PostgreSQL broke.
"""

import json
import multiprocessing
import sys
import uuid
from collections import defaultdict
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from placement.selectors import allocations_by_consumer  # noqa: E402
from placement.services import allocations_free  # noqa: E402
from scheduling.decisions.selectors.decisions import decision_content  # noqa: E402
from scheduling.destinations.selectors.inputs import scheduling_inputs  # noqa: E402
from scheduling.destinations.services.select import destinations_select  # noqa: E402
from scheduling.domain.request.schedule_request import GroupSnapshot, ScheduleRequest  # noqa: E402
from scheduling.errors import NoValidHost  # noqa: E402
from scheduling.fleet.services.cells import cells_ensure  # noqa: E402
from scheduling.models import SchedulingDecision  # noqa: E402
from scheduling.policies.services.policies import policy_create  # noqa: E402
from servers.models import BuildRequest  # noqa: E402
from tests.races.deadlocks import deadlocks_broken  # noqa: E402
from tests.services.scheduling.fleet.fleet_world import fleet, request  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def asked(rule: str, number: int, racer: int) -> ScheduleRequest:
    """The request of one racer in one round."""
    asked = request()
    if rule == "ServerGroupAffinityFilter":
        return replace(asked, group=GroupSnapshot(uuid=str(uuid.UUID(int=number + 1)), policy="affinity"))
    flavor = f"flavor-{racer % 2}" if rule == "TypeAffinityFilter" else asked.flavor.id
    return replace(asked, flavor=replace(asked.flavor, id=flavor))


def told(rule: str, wanted: ScheduleRequest) -> None:
    """The build request by which the app above knows the flavor of what waits to be built, and that it does."""
    if rule in ("IoOpsFilter", "TypeAffinityFilter"):
        project = Project.objects.get()
        BuildRequest.objects.create(
            instance_uuid=wanted.instance_uuids[0],
            project=project,
            user_id=project.pk,
            reservation_id=uuid.uuid4(),
            vcpus=1,
            memory_mib=1,
            instance_body={"flavor_id": wanted.flavor.id},
        )


def scheduler(rule: str, racer: int, rounds: int, start: Barrier, answer: Connection) -> None:
    """One scheduler: one request in each round."""
    SchedulingDecision.objects.exists()  # the connection is open before the race starts
    for number in range(rounds):
        wanted = asked(rule, number, racer)
        told(rule, wanted)
        start.wait(TIMEOUT_S)
        try:
            found = destinations_select(request=wanted, inputs=scheduling_inputs(), subject=uuid.uuid4())
        except NoValidHost as error:
            answer.send((error.code, None, []))
        else:
            decision = SchedulingDecision.objects.get(pk=found.decision_id)
            lost = [one["rule"] for one in decision_content(decision=decision).lost_claims]
            answer.send(("placed", found.instances[0].selected.host, lost))
        start.wait(TIMEOUT_S)


def main(rule: str, racers: int, hosts: int, rounds: int) -> dict[str, Any]:
    """All rounds; after each the fleet is empty again."""
    cells_ensure()
    Project.objects.create(name="tenant")
    options = {"max_instances_per_host": 2, "max_io_ops_per_host": 2}
    # The fullest host is the best, so that all want the same one.
    policy_create(body={"filters": [rule], "options": options, "weighers": {"RAMWeigher": -1.0}}, activate=True)
    fleet(hosts, vcpus=64, memory_mib=65536, disk_gib=1000, disk_available_least_gib=1000)
    connections.close_all()  # a connection must not be shared with a forked child
    start = FORK.Barrier(racers + 1)
    answers = []
    for racer in range(racers):
        here, there = FORK.Pipe(duplex=False)
        FORK.Process(target=scheduler, args=(rule, racer, rounds, start, there), daemon=True).start()
        answers.append(here)
    results = []
    for _ in range(rounds):
        start.wait(TIMEOUT_S)
        said = [_answer(each) for each in answers]
        allocations_free(allocations_by_consumer())
        BuildRequest.objects.all().delete()
        by_host: dict[str, list[int]] = defaultdict(list)
        for racer, (_, host, _) in enumerate(said):
            if host is not None:
                by_host[host].append(racer)
        results.append({"said": sorted(code for code, _, _ in said), "hosts": by_host, "lost": [x for *_, x in said]})
        start.wait(TIMEOUT_S)
    return {"rounds": results, "deadlocks": deadlocks_broken()}


def _answer(answer: Connection) -> tuple[str, str | None, list[str]]:
    if not answer.poll(TIMEOUT_S):
        raise TimeoutError("a scheduler failed or hangs")
    said: tuple[str, str | None, list[str]] = answer.recv()
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
