"""A process that creates build requests for one project, one by one, until the quota refuses.

`quota_racer.py setup` migrates and prints a project's id; `quota_racer.py race PROJECT` prints `ready`, waits for a
line on its standard input and prints how many it made; `quota_racer.py count PROJECT` prints what is in use.
"""

import sys
import uuid

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from controlplane.kernel.errors import QuotaExceeded  # noqa: E402
from servers.catalog.selectors.quota import quota_usage  # noqa: E402
from servers.catalog.services.quota import quota_count_allowed, quota_lock  # noqa: E402
from servers.models import BuildRequest  # noqa: E402


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


def race(project_id: uuid.UUID) -> int:
    Project.objects.count()  # the connection is open before the race starts
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    made = 0
    while True:
        try:
            make(project_id)
        except QuotaExceeded:
            return made
        made += 1


def main(verb: str, *args: str) -> object:
    if verb == "setup":
        call_command("migrate", verbosity=0)
        return Project.objects.create(name="race", quota_instances=40, quota_cores=30, quota_ram_mib=51200).pk
    project_id = uuid.UUID(args[0])
    return race(project_id) if verb == "race" else quota_usage(project_id=project_id).cores


if __name__ == "__main__":
    sys.stdout.write(f"{main(*sys.argv[1:])}\n")
