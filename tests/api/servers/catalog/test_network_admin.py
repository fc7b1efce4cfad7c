"""Networks, subnets and ports in the Django admin: through the services, with their refusals at the fields."""

import json

import pytest
from django.test import Client

from controlplane.identity.models import Project, User
from controlplane.identity.selectors import caller_for_user
from servers.models import Instance, IPAllocation, Network, Port, PortGroup, Subnet
from servers.networks.services.floating_ips import floating_ip_create
from servers.networks.services.groups import security_group_create
from servers.networks.services.ports import ports_create
from servers.networks.services.routers import router_create
from tests.worlds.ports import asked, network, subnet
from tests.worlds.routing import guest_port, inside, outside

pytestmark = pytest.mark.django_db
SWITCHES = {"has_port_security": "on", "is_enabled": "on"}
EMPTY = {"allocations-TOTAL_FORMS": "0", "allocations-INITIAL_FORMS": "0"}
NO_SUBNETS = {"subnets-TOTAL_FORMS": "0", "subnets-INITIAL_FORMS": "0"}


@pytest.fixture
def browser() -> Client:
    found = Client()
    found.force_login(User.objects.create_superuser(username="boss", password="x"))
    return found


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="demo")


def test_network_is_made_changed_and_removed(browser, project):
    made = {"name": "lan", "kind": "bridge", "project": str(project.pk), **SWITCHES, **NO_SUBNETS}
    assert browser.post("/admin/servers/network/add/", made).status_code == 302
    row = Network.objects.get()
    assert (row.project, row.mtu, row.kind) == (project, 1450, "bridge")
    path = f"/admin/servers/network/{row.pk}/"
    changed = {"name": "wan", "mtu": "1400", "make_default": "on", "is_shared": "on", **SWITCHES, **NO_SUBNETS}
    assert browser.post(f"{path}change/", changed).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.mtu, row.is_default, row.is_shared) == ("wan", 1400, True, True)
    shown = browser.post(f"{path}change/", {**changed, "mtu": "9000"})
    assert "most is 1450" in shown.content.decode()
    browser.post(f"{path}delete/", {"post": "yes"})
    assert not Network.objects.exists()


def test_network_with_ports_stays_with_a_message(browser):
    net = network()
    ports_create(caller=None, requests=[asked(net)])
    shown = browser.post(f"/admin/servers/network/{net.pk}/delete/", {"post": "yes"}, follow=True).content.decode()
    assert Network.objects.exists()
    assert "1 ports" in shown or "protected" in shown


def test_subnet_is_made_changed_and_refused_at_its_fields(browser):
    net = network()
    made = {"network": str(net.pk), "cidr": "10.0.0.0/24", "has_dhcp": "on", "dns_servers": '["9.9.9.9"]', "routes": ""}
    assert browser.post("/admin/servers/subnet/add/", made).status_code == 302
    row = Subnet.objects.get()
    assert (row.gateway, row.dns_servers, row.pools) == ("10.0.0.1", ["9.9.9.9"], [["10.0.0.2", "10.0.0.254"]])
    twice = browser.post("/admin/servers/subnet/add/", made)
    assert "10.0.0.0/24 overlaps with another subnet" in twice.content.decode()
    path = f"/admin/servers/subnet/{row.pk}/"
    changed = {
        "name": "lan",
        "gateway": "none",
        "has_dhcp": "on",
        "dns_servers": "[]",
        "pools": json.dumps([{"first": "10.0.0.50", "last": "10.0.0.60"}]),
        "routes": json.dumps([{"destination": "10.9.0.0/16", "nexthop": "10.0.0.9"}]),
    }
    assert browser.post(f"{path}change/", changed).status_code == 302
    row.refresh_from_db()
    assert (row.gateway, row.pools, row.name) == (None, [["10.0.0.50", "10.0.0.60"]], "lan")
    bad = browser.post(f"{path}change/", {**changed, "pools": '[{"first": 5}]'})
    assert "list of objects of first and last" in bad.content.decode()
    browser.post(f"{path}delete/", {"post": "yes"})
    assert not Subnet.objects.exists()


