"""Floating addresses by the API: taken, put before ports, given back; who may do what, and what is refused."""

import uuid

import pytest

from controlplane.identity.models import Project
from servers.models import FloatingIP, HostNetworkState, IPAllocation, Port, Subnet
from servers.networks.domain.ports import AddressRequest
from servers.networks.services.ports import ports_delete
from tests.worlds import routing
from tests.worlds.cloud import People, client_of, people
from tests.worlds.ports import subnet

pytestmark = pytest.mark.django_db(transaction=True)
FLOATING, ROUTERS = "/api/floating-ips/", "/api/routers/"


@pytest.fixture
def crowd() -> People:
    return people()


@pytest.fixture
def public():
    return routing.outside()


@pytest.fixture
def net(crowd):
    return routing.inside(crowd.member)


@pytest.fixture
def joined(crowd, public, net) -> dict:
    """A router between both."""
    routing.carrying_host("hv1", "physnet1")
    client = client_of(crowd.member)
    made = client.post(ROUTERS, {"external_network": str(public.pk)}, format="json").json()
    return client.post(f"{ROUTERS}{made['id']}/add-interface/", {"subnet": str(net.pk)}, format="json").json()


def take(caller, network, **body):
    return client_of(caller).post(FLOATING, {"network": str(network.pk), **body}, format="json")


def change(caller, made: dict, **body):
    return client_of(caller).patch(f"{FLOATING}{made['id']}/", body, format="json")


def test_address_is_taken_put_before_a_port_moved_freed_and_given_back(crowd, public, net, joined):
    one, two = (routing.guest_port(crowd.member, net, host="hv1") for _ in range(2))
    made = take(crowd.member, public, description="web").json()
    assert (made["address"], made["port"], made["status"]) == ("203.0.113.3", None, "DOWN")
    before = HostNetworkState.objects.get(host="hv1").wanted_revision
    put = change(crowd.member, made, port=str(one.pk)).json()
    assert (put["fixed_address"], put["router"], put["status"]) == (one.addresses[0], joined["id"], "BUILD")
    assert HostNetworkState.objects.get(host="hv1").wanted_revision > before
    assert change(crowd.member, made, port=str(two.pk)).json()["fixed_address"] == two.addresses[0]
    freed = change(crowd.member, made, port=None).json()
    assert (freed["port"], freed["fixed_address"], freed["router"], freed["status"]) == (None, None, None, "DOWN")
    assert client_of(crowd.member).delete(f"{FLOATING}{made['id']}/").status_code == 204
    assert not IPAllocation.objects.filter(address="203.0.113.3").exists()


@pytest.mark.parametrize(
    ("of_services", "outside", "free"),
    [("198.51.100.12", "", ["10", "11"]), (None, "198.51.100.77", ["10", "11", "12"])],
    ids=["an address of the pools is the services'", "an admin chose one outside the pools"],
)
def test_addresses_come_of_the_next_subnet_when_one_is_full(crowd, public, of_services, outside, free):
    Subnet.objects.filter(network=public).delete()
    pool = ("198.51.100.10", "198.51.100.12")
    subnet(public, "198.51.100.0/24", pool=pool, metadata_address=of_services)
    subnet(public, "192.0.2.0/24")
    if outside:
        assert take(crowd.admin, public, address=outside).status_code == 201
    taken = [take(crowd.member, public).json().get("address") for _ in range(len(free) + 1)]
    assert taken == [*(f"198.51.100.{number}" for number in free), "192.0.2.2"]


def test_port_that_goes_frees_it(crowd, public, net, joined):
    port = routing.guest_port(crowd.member, net)
    made = take(crowd.member, public, port=str(port.pk)).json()
    assert made["router"] == joined["id"]
    ports_delete(port_ids=[port.pk])
    row = FloatingIP.objects.get(pk=made["id"])
    assert (row.port_id, row.fixed_address, row.router_id, row.status) == (None, None, None, "DOWN")


