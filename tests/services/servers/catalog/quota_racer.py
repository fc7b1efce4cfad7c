"""Processes that create build requests for one project, one by one, until the quota refuses.

`quota_racer.py PROCESSES` makes the project, lets so many processes begin at one moment, and prints how many requests
they made together and how many vCPUs are in use then. They are forks of one that has everything imported.
"""

import sys
import uuid
from multiprocessing import get_context
from typing import Any

import django

django.setup()

from django.db import connections, transaction  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from controlplane.kernel.errors import QuotaExceeded  # noqa: E402
from servers.catalog.selectors.quota import quota_usage  # noqa: E402
from servers.catalog.services.quota import quota_count_allowed, quota_lock  # noqa: E402
from servers.models import BuildRequest  # noqa: E402

WITHIN_S = 400


def make(project_id: uuid.UUID) -> None:
    with transaction.atomic():
        quota_lock(project_id)
        quota_count_allowed(project_id=project_id, min_count=1, max_count=1, vcpus=1, memory_mib=10)
        BuildRequest.objects.create(
            instance_uuid=uuid.uuid4(),
            project_id=project_id,
            user_id=uuid.uuid4(),
            reservation_id=uuid.uuid4(),
            vcpus=1,
            memory_mib=10,
            instance_body={},
        )


def race(project_id: uuid.UUID, begin: Any, made: Any) -> None:
    Project.objects.count()  # the connection is open before the race starts
    begin.wait(WITHIN_S)
    while True:
        try:
            make(project_id)
        except QuotaExceeded:
            return
        with made.get_lock():
            made.value += 1


def main(processes: int) -> str:
    project_id = Project.objects.create(name="race", quota_instances=40, quota_cores=30, quota_ram_mib=51200).pk
    connections.close_all()  # none goes along into a fork
    context = get_context("fork")
    begin, made = context.Barrier(processes), context.Value("i", 0)
    racers = [context.Process(target=race, args=(project_id, begin, made)) for _ in range(processes)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(WITHIN_S)
    if any(racer.exitcode != 0 for racer in racers):
        sys.exit(f"racers ended with {[racer.exitcode for racer in racers]}")
    return f"{made.value} {quota_usage(project_id=project_id).cores}"


if __name__ == "__main__":
    sys.stdout.write(f"{main(int(sys.argv[1]))}\n")