def test_port_is_made_changed_and_removed(browser, project):
    net = network(project_id=project.pk)
    subnet(net)
    made = {"network": str(net.pk), "project": str(project.pk), "name": "web", "is_enabled": "on", "has_security": "on"}
    assert browser.post("/admin/servers/port/add/", {**made, **EMPTY, "allowed_pairs": "[]"}).status_code == 302
    row = Port.objects.get()
    assert (row.addresses, row.name) == (["10.0.0.2"], "web")
    group = PortGroup.objects.get().group_id
    path = f"/admin/servers/port/{row.pk}/"
    changed = {"name": "db", "mac": row.mac, "addresses": "10.0.0.9", "groups": [str(group)], "is_enabled": "on"}
    changed |= {"has_security": "on", "allowed_pairs": '[{"address": "10.0.0.77"}]', **EMPTY}
    answer = browser.post(f"{path}change/", changed)
    assert answer.status_code == 302, answer.content.decode()
    row.refresh_from_db()
    assert (row.name, row.addresses) == ("db", ["10.0.0.9"])
    assert row.allowed_pairs == [{"address": "10.0.0.77", "mac": ""}]
    refused = browser.post(f"{path}change/", {**changed, "addresses": "10.7.0.1"})
    assert "is in no subnet" in refused.content.decode()
    assert browser.get("/admin/servers/port/?q=10.0.0.9").status_code == 200
    browser.post(f"{path}delete/", {"post": "yes"})
    assert (Port.objects.count(), IPAllocation.objects.count()) == (0, 0)


def test_what_a_port_asks_of_placement_is_given_changed_and_refused_at_its_field(browser, project):
    net = network(project_id=project.pk)
    subnet(net)
    wanted = {"out": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 2000}, "required": []}}
    made = {"network": str(net.pk), "project": str(project.pk), "is_enabled": "on", "has_security": "on", **EMPTY}
    made |= {"allowed_pairs": "[]", "resource_request": json.dumps(wanted)}
    assert browser.post("/admin/servers/port/add/", made).status_code == 302
    row = Port.objects.get()
    assert row.resource_request == wanted
    path = f"/admin/servers/port/{row.pk}/change/"
    body = filled(browser.get(path))
    bad = browser.post(path, {**body, "resource_request": '{"out": {"resources": {"BANDWIDTH": 1}}}'})
    assert "is no resource class" in bad.content.decode()
    assert browser.post(path, {**body, "resource_request": "{}"}).status_code == 302
    row.refresh_from_db()
    assert row.resource_request == {}


def test_new_port_takes_its_type_and_groups_and_is_refused_at_their_fields(browser, project):
    net = network(project_id=project.pk, physical_network="physnet1")
    subnet(net)
    boss = caller_for_user(user=User.objects.get(), project_id=project.pk)
    web = security_group_create(caller=boss, name="web")
    theirs = security_group_create(caller=boss, project_id=Project.objects.create(name="other").pk, name="theirs")
    path = "/admin/servers/port/add/"
    shown = browser.get(path)
    body = {**filled(shown), "network": str(net.pk), "project": str(project.pk), **EMPTY}
    assert body["vnic_type"] == "normal"
    for groups, said in (
        (str(theirs.pk), f"Security group {theirs.pk} does not exist."),
        ("web, wbe", "Security group wbe does not exist."),
    ):
        refused = browser.post(path, {**body, "groups": groups})
        assert refused.context["adminform"].form.errors["groups"] == [said]
        assert 'value="' + groups in refused.content.decode()
    for vnic_type, within, said in (
        ("drect", net, "Select a valid choice."),
        ("direct", network(project_id=project.pk, name="inner"), "is a device on a physical network"),
    ):
        refused = browser.post(path, {**body, "vnic_type": vnic_type, "network": str(within.pk)})
        assert said in str(refused.context["adminform"].form.errors["vnic_type"])
    nobody = browser.post(path, {**body, "project": "", "groups": "web"})
    assert "A port of no project is in no group" in str(nobody.context["adminform"].form.errors["groups"])
    assert not Port.objects.exists()
    for name, groups in (("a", f"web, default, {web.pk}"), ("b", "none"), ("c", "")):
        answer = browser.post(path, {**body, "name": name, "vnic_type": "direct", "groups": groups})
        assert answer.status_code == 302, answer.context["errors"]
    made = {port.name: port for port in Port.objects.all()}
    assert {port.vnic_type for port in made.values()} == {"direct"}
    found = {name: sorted(port.groups.values_list("name", flat=True)) for name, port in made.items()}
    assert found == {"a": ["default", "web"], "b": [], "c": ["default"]}


