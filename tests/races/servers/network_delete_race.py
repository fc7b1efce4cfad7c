"""One race: `network_delete_race.py ROUNDS` on the database of DATABASE_URL, without rows of ours at first.

In each round a process makes ports in a network, with and without a subnet, while another deletes the network. Prints
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

from django.db import connections  # noqa: E402

from servers.models import IPAllocation, Network, Port, Subnet  # noqa: E402
from servers.networks.domain.errors import NetworkInUse, NetworkNotFound  # noqa: E402
from servers.networks.domain.ports import PortRequest  # noqa: E402
from servers.networks.services.networks import network_delete  # noqa: E402
from servers.networks.services.ports import ports_create, ports_delete  # noqa: E402
from tests.worlds.ports import network, subnet  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")


def maker(networks: list[uuid.UUID], start: Barrier, answer: Connection) -> None:
    """Make two ports in each network, and remove one of them again."""
    Port.objects.exists()  # the connection is open before the race starts
    made = refused = 0
    for one in networks:
        start.wait(TIMEOUT_S)
        try:
            ports = ports_create(caller=None, requests=[PortRequest(one, None), PortRequest(one, None)])
        except NetworkNotFound:
            refused += 1
        else:
            made += 1
            ports_delete(port_ids=[ports[0].pk])
    answer.send([made, refused])


def deleter(networks: list[uuid.UUID], start: Barrier, answer: Connection) -> None:
    """Delete each network at the same moment."""
    Port.objects.exists()
    deleted = refused = 0
    for one in networks:
        start.wait(TIMEOUT_S)
        try:
            network_delete(caller=None, network_id=one)
        except NetworkInUse:
            refused += 1
        else:
            deleted += 1
    answer.send([deleted, refused])


def main(rounds: int) -> dict[str, Any]:
    """Race, then look."""
    networks = [network(f"n{number}") for number in range(rounds)]
    for one in networks[::2]:
        subnet(one)
    ids = [one.pk for one in networks]
    connections.close_all()
    start = FORK.Barrier(2)
    ends = []
    for target in (maker, deleter):
        here, there = FORK.Pipe()
        FORK.Process(target=target, args=(ids, start, there), daemon=True).start()
        there.close()
        ends.append(here)
    made, deleted = (end.recv() for end in ends)
    left = set(Network.objects.values_list("pk", flat=True))
    return {
        "made": made,
        "deleted": deleted,
        "networks": len(left),
        "ports": Port.objects.count(),
        "lost_ports": Port.objects.exclude(network__in=left).count(),
        "lost_addresses": IPAllocation.objects.exclude(network__in=left).count(),
        "lost_subnets": Subnet.objects.exclude(network__in=left).count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
