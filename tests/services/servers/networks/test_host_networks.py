"""The document that a host gets: all of its networks that is in rows, and nothing of what other hosts have."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.networks import FloatingSpec, HostNetworks, NetworkBackendKind
from computeagent.protocol.wire import encode
from controlplane.identity.models import Project
from servers.models import HostNetworkState, IPAllocation, Network, Port, PortGroup
from servers.networks.domain.names import VnicType
from servers.networks.selectors.host_networks import host_networks
from tests.worlds import cloud
from tests.worlds import networks as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="demo")


@pytest.fixture
def net() -> Network:
    return world.network("blue", mtu=1400)


def test_host_without_anything_gets_an_empty_document() -> None:
    assert host_networks("h1") == HostNetworks(revision=0)


def test_ports_of_the_host_with_addresses_and_their_network(net: Network) -> None:
    HostNetworkState.objects.create(host="h1", wanted_revision=7)
    port = world.port(net, "h1", allowed_pairs=[{"address": "10.20.9.9", "mac": ""}], has_security=False)
    world.port(net, "h2")
    world.port(world.network("red"), "h2")
    world.port(net, "h1", vnic_type=VnicType.DIRECT)
    world.port(world.network("plain", kind=NetworkBackendKind.HYPERVISOR), "h1")

    found = host_networks("h1")
    assert found.revision == 7
    (here,) = found.ports
    assert (here.id, here.mac, [each.address for each in here.addresses]) == (str(port.pk), port.mac, port.addresses)
    assert [pair.address for pair in here.allowed_pairs] == ["10.20.9.9"]
    assert (here.has_security, here.is_enabled) == (False, True)
    (network,) = found.networks
    assert (network.id, network.mtu, network.segment) == (str(net.pk), 1400, net.segment)
    assert [subnet.cidr for subnet in network.subnets] == ["10.20.0.0/16"]
    assert here.addresses[0].subnet_id == network.subnets[0].id


def test_disabled_network_disables_its_ports(net: Network) -> None:
    world.port(net, "h1")
    Network.objects.filter(pk=net.pk).update(is_enabled=False)
    assert [port.is_enabled for port in host_networks("h1").ports] == [False]


def test_peers_are_the_other_hosts_of_each_network(net: Network, project: Project) -> None:
    for number in (1, 2, 3, 4):
        cloud.host(f"h{number}", host_ip=f"192.0.2.{number}")
    other = world.network("red")
    for name in ("h1", "h1", "h2", ""):
        world.port(net, name)
    world.port(other, "h1")
    world.port(other, "h4")
    world.router(project, "h3", net)
    peers = {spec.id: spec.peers for spec in host_networks("h1").networks}
    assert peers == {str(net.pk): ("192.0.2.2", "192.0.2.3"), str(other.pk): ("192.0.2.4",)}


def test_host_that_has_our_own_address_is_no_peer(net: Network) -> None:
    for name in ("h1", "h2"):
        cloud.host(name, host_ip="127.0.0.1")
        world.port(net, name)
    assert host_networks("h1").networks[0].peers == ()


def test_groups_come_with_rules_and_with_the_members_of_remote_ones(net: Network, project: Project) -> None:
    clients, web = world.group(project, "clients", protocol="tcp"), world.group(project, "web")
    world.rule_add(web, remote=clients, protocol="tcp", port_min=80, port_max=80)
    world.port(net, "h1", groups=[web])
    first, second = world.port(net, "h2", groups=[clients]), world.port(net, groups=[clients])

    groups = {group.id: group for group in host_networks("h1").groups}
    assert groups.keys() == {str(web.pk), str(clients.pk)}
    (rule,) = groups[str(web.pk)].rules
    assert (rule.protocol, rule.port_min, rule.remote_group_id) == ("tcp", 80, str(clients.pk))
    assert groups[str(web.pk)].members == {}
    assert groups[str(clients.pk)].rules == ()
    assert groups[str(clients.pk)].members == {str(net.pk): tuple(sorted(first.addresses + second.addresses))}


def test_what_members_of_a_remote_group_may_send_from_besides_comes_with_them(net: Network, project: Project) -> None:
    clients = world.group(project, "clients")
    world.port(net, "h1", groups=[world.group(project, "web", remote=clients)])
    pairs = [{"address": "10.20.9.9", "mac": ""}, {"address": "192.0.2.0/24", "mac": ""}]
    member = world.port(net, "h2", groups=[clients], allowed_pairs=pairs)
    (remote,) = [group for group in host_networks("h1").groups if group.id == str(clients.pk)]
    assert remote.members == {str(net.pk): tuple(sorted([*member.addresses, "10.20.9.9"]))}
    assert remote.ranges == {str(net.pk): ("192.0.2.0/24",)}


def test_router_that_lives_here_comes_with_legs_gateway_and_floating_addresses(net: Network, project: Project) -> None:
    outside = world.network(
        "outside", cidr="198.51.100.0/24", physical_network="public", segment=None, is_external=True
    )
    port = world.port(net, "h2")
    router = world.router(project, "h1", net, external=outside)
    world.router(project, "h2", net)
    floating = world.floating(project, outside, port, router)

    found = host_networks("h1")
    (spec,) = found.routers
    assert (spec.id, [leg.addresses[0].address for leg in spec.legs]) == (str(router.pk), ["10.20.0.1"])
    assert spec.gateway is not None
    assert spec.gateway.network_id == str(outside.pk)
    assert spec.floating == (FloatingSpec(str(floating.pk), floating.address, port.addresses[0], str(port.pk)),)
    assert found.ports == ()
    assert {network.physical_network for network in found.networks} == {"", "public"}


def test_host_of_ovn_is_told_of_its_ports_alone(project: Project) -> None:
    net = world.network("big", kind=NetworkBackendKind.OVN)
    world.port(net, "h1", groups=[world.group(project, "web", protocol="tcp")])
    world.port(net, "h2")
    found = host_networks("h1")
    assert (found.kind, len(found.ports), found.groups, found.networks[0].peers) == (NetworkBackendKind.OVN, 1, (), ())


def fleet(project: Project, *, ports: int, here: int) -> None:
    """Ports of ten networks, in one group that names itself; `here` of them on h0, the others on 50 hosts."""
    group = world.group(project, "all")
    world.rule_add(group, remote=group)
    networks = [world.network(cidr=f"10.{number}.0.0/16") for number in range(10)]
    ranges = [network.subnets.get() for network in networks]
    rows, taken = [], []
    for number in range(ports):
        at, place = number % 10, number // 10 + 10
        address = f"10.{at}.{place // 250}.{place % 250 + 2}"
        host = "h0" if number < here else f"h{number % 50 + 1}"
        mac = f"fa:16:3e:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        port = Port(network=networks[at], host=host, mac=mac, project=project, addresses=[address])
        rows.append(port)
        taken.append(
            IPAllocation(
                network=networks[at], subnet=ranges[at], port=port, address=address, address_key=f"{number:032x}"
            )
        )
    Port.objects.bulk_create(rows, batch_size=500)
    IPAllocation.objects.bulk_create(taken, batch_size=500)
    PortGroup.objects.bulk_create([PortGroup(port=port, group=group) for port in rows], batch_size=500)
    world.router(project, "h0", *networks)


def test_document_takes_as_many_queries_for_many_ports_as_for_few(project: Project) -> None:
    counts = []
    for ports in (20, 600):
        fleet(project, ports=ports, here=ports // 5)
        with CaptureQueriesContext(connection) as queries:
            found = host_networks("h0")
        counts.append(len(queries))
    assert len(found.ports) == 124
    assert counts[0] == counts[1] <= 14
    assert host_networks("h0") == found
    assert len(encode(found)) < 200_000
