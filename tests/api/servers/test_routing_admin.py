"""Security groups, rules, routers and floating addresses in the Django admin: through the services, refusals shown."""

import pytest
from django.test import Client

from controlplane.identity.models import User
from servers.models import FloatingIP, Router, SecurityGroup, SecurityGroupRule
from servers.networks.services.router_legs import router_interface_add
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
