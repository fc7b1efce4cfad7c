"""One race: `group_delete_race.py ROUNDS` on the database of DATABASE_URL, empty at first.

In each round a process makes a port in a security group, or puts one into it, while another deletes the group. Prints
one JSON object: how both ended, and rows that name what is gone.
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

from django.core.management import call_command  # noqa: E402
from django.db import DatabaseError, connections  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from servers.models import Port, PortGroup, SecurityGroup  # noqa: E402
from servers.networks.domain.errors import SecurityGroupInUse, SecurityGroupNotFound  # noqa: E402
from servers.networks.domain.ports import PortRequest  # noqa: E402
from servers.networks.services.groups import security_group_create, security_group_delete  # noqa: E402
from servers.networks.services.port_changes import port_update  # noqa: E402
from servers.networks.services.ports import ports_create  # noqa: E402
from tests.worlds.ports import network, subnet  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def maker(
    groups: list[uuid.UUID], net: uuid.UUID, project: uuid.UUID, port: uuid.UUID, start: Barrier, answer: Connection
) -> None:
    """A port in each group: a new one, or in every other round one that is there."""
    Port.objects.exists()  # the connection is open before the race starts
    made = refused = 0
    others: list[str] = []
    for number, group in enumerate(groups):
        start.wait(TIMEOUT_S)
        try:
            if number % 2:
                port_update(caller=None, port_id=port, changes={"group_ids": (group,)})
            else:
                ports_create(caller=None, requests=[PortRequest(net, project, group_ids=(group,))])
        except SecurityGroupNotFound:
            refused += 1
        except DatabaseError as error:
            others.append(repr(error))
        else:
            made += 1
    answer.send([made, refused, others])


def deleter(groups: list[uuid.UUID], start: Barrier, answer: Connection) -> None:
    """Delete each group at the same moment."""
    Port.objects.exists()
    deleted = refused = 0
    others: list[str] = []
    for group in groups:
        start.wait(TIMEOUT_S)
        try:
            security_group_delete(caller=None, group_id=group)
        except SecurityGroupInUse:
            refused += 1
        except DatabaseError as error:
            others.append(repr(error))
        else:
            deleted += 1
    answer.send([deleted, refused, others])


def main(rounds: int) -> dict[str, Any]:
    """Race, then look."""
    call_command("migrate", verbosity=0)
    project = Project.objects.create(name="tenant", quota_security_groups=-1, quota_security_group_rules=-1)
    net = network(project_id=project.pk)
    subnet(net, "10.0.0.0/16")
    (port,) = ports_create(caller=None, requests=[PortRequest(net.pk, project.pk)])
    made = [security_group_create(caller=None, name=f"g{number}", project_id=project.pk) for number in range(rounds)]
    groups = [each.pk for each in made]
    connections.close_all()
    start = FORK.Barrier(2)
    ends = []
    for target, words in ((maker, (groups, net.pk, project.pk, port.pk)), (deleter, (groups,))):
        here, there = FORK.Pipe()
        FORK.Process(target=target, args=(*words, start, there), daemon=True).start()
        there.close()
        ends.append(here)
    raced = [end.recv() for end in ends]
    left = set(SecurityGroup.objects.values_list("pk", flat=True))
    return {
        "made": raced[0],
        "deleted": raced[1],
        "groups": len(left & set(groups)),
        "lost_members": PortGroup.objects.exclude(group__in=left).count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
