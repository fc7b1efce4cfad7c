"""One race: `router_race.py ROUNDS` on the database of DATABASE_URL, without rows of ours at first.

In each round four processes at once: two put one floating address before two ports, one removes a router without legs,
one gives that router a leg. Prints one JSON object: what each was answered, and what is in the rows. What is no refusal
ends it.
"""

import json
import multiprocessing
import sys
import uuid
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402

from controlplane.identity.models import Project  # noqa: E402
from controlplane.kernel.errors import KilonovaError  # noqa: E402
from servers.models import FloatingIP, IPAllocation, Port, Router  # noqa: E402
from servers.networks.domain.names import PortOwner  # noqa: E402
from servers.networks.domain.ports import PortRequest  # noqa: E402
from servers.networks.services.floating_ips import Target, floating_ip_associate, floating_ip_create  # noqa: E402
from servers.networks.services.ports import ports_create  # noqa: E402
from servers.networks.services.router_legs import router_interface_add  # noqa: E402
from servers.networks.services.routers import router_create, router_delete  # noqa: E402
from tests.worlds.ports import network, subnet  # noqa: E402

TIMEOUT_S = 400
FORK: ForkContext = multiprocessing.get_context("fork")
Call = Callable[[], object]


def worker(calls: list[Call], start: Any, answer: Connection) -> None:
    """One call a round, all at once."""
    said = []
    Port.objects.exists()  # the connection is open before the race starts
    for call in calls:
        start.wait(TIMEOUT_S)
        try:
            call()
        except KilonovaError as error:
            said.append(type(error).__name__)
        else:
            said.append("done")
    answer.send(said)


def rounds(count: int) -> list[list[Call]]:
    """What each of the four does in each round."""
    project = Project.objects.create(name="demo")
    public, net = network("public", is_external=True), network("net", project_id=project.pk)
    subnet(public, "203.0.113.0/24")
    range_of = subnet(net, "10.0.0.0/24")
    connecting = router_create(caller=None, project_id=project.pk, external_network=public.pk)
    router_interface_add(caller=None, router_id=connecting.pk, subnet_id=range_of.pk)
    asked = [PortRequest(net.pk, project.pk, owner=PortOwner.NOBODY, group_ids=()) for _ in range(2)]
    ports = [port.pk for port in ports_create(caller=None, requests=asked)]
    work: list[list[Call]] = [[], [], [], []]
    for number in range(count):
        floating = floating_ip_create(caller=None, project_id=project.pk, network_id=public.pk)
        doomed = router_create(caller=None, project_id=project.pk, name=f"doomed-{number}")
        joins = subnet(network(f"n{number}", project_id=project.pk), "10.1.0.0/24")
        for place, port in enumerate(ports):
            work[place].append(lambda pk=floating.pk, to=port: put(pk, to))  # type: ignore[misc]
        work[2].append(lambda pk=doomed.pk: router_delete(caller=None, router_id=pk))  # type: ignore[misc]
        work[3].append(
            lambda pk=doomed.pk, to=joins.pk: router_interface_add(caller=None, router_id=pk, subnet_id=to)  # type: ignore[misc]
        )
    return work


def put(floating_ip_id: uuid.UUID, port_id: uuid.UUID) -> None:
    """Put it before the port."""
    floating_ip_associate(caller=None, floating_ip_id=floating_ip_id, target=Target(port_id))


def main(count: int) -> dict[str, Any]:
    """Race, then look."""
    work = rounds(count)
    connections.close_all()
    start, ends = FORK.Barrier(len(work)), []
    for calls in work:
        here, there = FORK.Pipe()
        FORK.Process(target=worker, args=(calls, start, there), daemon=True).start()
        ends.append(here)
    said = [end.recv() for end in ends if end.poll(TIMEOUT_S)]
    standing = FloatingIP.objects.filter(port__isnull=False)
    legs = Port.objects.filter(owner=PortOwner.ROUTER_INTERFACE.value, router__name__startswith="doomed")
    return {
        "said": said,
        "pairs": [[str(one.port_id), one.fixed_address] for one in standing],
        "doomed": Router.objects.filter(name__startswith="doomed").count(),
        "legs": legs.count(),
        "legs_of_none": Port.objects.filter(owner=PortOwner.ROUTER_INTERFACE.value, router=None).count(),
        "addresses_of_legs": IPAllocation.objects.filter(subnet__cidr="10.1.0.0/24").count(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