def test_router_that_connects_both_must_exist(crowd, public, net):
    port = routing.guest_port(crowd.member, net)
    refused = take(crowd.member, public, port=str(port.pk))
    assert (refused.status_code, refused.json()["error"]["code"]) == (
        404,
        "external_gateway_for_floating_ip_not_found",
    )
    assert not FloatingIP.objects.exists()
    assert not Port.objects.exclude(pk=port.pk).exists()


def test_router_keeps_gateway_and_leg_that_floating_addresses_need(crowd, public, net, joined):
    port = routing.guest_port(crowd.member, net)
    take(crowd.member, public, port=str(port.pk))
    client, at = client_of(crowd.member), f"{ROUTERS}{joined['id']}/"
    leg = client.post(f"{at}remove-interface/", {"subnet": str(net.pk)}, format="json")
    gateway = client.patch(at, {"external_network": None}, format="json")
    assert (leg.status_code, leg.json()["error"]["floating_ips"]) == (409, 1)
    assert (gateway.status_code, gateway.json()["error"]["floating_ips"]) == (409, 1)


def test_gateway_gets_another_address_of_its_network_and_floating_addresses_stay(crowd, public, net, joined):
    port = routing.guest_port(crowd.member, net)
    made = take(crowd.member, public, port=str(port.pk)).json()
    routes = [{"destination": "10.5.0.0/16", "nexthop": "203.0.113.77"}]
    at, admin = f"{ROUTERS}{joined['id']}/", client_of(crowd.admin)
    assert admin.patch(at, {"routes": routes}, format="json").status_code == 200
    moved = admin.patch(at, {"external_network": str(public.pk), "gateway_address": "203.0.113.99"}, format="json")
    assert (moved.status_code, moved.json()["gateway"]["addresses"]) == (200, ["203.0.113.99"]), moved.content
    assert moved.json()["routes"] == routes
    assert client_of(crowd.member).get(f"{FLOATING}{made['id']}/").json()["router"] == joined["id"]
    other = routing.outside("198.51.100.0/24", "other")
    for network in (str(other.pk), None):
        refused = admin.patch(at, {"external_network": network}, format="json")
        assert (refused.status_code, refused.json()["error"]["floating_ips"]) == (409, 1)


def test_static_route_over_the_gateway_keeps_it(crowd, public, joined):
    at, admin = f"{ROUTERS}{joined['id']}/", client_of(crowd.admin)
    routes = [{"destination": "10.5.0.0/16", "nexthop": "203.0.113.77"}]
    assert admin.patch(at, {"routes": routes}, format="json").status_code == 200
    refused = admin.patch(at, {"external_network": None}, format="json")
    assert (refused.status_code, "route to 10.5.0.0/16" in refused.json()["error"]["message"]) == (409, True)
    assert admin.get(at).json()["gateway"]["id"] == joined["gateway"]["id"]


def test_one_address_has_one_floating_address(crowd, public, net, joined):
    port = routing.guest_port(crowd.member, net)
    first = take(crowd.member, public, port=str(port.pk)).json()
    second = take(crowd.member, public, port=str(port.pk))
    assert (second.status_code, second.json()["error"]["floating_ip"]) == (409, first["id"])
    assert change(crowd.member, first, port=str(port.pk)).status_code == 200


def test_port_with_several_addresses_or_none_asks_for_one(crowd, public, net, joined):
    client = client_of(crowd.member)
    more = subnet(net.network, "10.0.1.0/24")
    client.post(f"{ROUTERS}{joined['id']}/add-interface/", {"subnet": str(more.pk)}, format="json")
    both = routing.guest_port(crowd.member, net, fixed=(AddressRequest(net.pk), AddressRequest(more.pk)))
    none = routing.guest_port(crowd.member, net, fixed=())
    made = take(crowd.member, public).json()
    for port in (both, none):
        refused = change(crowd.member, made, port=str(port.pk))
        assert (refused.status_code, "fixed_address" in refused.json()["error"]["reasons"]) == (400, True)
    assert change(crowd.member, made, port=str(both.pk), fixed_address="10.0.0.77").status_code == 400
    assert change(crowd.member, made, port=str(both.pk), fixed_address="nonsense").status_code == 400
    put = change(crowd.member, made, port=str(both.pk), fixed_address=both.addresses[1]).json()
    assert put["fixed_address"] == both.addresses[1]


