"""Two that change the same ports wait for each other, one after the other: nobody is refused for a deadlock."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, transaction

from computeagent.protocol.networks import NetworksApplied
from controlplane.identity.models import Project
from servers.agent_api import conductor_connect
from servers.models import FloatingIP, HostNetworkState, Network, Port
from servers.networks.services.bindings import instance_ports_unbind
from servers.networks.services.changes import networks_changed
from servers.networks.services.floating_ips import Target, floating_ip_associate, floating_ip_disassociate
from servers.networks.services.networks import network_update
from servers.networks.services.port_locks import ports_with_networks_lock
from tests.fixtures.patience import PATIENCE_S
from tests.worlds import networks as world
from tests.worlds.cloud import is_postgres

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not is_postgres(), reason="SQLite has one writer at a time"),
]
INSTANCE = "5a1ad1ea-0000-4000-8000-000000000001"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def net() -> Network:
    HostNetworkState.objects.create(host="h1", wanted_revision=5)
    return world.network("blue")


@pytest.fixture
def port(net: Network) -> Port:
    return world.port(net, "h1", instance_uuid=INSTANCE)


@pytest.fixture
def floating(net: Network, port: Port) -> FloatingIP:
    project = Project.objects.create(name="demo")
    outside = world.network("outside", cidr="198.51.100.0/24", segment=None)
    return world.floating(project, outside, port, world.router(project, "h1", net, external=outside))


def both(port: Port, other: Callable[[], object]) -> None:
    """The port is being removed, and before what hosts are to have is raised the other one begins."""
    failed: list[DatabaseError] = []

    def run() -> None:
        try:
            other()
        except DatabaseError as error:
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    with transaction.atomic():
        ports_with_networks_lock(Port.objects.filter(pk=port.pk), for_deletion=True)
        thread.start()
        deadline = time.monotonic() + 20
        with connection.cursor() as cursor:
            while thread.is_alive() and time.monotonic() < deadline:
                cursor.execute(WAITING)
                if cursor.fetchone() != (0,):
                    break
                time.sleep(0.01)
        networks_changed(ports=[port.pk])
        FloatingIP.objects.filter(port=port.pk).update(description="of a port that goes")
    thread.join(PATIENCE_S)
    assert not failed


def test_a_host_that_reports_waits_for_who_changes_its_port(port: Port) -> None:
    applied = NetworksApplied(5, (str(port.pk),), ())
    both(port, lambda: conductor_connect().networks_applied(host="h1", applied=applied))
    port.refresh_from_db()
    assert port.status == "ACTIVE"


def test_who_unbinds_waits(port: Port) -> None:
    def unbind() -> None:
        with transaction.atomic():
            instance_ports_unbind(instance_uuid=port.instance_uuid)

    both(port, unbind)
    port.refresh_from_db()
    assert port.host == ""


def test_who_renames_the_network_waits(port: Port, net: Network) -> None:
    both(port, lambda: network_update(caller=None, network_id=net.pk, changes={"name": "red"}))
    port.refresh_from_db()
    assert port.network_name == "red"


def test_who_moves_a_floating_address_waits(port: Port, net: Network, floating: FloatingIP) -> None:
    other = world.port(net, "h1", project=floating.project)

    def move() -> None:
        floating_ip_associate(caller=None, floating_ip_id=floating.pk, target=Target(other.pk))

    both(port, move)
    floating.refresh_from_db()
    assert (floating.port_id, floating.description) == (other.pk, "of a port that goes")


def test_who_takes_a_floating_address_away_waits(port: Port, floating: FloatingIP) -> None:
    both(port, lambda: floating_ip_disassociate(caller=None, floating_ip_id=floating.pk))
    floating.refresh_from_db()
    assert floating.port_id is None
