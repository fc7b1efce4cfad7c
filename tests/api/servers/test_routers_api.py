"""Routers by the API: legs, gateways, routes; who may do what; which host has them, and when they move."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduling.models import Service
from servers.models import HostNetworkState, IPAllocation, Port, Router
from servers.networks.services.router_hosts import routers_round
from tests.worlds import routing
from tests.worlds.cloud import People, client_of, people
from tests.worlds.ports import subnet

pytestmark = pytest.mark.django_db(transaction=True)
ROUTERS = "/api/routers/"


@pytest.fixture
def crowd() -> People:
    return people()


def make(caller, **body) -> dict:
    answer = client_of(caller).post(ROUTERS, {"name": "r1", **body}, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def ask(caller, router: dict, action: str, **body):
    return client_of(caller).post(f"{ROUTERS}{router['id']}/{action}/", body, format="json")


def change(caller, router: dict, **body):
    return client_of(caller).patch(f"{ROUTERS}{router['id']}/", body, format="json")


def test_leg_has_the_gateways_address_and_is_given_back(crowd):
    made, net = make(crowd.member), routing.inside(crowd.member)
    answer = ask(crowd.member, made, "add-interface", subnet=str(net.pk))
    leg = answer.json()["interfaces"][0]
    assert (leg["addresses"], leg["subnets"]) == (["10.0.0.1"], [str(net.pk)])
    again = ask(crowd.member, made, "add-interface", subnet=str(net.pk))
    assert (again.status_code, again.json()["error"]["code"]) == (409, "subnets_overlap")
    refused = client_of(crowd.member).delete(f"{ROUTERS}{made['id']}/")
    assert (refused.status_code, refused.json()["error"]["legs"]) == (409, 1)
    assert ask(crowd.member, made, "remove-interface", subnet=str(net.pk)).json()["interfaces"] == []
    assert not IPAllocation.objects.exists()
    assert client_of(crowd.member).delete(f"{ROUTERS}{made['id']}/").status_code == 204
    assert not Router.objects.exists()


@pytest.mark.parametrize("address", ["198.51.100.9", "x" * 10_000])
def test_address_of_a_gateway_without_an_external_network_is_refused_whoever_asks(crowd, address):
    for caller in (crowd.member, crowd.admin):
        answer = client_of(caller).post(ROUTERS, {"name": "r1", "gateway_address": address}, format="json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, "gateway_address")
    assert not Router.objects.exists()


def test_two_routers_cannot_both_be_a_subnets_gateway_but_one_may_join_by_a_port(crowd):
    first, second, net = make(crowd.member), make(crowd.member), routing.inside(crowd.member)
    ask(crowd.member, first, "add-interface", subnet=str(net.pk))
    refused = ask(crowd.member, second, "add-interface", subnet=str(net.pk))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ip_address_in_use")
    port = routing.guest_port(crowd.member, net)
    joined = ask(crowd.member, second, "add-interface", port=str(port.pk)).json()
    assert joined["interfaces"][0]["addresses"] == port.addresses
    port.refresh_from_db()
    assert (str(port.router_id), port.has_security, port.groups.count()) == (second["id"], False, 0)
    again = ask(crowd.member, first, "add-interface", port=str(port.pk))
    assert (again.status_code, again.json()["error"]["code"]) == (409, "port_in_use")


def test_overlapping_subnets_networks_of_two_kinds_and_foreign_ones_are_refused(crowd):
    made = make(crowd.member)
    ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member).pk))
    wider = routing.inside(crowd.member, "10.0.0.0/16", "wide")
    assert ask(crowd.member, made, "add-interface", subnet=str(wider.pk)).json()["error"]["code"] == "subnets_overlap"
    ovn = routing.inside(crowd.member, "10.9.0.0/24", "ovn", kind="ovn")
    assert "of kind bridge and ovn" in ask(crowd.member, made, "add-interface", subnet=str(ovn.pk)).content.decode()
    shared = routing.inside(crowd.stranger, "10.8.0.0/24", "shared", is_shared=True)
    assert ask(crowd.member, made, "add-interface", subnet=str(shared.pk)).status_code == 409
    foreign = routing.inside(crowd.stranger, "10.7.0.0/24", "foreign")
    assert ask(crowd.member, made, "add-interface", subnet=str(foreign.pk)).status_code == 404
    none = subnet(wider.network, "10.6.0.0/24", gateway=None)
    assert ask(crowd.member, made, "add-interface", subnet=str(none.pk)).status_code == 400
    assert ask(crowd.member, made, "add-interface").status_code == 400
    assert ask(crowd.member, made, "remove-interface", subnet=str(wider.pk)).status_code == 404
    assert Port.objects.count() == 1


def test_gateway_is_of_an_external_network_and_goes_when_it_is_cleared(crowd):
    public, net = routing.outside(), routing.inside(crowd.member)
    made = make(crowd.member, external_network=str(public.pk))
    assert made["gateway"]["addresses"] == ["203.0.113.2"]
    assert Port.objects.get(pk=made["gateway"]["id"]).project_id is None
    same = change(crowd.admin, made, external_network=str(public.pk), has_snat=False).json()
    assert (same["gateway"]["id"], same["has_snat"]) == (made["gateway"]["id"], False)
    assert change(crowd.member, made, external_network=str(net.network_id)).status_code == 400
    chosen = change(crowd.member, made, external_network=str(public.pk), gateway_address="203.0.113.9")
    assert (chosen.status_code, "gateway_address" in chosen.json()["error"]["reasons"]) == (400, True)
    chosen = change(crowd.admin, made, external_network=str(public.pk), gateway_address="203.0.113.9").json()
    assert chosen["gateway"]["addresses"] == ["203.0.113.9"]
    cleared = change(crowd.member, made, external_network=None).json()
    assert (cleared["gateway"], cleared["external_network"], Port.objects.count()) == (None, None, 0)


@pytest.mark.parametrize(("problem", "status", "other"), [("", "ACTIVE", "DOWN"), ("no host", "DOWN", "ACTIVE")])
def test_ports_of_a_router_are_as_the_router_is(crowd, problem, status, other):
    made = make(crowd.member, external_network=str(routing.outside().pk))
    ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member).pk))
    Router.objects.update(problem=problem)
    client = client_of(crowd.member)
    rows = client.get(f"/api/ports/?router={made['id']}&status={status}").json()["results"]
    assert [row["status"] for row in rows] == [status]
    assert client.get(f"/api/ports/{rows[0]['id']}/").json()["status"] == status
    assert client.get(f"/api/ports/?router={made['id']}&status={other}").json()["results"] == []


def test_snat_is_switched_off_by_administrators_alone(crowd):
    """Without it guests are seen outside under whatever addresses their project gave its subnets."""
    made = make(crowd.member)
    refused = change(crowd.member, made, has_snat=False)
    assert (refused.status_code, list(refused.json()["error"]["reasons"])) == (403, ["has_snat"])
    new = client_of(crowd.member).post(ROUTERS, {"name": "open", "has_snat": False}, format="json")
    assert (new.status_code, Router.objects.count()) == (403, 1)
    assert change(crowd.admin, made, has_snat=False).json()["has_snat"] is False
    assert change(crowd.member, made, has_snat=False, name="still").json()["name"] == "still"
    assert change(crowd.member, made, has_snat=True).json()["has_snat"] is True


def test_static_routes_go_over_neighbours_and_hold_their_leg(crowd):
    made, net = make(crowd.member), routing.inside(crowd.member)
    ask(crowd.member, made, "add-interface", subnet=str(net.pk))
    bad = [
        ([{"destination": "10.5.0.0/16", "nexthop": "10.1.0.1"}], "is in no subnet"),
        ([{"destination": "10.5.0.0/16", "nexthop": "10.0.0.1"}], "is the router itself"),
        ([{"destination": "fd00::/64", "nexthop": "10.0.0.9"}], "not of one IP version"),
        ([{"destination": "10.5.0.0/99", "nexthop": "10.0.0.9"}], "is no route"),
        ([{"destination": "10.5.0.0/16", "nexthop": "10.0.0.9", "metric": 1}], "There is no such field"),
    ]
    for routes, reason in bad:
        answer = change(crowd.member, made, routes=routes)
        assert (answer.status_code, reason in answer.content.decode()) == (400, True), answer.content
    routed = change(crowd.member, made, routes=[{"destination": "10.5.1.2/16", "nexthop": "10.0.0.9"}]).json()
    assert routed["routes"] == [{"destination": "10.5.0.0/16", "nexthop": "10.0.0.9"}]
    held = ask(crowd.member, made, "remove-interface", subnet=str(net.pk))
    assert (held.status_code, held.json()["error"]["code"]) == (409, "router_interface_in_use")


def test_roles(crowd):
    made, net = make(crowd.member), routing.inside(crowd.member)
    at = f"{ROUTERS}{made['id']}/"
    for caller, read, write in ((crowd.reader, 200, 403), (crowd.stranger, 404, 404)):
        client = client_of(caller)
        assert client.get(at).status_code == read
        assert change(caller, made, name="x").status_code == write
        assert client.delete(at).status_code == write
        for action in ("add-interface", "remove-interface"):
            assert ask(caller, made, action, subnet=str(net.pk)).status_code == write
        assert ask(caller, made, "move").status_code == 403
    assert client_of(crowd.stranger).get(ROUTERS).json()["count"] == 0
    assert client_of(crowd.reader).post(ROUTERS, {}, format="json").status_code == 403
    assert ask(crowd.member, made, "move").status_code == 403
    assert client_of(crowd.admin).get(at).json()["host"] == ""
    assert client_of(crowd.member).get(at).json()["host"] is None
    assert client_of(crowd.member).get(f"{ROUTERS}{uuid4()}/").status_code == 404


def test_router_without_a_possible_host_says_why_and_gets_one_later(crowd):
    routing.carrying_host("hv1")
    made = make(crowd.member, external_network=str(routing.outside().pk))
    assert made["has_problem"]
    row = Router.objects.get()
    assert (row.host, "none has a bridge to physnet1" in row.problem) == ("", True)
    assert routers_round() == 0
    routing.carrying_host("hv2", "physnet1")
    assert routers_round() == 1
    row.refresh_from_db()
    assert (row.host, row.problem) == ("hv2", "")


def test_routers_spread_and_move_when_their_host_is_silent_disabled_or_gone(crowd):
    for name in ("hv1", "hv2"):
        routing.carrying_host(name)
    routers = []
    for number in range(4):
        made = make(crowd.member)
        ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member, name=f"n{number}").pk))
        routers.append(made["id"])
    hosts = list(Router.objects.values_list("host", flat=True))
    assert sorted(hosts) == ["hv1", "hv1", "hv2", "hv2"]
    before = HostNetworkState.objects.get(host="hv1").wanted_revision

    Service.objects.filter(host="hv1").update(last_seen_up=timezone.now() - timedelta(seconds=30))
    assert routers_round() == 0  # an agent may be restarted
    Service.objects.filter(host="hv1").update(last_seen_up=timezone.now() - timedelta(seconds=900))
    assert routers_round() == 2
    assert set(Router.objects.values_list("host", flat=True)) == {"hv2"}
    moved = Router.objects.exclude(host_reason__startswith="It has").first()
    assert moved is not None
    assert moved.host_reason.startswith("It left hv1, since it has been down for 9")
    assert HostNetworkState.objects.get(host="hv1").wanted_revision > before

    Service.objects.filter(host="hv1").update(last_seen_up=timezone.now())
    Service.objects.filter(host="hv2").update(disabled=True)
    assert routers_round() == 4
    assert set(Router.objects.values_list("host", flat=True)) == {"hv1"}
    Service.objects.filter(host="hv1").update(forced_down=True)
    assert routers_round() == 4
    problems = set(Router.objects.values_list("host", "problem"))
    assert problems == {
        ("", "It left hv1, since an administrator declared it dead. No host can have it: of 1, none is up and enabled.")
    }


def test_admin_moves_a_router_with_a_reason(crowd):
    for name in ("hv1", "hv2"):
        routing.carrying_host(name)
    made = make(crowd.member)
    ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member).pk))
    assert Router.objects.get().host == "hv1"
    moved = ask(crowd.admin, made, "move").json()
    assert (moved["host"], moved["host_reason"]) == ("hv2", "An administrator moved it away from hv1.")
    assert ask(crowd.admin, made, "move", host="hv2").status_code == 409
    assert ask(crowd.admin, made, "move", host="nowhere").status_code == 409
    assert ask(crowd.admin, made, "move", host="hv1").json()["host"] == "hv1"


def test_lists_cost_the_same_for_many(crowd):
    client = client_of(crowd.member)
    ask(crowd.member, make(crowd.member), "add-interface", subnet=str(routing.inside(crowd.member).pk))
    with CaptureQueriesContext(connection) as few:
        client.get(ROUTERS)
    for number in range(4):
        made = make(crowd.member, name=f"more-{number}")
        ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member, name=f"n{number}").pk))
    with CaptureQueriesContext(connection) as many:
        assert client.get(ROUTERS, {"search": "more"}).json()["count"] == 4
    assert len(many) == len(few)


def test_operators_alone_look_for_routers_by_their_host(crowd):
    routing.carrying_host("hv1")
    made, _unplaced = make(crowd.member), make(crowd.member, name="r2")
    ask(crowd.member, made, "add-interface", subnet=str(routing.inside(crowd.member).pk))

    found = client_of(crowd.admin).get(ROUTERS, {"host": "hv1"}).json()["results"]
    refused = client_of(crowd.member).get(ROUTERS, {"host": "hv1"})

    assert [one["id"] for one in found] == [made["id"]]
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "host")