def test_addresses_of_ipv6_are_refused_with_the_reason(crowd, public, net, joined):
    """Neutron has none either: an address of IPv6 is reached as it is."""
    subnet(public, "2001:db8::/64")
    subnet(net.network, "fd00:77::/64")
    both = routing.guest_port(crowd.member, net)
    alone = routing.guest_port(crowd.member, routing.inside(crowd.member, "fd00:78::/64", "six"))
    made = take(crowd.member, public).json()
    assert "." in made["address"]
    for answer, field in (
        (take(crowd.admin, public, address="2001:db8::77"), "address"),
        (change(crowd.member, made, port=str(both.pk), fixed_address=both.addresses[1]), "fixed_address"),
        (change(crowd.member, made, port=str(alone.pk)), "fixed_address"),
    ):
        assert answer.status_code == 400, answer.json()
        (reason,) = answer.json()["error"]["reasons"][field]
        assert "IPv4 alone, as in Neutron: one of IPv6 is reached as it is" in reason
    assert change(crowd.member, made, port=str(both.pk)).json()["fixed_address"] == both.addresses[0]


def test_roles_and_what_only_admins_choose(crowd, public, net, joined):
    made = take(crowd.member, public).json()
    at = f"{FLOATING}{made['id']}/"
    for caller, read, write in ((crowd.reader, 200, 403), (crowd.stranger, 404, 404)):
        client = client_of(caller)
        assert client.get(at).status_code == read
        assert change(caller, made, description="x").status_code == write
        assert client.delete(at).status_code == write
    assert take(crowd.reader, public).status_code == 403
    assert client_of(crowd.stranger).get(FLOATING).json()["count"] == 0
    chosen = take(crowd.member, public, address="203.0.113.77")
    assert (chosen.status_code, "address" in chosen.json()["error"]["reasons"]) == (400, True)
    assert take(crowd.admin, public, address="203.0.113.77").json()["address"] == "203.0.113.77"
    assert take(crowd.admin, public, address="203.0.113.77").json()["error"]["code"] == "ip_address_in_use"
    assert take(crowd.member, net.network).status_code == 400
    foreign = routing.guest_port(crowd.member, net)
    theirs = take(crowd.stranger, public).json()
    assert change(crowd.stranger, theirs, port=str(foreign.pk)).status_code == 404
    assert change(crowd.stranger, theirs, port=str(uuid.uuid4())).status_code == 404


def test_quota_and_an_empty_pool_are_refused_with_numbers(crowd):
    small = routing.outside("198.51.100.0/29", "small")
    Project.objects.filter(pk=crowd.member.project_id).update(quota_floating_ips=1)
    take(crowd.member, small)
    refused = take(crowd.member, small).json()["error"]
    assert (refused["code"], refused["used"], refused["limit"]) == ("quota_exceeded", 1, 1)
    for _ in range(4):
        assert take(crowd.stranger, small).status_code == 201
    assert take(crowd.stranger, small).json()["error"]["code"] == "no_more_addresses"


def test_lists_narrow(crowd, public, net, joined):
    port = routing.guest_port(crowd.member, net)
    take(crowd.member, public, port=str(port.pk))
    take(crowd.member, public)
    client = client_of(crowd.member)
    for words, count in (({}, 2), ({"is_free": "true"}, 1), ({"port": str(port.pk)}, 1), ({"router": joined["id"]}, 1)):
        assert client.get(FLOATING, words).json()["count"] == count
