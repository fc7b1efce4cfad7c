"""Security groups, rules, routers and floating addresses in the Django admin: through the services, refusals shown."""

import json

import pytest
from django.test import Client

from controlplane.identity.models import User
from servers.models import FloatingIP, Port, Router, SecurityGroup, SecurityGroupRule
from servers.networks.domain.names import PortOwner
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.worlds import routing
from tests.worlds.admin_actions import ask_and_confirm
from tests.worlds.cloud import People, people

pytestmark = pytest.mark.django_db(transaction=True)
AT = "/admin/servers/"
NO_FORMS = {"ports-TOTAL_FORMS": 0, "ports-INITIAL_FORMS": 0}


@pytest.fixture
def crowd() -> People:
    return people()


@pytest.fixture
def client(crowd) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="super", password="x"))
    return client


def test_group_and_rule_are_added_and_a_rule_is_refused_at_its_field(client, crowd):
    client.post(f"{AT}securitygroup/add/", {"project": crowd.member.project_id, "name": "web", "description": ""})
    group = SecurityGroup.objects.get(name="web")
    assert group.rules.count() == 2
    rule = {"group": group.pk, "direction": "ingress", "ip_version": 4, "protocol": "tcp", "port_min": 22}
    refused = client.post(f"{AT}securitygrouprule/add/", rule)
    assert "The first and the last port go together." in refused.content.decode()
    client.post(f"{AT}securitygrouprule/add/", {**rule, "port_max": 22})
    added = SecurityGroupRule.objects.get(protocol="tcp")
    assert "Lets in TCP port 22 from anywhere (IPv4)." in client.get(f"{AT}securitygrouprule/").content.decode()
    page = client.get(f"{AT}securitygroup/{group.pk}/change/").content.decode()
    assert "Lets in TCP port 22 from anywhere (IPv4)." in page
    client.post(f"{AT}securitygrouprule/{added.pk}/delete/", {"post": "yes"})
    client.post(f"{AT}securitygroup/{group.pk}/delete/", {"post": "yes"})
    assert not SecurityGroup.objects.filter(pk=group.pk).exists()


def test_router_is_made_changed_moved_and_kept_while_it_has_legs(client, crowd):
    for name in ("hv1", "hv2"):
        routing.carrying_host(name, "physnet1")
    public, net = routing.outside(), routing.inside(crowd.member)
    form = {"project": crowd.member.project_id, "name": "r1", "is_enabled": "on", "has_snat": "on"}
    client.post(f"{AT}router/add/", {**form, "external_network": public.pk})
    router = Router.objects.get()
    assert (router.host, router.external_network_id) == ("hv1", public.pk)
    router_interface_add(caller=None, router_id=router.pk, subnet_id=net.pk)
    client.post(f"{AT}router/{router.pk}/change/", {**form, **NO_FORMS, "has_snat": "", "external_network": public.pk})
    ask_and_confirm(client, f"{AT}router/", "move_elsewhere", [str(router.pk)])
    router.refresh_from_db()
    assert (router.has_snat, router.host) == (False, "hv2")
    page = client.post(f"{AT}router/{router.pk}/delete/", {"post": "yes"}, follow=True).content.decode()
    assert "it has a leg in 1 network" in page
    assert client.get(f"{AT}router/{router.pk}/change/").status_code == 200


def test_floating_address_is_taken_and_given_back(client, crowd):
    public = routing.outside()
    form = {"project": crowd.member.project_id, "network": public.pk, "address": "203.0.113.50", "description": ""}
    client.post(f"{AT}floatingip/add/", form)
    made = FloatingIP.objects.get()
    assert made.address == "203.0.113.50"
    assert "is in use" in client.post(f"{AT}floatingip/add/", form).content.decode()
    ask_and_confirm(client, f"{AT}floatingip/", "free", [str(made.pk)])
    ask_and_confirm(client, f"{AT}floatingip/", "delete_selected", [str(made.pk)])
    assert not FloatingIP.objects.exists()


def router_page(client: Client, **form: object) -> str:
    """The only router's form is sent; empty where it was taken, else the page with what is wrong."""
    router = Router.objects.get()
    external = {"external_network": router.external_network_id} if router.external_network_id else {}
    said = {"name": router.name, "is_enabled": "on", "has_snat": "on", "routes": json.dumps(router.routes), **external}
    answer = client.post(f"{AT}router/{router.pk}/change/", {**said, **NO_FORMS, **form})
    return "" if answer.status_code == 302 else answer.content.decode()


def legs() -> list[list[str]]:
    return [port.addresses for port in Port.objects.filter(owner=PortOwner.ROUTER_INTERFACE).order_by("created_at")]


