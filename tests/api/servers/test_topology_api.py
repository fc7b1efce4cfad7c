"""What hangs on a network or a router, by the API: the list, who sees what of it, its bounds and what it costs."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from servers.models import Instance, Network, Port
from servers.networks.domain.names import PortOwner
from servers.networks.selectors.network_topology import network_topology, router_topology
from servers.networks.selectors.routers import router_get
from servers.networks.services.floating_ips import Target, floating_ip_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.worlds import routing
from tests.worlds.cloud import People, client_of, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd(settings) -> People:
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    routing.carrying_host("h3", "physnet1")
    return people()


def guest(of, within, name: str, **more) -> Port:
    """A port of an instance."""
    made = Instance.objects.create(
        project_id=of.project_id, user_id=of.user_id, name=name, host="h1", flavor={}, flavor_id=uuid.uuid4(),
        vcpus=1, memory_mib=64, vm_state="active",
    )  # fmt: skip
    return routing.guest_port(of, within, instance_uuid=made.pk, owner=PortOwner.INSTANCE, **more)


def edge(of, public, *subnets):
    """A router between the outside and these subnets."""
    router = router_create(caller=of, name="edge", external_network=public.pk)
    for subnet in subnets:
        router_interface_add(caller=of, router_id=router.pk, subnet_id=subnet.pk)
    return router


def nodes(caller, path: str) -> list[dict]:
    answer = client_of(caller).get(path)
    assert answer.status_code == 200, answer.content
    return answer.json()["nodes"]


def test_a_network_hangs_on_its_router_and_outside_and_guests_on_it(crowd):
    public, blue = routing.outside(), routing.inside(crowd.member, "10.1.0.0/24", "blue")
    router, web = edge(crowd.member, public, blue), guest(crowd.member, blue, "web-1")
    free = routing.guest_port(crowd.member, blue, name="spare")
    floating = floating_ip_create(caller=crowd.member, network_id=public.pk, target=Target(web.pk))
    path = f"/api/networks/{blue.network_id}/topology/"
    found = nodes(crowd.member, path)
    said = [(one["kind"], one["parent"], one["id"], one["name"]) for one in found]
    assert said == [
        ("outside", None, str(public.pk), "public"),
        ("router", 0, str(router.pk), "edge"),
        ("network", 1, str(blue.network_id), "blue"),
        ("guest", 2, str(web.pk), "web-1"),
        ("guest", 2, str(free.pk), "spare"),
    ]
    outside, leg, net, one, other = found
    gateway = Port.objects.get(router=router, owner=PortOwner.ROUTER_GATEWAY)
    assert (outside["addresses"], leg["addresses"]) == (gateway.addresses, ["10.1.0.1"])
    assert (net["cidrs"], net["left_out"]) == (["10.1.0.0/24"], 0)
    assert (one["addresses"], one["floating_addresses"]) == (web.addresses, [floating.address])
    assert (one["instance"], other["instance"]) == (str(web.instance_uuid), None)
    assert nodes(crowd.reader, path) == nodes(crowd.admin, path) == found
    below = nodes(crowd.member, f"/api/routers/{router.pk}/topology/")
    assert [(one["kind"], one["parent"], one["name"], one["addresses"]) for one in below] == [
        ("outside", None, "public", gateway.addresses),
        ("router", 0, "edge", []),
        ("network", 1, "blue", ["10.1.0.1"]),
    ]


def test_strangers_learn_nothing_and_nobody_asks_without_a_token(crowd):
    public, blue = routing.outside(), routing.inside(crowd.member)
    router = edge(crowd.member, public, blue)
    for path in (f"/api/networks/{blue.network_id}/topology/", f"/api/routers/{router.pk}/topology/"):
        assert client_of(crowd.stranger).get(path).status_code == 404
        assert APIClient().get(path).status_code == 401
        misspelt = client_of(crowd.member).get(path, {"limit": "3"})
        assert (misspelt.status_code, "limit" in misspelt.json()["error"]["reasons"]) == (400, True), misspelt.content
    for path in ("/api/networks/{}/topology/", "/api/routers/{}/topology/"):
        assert client_of(crowd.member).get(path.format(uuid.uuid4())).status_code == 404
        assert client_of(crowd.member).get(path.format("none")).status_code == 404


def test_what_others_have_in_a_shared_network_is_theirs(crowd):
    public, blue = routing.outside(), routing.inside(crowd.member, is_shared=True)
    edge(crowd.member, public, blue)
    guest(crowd.member, blue, "web-1")
    theirs = guest(crowd.stranger, blue, "secret")
    path = f"/api/networks/{blue.network_id}/topology/"
    assert [one["name"] for one in nodes(crowd.stranger, path)] == ["net", "secret"]
    seen = nodes(crowd.member, path)[-1]
    assert (seen["id"], seen["name"], seen["instance"]) == (str(theirs.pk), theirs.mac, None)
    assert nodes(crowd.admin, path)[-1]["name"] == "secret"


def test_what_is_over_the_bound_is_a_number(crowd):
    public, blue = routing.outside(), routing.inside(crowd.member)
    edge(crowd.member, public, blue)
    for number in range(4):
        guest(crowd.member, blue, f"web-{number}")
    whole = network_topology(caller=crowd.member, network=blue.network, subnets=[blue], limit=3)
    net = whole.children[0].children[0]
    assert ([one.name for one in net.children], net.more) == (["web-0", "web-1", "web-2"], 1)
    wide = edge(crowd.member, public, *(routing.inside(crowd.member, f"10.9.{one}.0/24") for one in range(3)))
    legs = router_topology(router_get(caller=crowd.member, router_id=wide.pk), limit=2).children[0]
    assert (len(legs.children), legs.more) == (2, 1)


def test_it_costs_the_same_whatever_hangs_there(crowd):
    public, blue = routing.outside(), routing.inside(crowd.member)
    router = edge(crowd.member, public, blue)
    client = client_of(crowd.member)
    guest(crowd.member, blue, "web")

    def cost(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        return len(queries)

    paths = (f"/api/networks/{blue.network_id}/topology/", f"/api/routers/{router.pk}/topology/")
    few = [cost(path) for path in paths]
    for number in range(3):
        guest(crowd.member, blue, f"web-{number}")
        leg = routing.guest_port(crowd.member, blue)
        other = router_create(caller=crowd.member, name=f"r{number}")
        router_interface_add(caller=crowd.member, router_id=other.pk, port_id=leg.pk)
        more = routing.inside(crowd.member, f"10.9.{number}.0/24", f"n{number}")
        router_interface_add(caller=crowd.member, router_id=router.pk, subnet_id=more.pk)
    assert [cost(path) for path in paths] == few
    names = [one["name"] for one in nodes(crowd.member, paths[0])]
    assert {"r0", "r1", "r2", "web-2"} < set(names) and Network.objects.count() == 5
