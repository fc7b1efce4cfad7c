"""Which hosts hear of a change of networks: those that are to have something else than before, and no others."""

import threading

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.work.models import Wakeup
from servers.models import HostNetworkState, Network, Port
from servers.networks.services.changes import NETWORKS_WAKEUP, networks_changed
from servers.networks.services.ports import ports_delete
from tests.fixtures.patience import PATIENCE_S
from tests.worlds import networks as world
from tests.worlds.cloud import is_postgres

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = ("networks", "ports", "groups", "routers", "groups_left")


def told(**changed: object) -> list[str]:
    """The hosts that hear of it."""
    HostNetworkState.objects.all().delete()
    Wakeup.objects.all().delete()
    ids = {kind: [row.pk for row in changed.get(kind, ())] for kind in KINDS}
    with transaction.atomic():
        networks_changed(**ids, hosts=changed.get("hosts", ()))
    raised = sorted(HostNetworkState.objects.values_list("host", flat=True))
    woken = Wakeup.objects.filter(code=NETWORKS_WAKEUP).values_list("queue", flat=True)
    assert sorted(woken) == [f"compute.{host}" for host in raised]
    return raised


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="demo")


@pytest.fixture
def net() -> Network:
    return world.network("blue")


def test_network_concerns_hosts_with_ports_and_routers_in_it(net: Network, project: Project) -> None:
    other = world.network("red")
    world.port(net, "h1")
    world.port(net, "h1")
    world.port(net, "h2")
    world.port(net)
    world.port(other, "h3")
    world.router(project, "h4", net)
    world.router(project, "h5", other)
    assert told(networks=[net]) == ["h1", "h2", "h4"]


def test_network_of_the_hypervisors_own_concerns_nobody() -> None:
    plain = world.network("default", kind=NetworkBackendKind.HYPERVISOR)
    port = world.port(plain, "h1")
    assert told(networks=[plain], ports=[port]) == []


def test_port_concerns_its_host_alone_where_others_know_that_host(net: Network) -> None:
    world.port(net, "h1")
    port = world.port(net, "h1")
    world.port(net, "h2")
    assert told(ports=[port]) == ["h1"]
    assert told(ports=[world.port(net)]) == []


def test_first_port_of_a_host_makes_it_the_peer_of_the_others(net: Network) -> None:
    world.port(net, "h1")
    world.port(net, "h2")
    new = [world.port(net, "h3"), world.port(net, "h3")]
    assert told(ports=new) == ["h1", "h2", "h3"]


def test_port_concerns_the_host_of_its_router_and_of_its_floating_address(net: Network, project: Project) -> None:
    outside = world.network(
        "outside", cidr="198.51.100.0/24", physical_network="public", segment=None, is_external=True
    )
    world.port(net, "h1")
    port = world.port(net, "h1")
    router = world.router(project, "h9", net, external=outside)
    assert told(ports=[port]) == ["h1"]
    world.floating(project, outside, port, router)
    assert told(ports=[port]) == ["h1", "h9"]
    assert told(ports=Port.objects.filter(router=router, network=outside)) == ["h9"]


def test_member_concerns_those_whose_rules_name_its_group(net: Network, project: Project) -> None:
    clients = world.group(project, "clients")
    servers = world.group(project, "servers", remote=clients)
    world.port(net, "h1", groups=[clients])
    member = world.port(net, "h1", groups=[clients])
    world.port(net, "h2", groups=[servers])
    world.port(net, "h3", groups=[clients])
    assert told(ports=[member]) == ["h1", "h2"]
    assert told(groups=[clients]) == ["h1", "h2", "h3"]
    assert told(groups=[servers]) == ["h2"]
    assert told(groups_left=[clients]) == ["h2"]


def test_port_that_goes_concerns_those_whose_rules_name_its_group_and_no_other_member(
    net: Network, project: Project
) -> None:
    clients = world.group(project, "clients")
    servers = world.group(project, "servers", remote=clients)
    world.port(net, "h1", groups=[clients])
    goes = world.port(net, "h1", groups=[clients])
    world.port(net, "h2", groups=[servers])
    world.port(net, "h3", groups=[clients])
    ports_delete(port_ids=[goes.pk])
    assert sorted(HostNetworkState.objects.values_list("host", flat=True)) == ["h1", "h2"]


def test_router_concerns_its_host_and_all_that_are_in_its_networks(net: Network, project: Project) -> None:
    world.port(net, "h1")
    world.port(world.network("red"), "h2")
    router = world.router(project, "h3", net)
    assert told(routers=[router]) == ["h1", "h3"]
    assert told(routers=[router], hosts=["h7", ""]) == ["h1", "h3", "h7"]


def test_port_of_ovn_concerns_its_host_alone(project: Project) -> None:
    net = world.network("big", kind=NetworkBackendKind.OVN)
    group = world.group(project, "all")
    world.rule_add(group, remote=group)
    world.port(net, "h1", groups=[group])
    assert told(ports=[world.port(net, "h2", groups=[group])]) == ["h2"]


def test_each_change_raises_the_revision(net: Network) -> None:
    world.port(net, "h1")
    for expected in (1, 2, 3):
        with transaction.atomic():
            networks_changed(networks=[net.pk])
        assert HostNetworkState.objects.get(host="h1").wanted_revision == expected


def test_change_that_is_rolled_back_tells_nobody(net: Network) -> None:
    world.port(net, "h1")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        networks_changed(networks=[net.pk])
        raise ZeroDivisionError
    assert not HostNetworkState.objects.exists()
    assert not Wakeup.objects.exists()


def test_statements_are_as_many_for_many_as_for_few(net: Network, project: Project) -> None:
    group = world.group(project, "all")
    world.rule_add(group, remote=group)
    ports, counts = [], []
    for number in range(60):
        ports.append(world.port(net, f"h{number % 7}", groups=[group]).pk)
        if number in (3, 59):
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                networks_changed(ports=ports)
            counts.append(len(queries))
    assert counts[0] == counts[1] <= 11


@pytest.mark.skipif(not is_postgres(), reason="SQLite has one writer at a time")
def test_two_hosts_that_come_into_a_network_at_once_hear_of_each_other(net: Network) -> None:
    first, second = world.port(net), world.port(net)
    looked, ended = threading.Event(), threading.Event()

    def bind(port: Port, host: str, *, wait: bool) -> None:
        with transaction.atomic():
            Port.objects.filter(pk=port.pk).update(host=host)
            networks_changed(ports=[port.pk])
            looked.set()
            if wait:
                ended.wait(1)  # the other one has begun by then, and neither sees the other's port
        connection.close()

    one = threading.Thread(target=bind, args=(first, "h1"), kwargs={"wait": True})
    one.start()
    assert looked.wait(PATIENCE_S)
    bind(second, "h2", wait=False)
    one.join()
    raised = dict(HostNetworkState.objects.values_list("host", "wanted_revision"))
    assert raised == {"h1": 2, "h2": 1}
