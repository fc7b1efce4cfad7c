"""Who can reach a port, by the API: from rows to reasons, who may ask, and what it costs."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from servers.models import Instance, Port, Router
from servers.networks.domain.rules import RuleRequest
from servers.networks.services.groups import default_group_ensure, security_group_create
from servers.networks.services.rules import security_group_rule_create
from tests.worlds import routing
from tests.worlds.cloud import People, active, client_of
from tests.worlds.networks import cloud_with_networks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd() -> People:
    return cloud_with_networks("hv1")


@pytest.fixture
def net(crowd):
    return routing.inside(crowd.member)


def port_of(crowd, net, name: str = "web-1", **more) -> Port:
    """A port of a running instance."""
    return routing.guest_port(crowd.member, net, instance_uuid=active(crowd.member, name).pk, **more)


def ask(caller, to, **words):
    return client_of(caller).get(f"/api/ports/{to.pk}/reachability/", {"protocol": "tcp", "port": 22, **words})


def closed(answer) -> list[str]:
    return [step["message"] for step in answer.json()["steps"] if not step["is_open"]]


def test_members_of_the_default_group_reach_each_other_and_nobody_outside_does(crowd, net):
    web, db = port_of(crowd, net), port_of(crowd, net, "db-1")
    inside = ask(crowd.reader, web, **{"from": str(db.pk)})
    assert inside.json()["is_reachable"], inside.json()
    assert ask(crowd.reader, web, **{"from": str(db.instance_uuid)}).json()["is_reachable"]
    outside = ask(crowd.member, web)
    assert len(closed(outside)) == 2
    assert "has no floating address" in outside.json()["summary"]
    remedies = [step["remedy"] for step in outside.json()["steps"] if not step["is_open"]]
    assert remedies == [
        "Give the port a floating address.",
        "Add to the group default: Lets in TCP port 22 from anywhere (IPv4).",
    ]


def test_floating_address_and_rule_open_it(crowd, net):
    routing.carrying_host("hv2", "physnet1")
    public, client, web = routing.outside(), client_of(crowd.member), port_of(crowd, net)
    group = default_group_ensure(project_id=crowd.member.project_id)
    security_group_rule_create(caller=crowd.member, group_id=group.pk, rule=RuleRequest("ingress", 4, "tcp", 22, 22))
    router = client.post("/api/routers/", {"name": "r", "external_network": str(public.pk)}, format="json").json()
    client.post(f"/api/routers/{router['id']}/add-interface/", {"subnet": str(net.pk)}, format="json")
    made = client.post("/api/floating-ips/", {"network": str(public.pk), "port": str(web.pk)}, format="json").json()
    found = ask(crowd.member, web).json()
    assert (found["is_reachable"], found["address"]) == (True, made["address"]), found
    assert ask(crowd.member, web, **{"from": "192.0.2.7"}).json()["is_reachable"]
    assert not ask(crowd.member, web, port=23).json()["is_reachable"]
    Router.objects.update(problem="hv2 has no nft")
    assert closed(ask(crowd.member, web)) == ["Router r has a problem, which administrators see."]
    assert closed(ask(crowd.admin, web)) == ["Router r has a problem: hv2 has no nft"]


def test_guest_that_is_off_a_disabled_port_and_no_guest_are_named(crowd, net):
    web = port_of(crowd, net)
    Port.objects.filter(pk=web.pk).update(is_enabled=False)
    Instance.objects.update(power_state="shutdown")
    said = " ".join(closed(ask(crowd.member, web, **{"from": "10.0.0.9"})))
    assert "web-1 is disabled" in said and "web-1 does not run: its status is ACTIVE, its power shutdown." in said
    Instance.objects.update(power_state="nostate", vm_state="building")
    assert "web-1 does not run: its status is BUILD, its power none." in closed(ask(crowd.member, web))
    free = routing.guest_port(crowd.member, net)
    assert "belongs to no instance" in " ".join(closed(ask(crowd.member, free)))


def test_strangers_learn_nothing_and_bad_questions_name_their_field(crowd, net):
    web = port_of(crowd, net)
    theirs = routing.guest_port(crowd.stranger, routing.inside(crowd.stranger, name="x"))
    assert ask(crowd.stranger, web).status_code == 404
    assert ask(crowd.member, theirs).status_code == 404
    for words, field in (
        ({"from": str(theirs.pk)}, "from"),
        ({"from": str(uuid.uuid4())}, "from"),
        ({"from": "nowhere"}, "from"),
        ({"from": "fe80::1%eth0"}, "from"),
        ({"protocol": "tpc"}, "protocol"),
        ({"port": 70000}, "port"),
        ({"protocol": "gre"}, "port"),
        ({"colour": "red"}, "colour"),
    ):
        answer = ask(crowd.member, web, **words)
        assert (answer.status_code, field in answer.json()["error"]["reasons"]) == (400, True), answer.content
    assert ask(crowd.admin, web, **{"from": str(theirs.pk)}).status_code == 200


def test_it_costs_the_same_whatever_hangs_on_the_network(crowd, net):
    web, db = port_of(crowd, net), port_of(crowd, net, "db-1")
    client = client_of(crowd.member)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/api/ports/{web.pk}/reachability/", {"from": str(db.pk), "port": 22})
        return len(queries)

    def more_of_all(number: int) -> None:
        group = security_group_create(caller=crowd.member, name=f"g{number}")
        more = routing.guest_port(crowd.member, net, group_ids=(group.pk,))
        rule = RuleRequest("ingress", remote_group_id=group.pk)
        security_group_rule_create(
            caller=crowd.member, group_id=default_group_ensure(project_id=crowd.member.project_id).pk, rule=rule
        )
        router = client.post("/api/routers/", {"name": f"r{number}"}, format="json").json()
        client.post(f"/api/routers/{router['id']}/add-interface/", {"port": str(more.pk)}, format="json")

    more_of_all(0)
    few = cost()
    for number in range(1, 4):
        more_of_all(number)
    assert cost() == few
