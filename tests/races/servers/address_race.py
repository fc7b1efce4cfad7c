"""One race: `address_race.py PROCESSES ADDRESSES` on the database of DATABASE_URL, without rows of ours at first.

Processes make ports in batches in one network of ADDRESSES free addresses (and in one of IPv6 beside it), some of them
with an address that others want too, and remove some again, all at once; then they take what is left, until nothing is.
Prints one JSON object: how many ports each has, what is in the rows. What is no refusal ends it.
"""

import json
import multiprocessing
import random
import sys
import uuid
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from servers.models import IPAllocation, Network, Port, Subnet  # noqa: E402
from servers.networks.domain.addresses import address_number, address_text  # noqa: E402
from servers.networks.domain.errors import IpAddressInUse, NoMoreAddresses  # noqa: E402
from servers.networks.domain.ports import AddressRequest, PortRequest  # noqa: E402
from servers.networks.services.ports import ports_create, ports_delete  # noqa: E402
from tests.worlds.ports import network, subnet  # noqa: E402

TIMEOUT_S = 400
ROUNDS = 12
FIRST = "10.0.0.10"
FORK: ForkContext = multiprocessing.get_context("fork")


def worker(number: int, network_id: uuid.UUID, count: int, start: Barrier, answer: Connection) -> None:
    """Make and remove in a race, then fill."""
    chance = random.Random(number)
    mine: list[uuid.UUID] = []
    Port.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    for _ in range(ROUNDS):
        asked = [PortRequest(network_id, None) for _ in range(chance.randrange(1, 4))]
        if chance.random() < 0.5:
            wanted = address_text(address_number(FIRST) + chance.randrange(count))
            asked.append(PortRequest(network_id, None, fixed=(AddressRequest(address=wanted),)))
        with suppress(NoMoreAddresses, IpAddressInUse):
            mine += [port.pk for port in ports_create(caller=None, requests=asked)]
        if mine and chance.random() < 0.5:
            ports_delete(port_ids=[mine.pop(chance.randrange(len(mine)))])
    start.wait(TIMEOUT_S)
    try:
        while True:
            mine += [port.pk for port in ports_create(caller=None, requests=[PortRequest(network_id, None)])]
    except NoMoreAddresses:
        answer.send(len(mine))


def setup(count: int) -> Network:
    """An empty network whose pool has so many addresses."""
    made = network()
    subnet(made, "10.0.0.0/24", pool=(FIRST, address_text(address_number(FIRST) + count - 1)))
    subnet(made, "fd00::/64")
    return made


def main(processes: int, count: int) -> dict[str, Any]:
    """Race, then look."""
    net = setup(count)
    connections.close_all()
    start = FORK.Barrier(processes)
    ends = []
    for number in range(processes):
        here, there = FORK.Pipe()
        FORK.Process(target=worker, args=(number, net.pk, count, start, there), daemon=True).start()
        ends.append(here)
    told = [end.recv() for end in ends if end.poll(TIMEOUT_S)]
    rows = list(IPAllocation.objects.values_list("subnet__ip_version", "address"))
    return {
        "made": sum(told),
        "ports": Port.objects.count(),
        "addresses": sorted(address for version, address in rows if version == 4),
        "addresses_of_ipv6": len({address for version, address in rows if version == 6}),
        "ports_without": Port.objects.filter(allocations=None).count(),
        "subnets": Subnet.objects.count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*map(int, sys.argv[1:]))))