def test_router_gets_and_loses_legs_routes_and_the_address_of_its_gateway(client, crowd):
    routing.carrying_host("hv1", "physnet1")
    public, first = routing.outside(), routing.inside(crowd.member)
    second = routing.inside(crowd.member, "10.1.0.0/24", "other")
    by_port = routing.guest_port(crowd.member, second)
    foreign = routing.inside(crowd.stranger, "10.2.0.0/24", "foreign")
    form = {"project": crowd.member.project_id, "name": "r1", "is_enabled": "on", "has_snat": "on"}
    client.post(f"{AT}router/add/", {**form, "external_network": public.pk, "gateway_address": "203.0.113.77"})
    router = Router.objects.get()
    gateway = Port.objects.get(router=router, owner=PortOwner.ROUTER_GATEWAY)
    assert gateway.addresses == ["203.0.113.77"]
    shown = client.get(f"{AT}router/{router.pk}/change/").content.decode()
    assert str(first.pk) in shown and str(foreign.pk) not in shown
    assert "Select a valid choice" in router_page(client, join_subnets=[str(foreign.pk)])
    over = [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.9"}]
    assert (
        router_page(client, join_subnets=[str(first.pk)], join_ports=[str(by_port.pk)], routes=json.dumps(over)) == ""
    )
    assert legs() == [by_port.addresses, ["10.0.0.1"]]
    router.refresh_from_db()
    assert router.routes == over
    leg = Port.objects.get(router=router, network=first.network_id)
    assert "goes through this leg" in router_page(client, leave_legs=[str(leg.pk)])
    assert "is in no subnet of the router" in router_page(
        client, routes='[{"destination": "10.9.0.0/16", "nexthop": "10.7.0.9"}]'
    )
    assert "list of objects of destination and nexthop" in router_page(client, routes='[{"to": "10.9.0.0/16"}]')
    assert router_page(client, leave_legs=[str(leg.pk)], routes="[]") == ""
    assert legs() == [by_port.addresses]
    assert router_page(client, gateway_address="203.0.113.78") == ""
    assert Port.objects.get(router=router, owner=PortOwner.ROUTER_GATEWAY).addresses == ["203.0.113.78"]
    assert router_page(client, name="r2") == ""
    assert Port.objects.get(router=router, owner=PortOwner.ROUTER_GATEWAY).addresses == ["203.0.113.78"]
    refused = router_page(client, external_network="", gateway_address="203.0.113.79")
    assert "Goes with an external network only." in refused


def test_overlapping_subnet_is_refused_at_its_field_and_nothing_is_changed(client, crowd):
    net, same = routing.inside(crowd.member), routing.inside(crowd.member, name="twin")
    client.post(f"{AT}router/add/", {"project": crowd.member.project_id, "name": "r1", "is_enabled": "on"})
    refused = client.post(
        f"{AT}router/{Router.objects.get().pk}/change/",
        {"name": "r2", **NO_FORMS, "join_subnets": [str(net.pk), str(same.pk)]},
    )
    assert "overlap" in str(refused.context["adminform"].form.errors["join_subnets"])
    assert (legs(), Router.objects.get().name) == ([], "r1")


def test_floating_address_is_put_before_a_port_and_another_and_freed(client, crowd):
    routing.carrying_host("hv1", "physnet1")
    public, net = routing.outside(), routing.inside(crowd.member)
    router = router_create(caller=crowd.member, name="r1", external_network=public.pk)
    router_interface_add(caller=crowd.member, router_id=router.pk, subnet_id=net.pk)
    one, two = routing.guest_port(crowd.member, net), routing.guest_port(crowd.member, net)
    form = {"project": crowd.member.project_id, "network": public.pk, "address": "", "description": ""}
    lonely = client.post(f"{AT}floatingip/add/", {**form, "fixed_address": "10.0.0.2"}).content.decode()
    assert "choose the port as well" in lonely
    client.post(f"{AT}floatingip/add/", {**form, "port": one.pk})
    made = FloatingIP.objects.get()
    assert (made.port_id, made.fixed_address) == (one.pk, one.addresses[0])
    path = f"{AT}floatingip/{made.pk}/change/"
    said = {"description": "web", "port": one.pk, "fixed_address": made.fixed_address}
    assert "has no IPv4 address" in client.post(path, {**said, "fixed_address": "10.0.0.99"}).content.decode()
    assert client.post(path, {**said, "port": two.pk}).status_code == 302
    made.refresh_from_db()
    assert (made.port_id, made.fixed_address, made.description) == (two.pk, two.addresses[0], "web")
    other = routing.guest_port(crowd.member, routing.inside(crowd.member, "10.5.0.0/24", "alone"))
    said = {"description": "web", "fixed_address": two.addresses[0]}
    assert "No router connects" in client.post(path, {**said, "port": other.pk}).content.decode()
    assert client.post(path, said).status_code == 302
    made.refresh_from_db()
    assert (made.port_id, made.status) == (None, "DOWN")