def test_admin_leads_to_ports_to_the_drawing_and_to_the_question_who_reaches_what(browser, project):
    boss = caller_for_user(user=User.objects.get(), project_id=project.pk)
    inner, router = inside(boss), router_create(caller=boss, name="edge")
    guest = Instance.objects.create(
        project_id=project.pk, user_id=boss.user_id, name="web-1", flavor={}, flavor_id=inner.pk, vcpus=1,
        memory_mib=64, vm_state="active",
    )  # fmt: skip
    port = guest_port(boss, inner, instance_uuid=guest.pk)
    asked_for = f"/reachability/?to={port.pk}"
    shown = {
        f"servers/instance/{guest.pk}": [f"/admin/servers/port/{port.pk}/change/", port.addresses[0], asked_for],
        f"servers/port/{port.pk}": [asked_for],
        f"servers/network/{inner.network_id}": [f'/networks/{inner.network_id}/">What hangs on what'],
        f"servers/router/{router.pk}": [f'/routers/{router.pk}/">What hangs on what'],
    }
    for row, wanted in shown.items():
        page = browser.get(f"/admin/{row}/change/").content.decode()
        for words in wanted:
            assert words in page, (row, words)
    for path in (asked_for, f"/networks/{inner.network_id}/", f"/routers/{router.pk}/"):
        answer = browser.get(path)
        assert answer.status_code == 200, answer.content
    chosen = browser.get(asked_for).context["form"]
    assert str(port.pk) in dict(chosen.fields["to"].choices)
    for empty in ("network", "router", "port"):
        assert "What hangs on what" not in browser.get(f"/admin/servers/{empty}/add/").content.decode()


def filled(page) -> dict[str, object]:
    """What a browser sends of a form as it is shown: texts of fields, keys of what is chosen, ticks."""
    found: dict[str, object] = {}
    forms = [page.context["adminform"].form]
    forms += [inline.formset.management_form for inline in page.context["inline_admin_formsets"]]
    for form in forms:
        for field in form:
            value = field.value()
            if value is True:
                value = "on"
            elif isinstance(value, dict | list) and field.name != "groups":
                value = json.dumps(value)
            if value is not None and value is not False and value != []:
                found[field.html_name] = value
    return found


def test_tags_are_shown_changed_refused_and_looked_for(browser, project):
    member = caller_for_user(user=User.objects.get(), project_id=project.pk)
    public, inner = outside(), inside(member)
    rows = (
        inner.network,
        inner,
        guest_port(member, inner),
        router_create(caller=member, name="edge"),
        security_group_create(caller=member, name="web"),
        floating_ip_create(caller=member, network_id=public.pk),
    )
    for row in rows:
        name = row._meta.model_name
        address = f"/admin/servers/{name}/{row.pk}/change/"
        body = filled(browser.get(address))
        refused = browser.post(address, {**body, "tags": f"red, {'x' * 256}"})
        assert (refused.status_code, "at most 255" in refused.content.decode()) == (200, True), name
        answer = browser.post(address, {**body, "tags": 'red, "a,b", red'})
        assert answer.status_code == 302, (name, answer.context["errors"])
        row.refresh_from_db()
        assert row.tags == ["a,b", "red"], name
        again = filled(browser.get(address))
        assert again["tags"] == '"a,b", red', name
        for tag, count in (("a,b", 1), ("a", 0)):
            found = browser.get(f"/admin/servers/{name}/", {"tag": tag}).context["cl"]
            assert found.result_count == count, (name, tag)
        assert browser.post(address, {**again, "tags": ""}).status_code == 302
        row.refresh_from_db()
        assert row.tags == [], name
