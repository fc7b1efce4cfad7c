"""Ports: the list, one port, its forms with refusals at their fields, and who may what."""

import json
import shlex
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from servers.models import Network, Port, SecurityGroup, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.services.floating_ips import Target, floating_ip_create
from servers.networks.services.groups import security_group_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import People, active, client_of
from tests.worlds.ports import network, subnet
from tests.worlds.routing import carrying_host, guest_port, inside, outside

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")
RESOURCES = {"bandwidth": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5000}, "required": ["CUSTOM_PHYSNET_1"]}}


@dataclass
class World:
    """A network of the member's: a free port, an instance's port with a floating address, a router's leg."""

    subnet: Subnet
    free: Port
    used: Port
    leg: Port

    @property
    def ids(self) -> dict[str, uuid.UUID]:
        return {"free": self.free.pk, "used": self.used.pk, "leg": self.leg.pk, "network": self.subnet.network_id}


@pytest.fixture(autouse=True)
def carried(settings: Any) -> None:
    """Projects' networks are of bridges."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def world(people: People) -> World:
    return with_ports(people)


@remembered
def with_ports(people: People) -> World:
    carrying_host("h3", "physnet1")
    public, own = outside(), inside(people.member, "10.1.0.0/24", "blue")
    router = router_create(caller=people.member, name="edge", external_network=public.pk)
    leg = router_interface_add(caller=people.member, router_id=router.pk, subnet_id=own.pk)
    used = guest_port(
        people.member, own, instance_uuid=active(people.member, "web-1").pk, owner=PortOwner.INSTANCE, host="h1"
    )
    floating_ip_create(caller=people.member, network_id=public.pk, target=Target(used.pk))
    return World(own, guest_port(people.member, own, name="spare"), used, leg)


def values_of(client: Client, address: str) -> dict[str, Any]:
    """What a form holds before anybody typed, as a browser sends it."""
    form = client.get(address).context["form"]
    texts = {name: form[name].field.prepare_value(form[name].value()) for name in form.fields}
    return {name: "on" if value is True else value for name, value in texts.items() if value not in (None, False, "")}


def errors_of(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200
    return {name: list(texts) for name, texts in answer.context["form"].errors.items()}


def test_the_list_shows_what_each_is_of(people: People, as_person: AsPerson, world: World) -> None:
    page = as_person(people.member).get("/ports/").text.partition("<main")[2]
    for port in (world.free, world.used, world.leg):
        assert f'href="/ports/{port.pk}/"' in page
        assert port.addresses[0] in page
    assert f'href="/instances/{world.used.instance_uuid}/">web-1</a>' in page
    assert f'href="/routers/{world.leg.router_id}/">edge</a>' in page
    assert "nothing yet" in page
    assert "/hosts/" not in page
    assert 'href="/hosts/h1/"' in as_person(people.admin).get("/ports/").text


def test_the_list_is_narrowed_and_searched(people: People, as_person: AsPerson, world: World) -> None:
    other = guest_port(people.member, inside(people.member, "10.2.0.0/24", "green"), name="other")
    client, ids = as_person(people.member), {**world.ids, "other": other.pk}
    asked = {
        f"?network={world.subnet.network_id}": {"free", "used", "leg"},
        "?owner=network:router_interface": {"leg"},
        f"?address={world.free.addresses[0]}": {"free"},
        f"?instance={world.used.instance_uuid}": {"used"},
        "?q=web-1": {"used"},
        "?q=edge": {"leg"},
        f"?q={world.free.mac}": {"free"},
        "?q=10.2.0.": {"other"},
        "?q=green": {"other"},
        "?search=spar": {"free"},
        f"?q={str(other.pk)[:8]}": {"other"},
        f"?q={world.used.instance_uuid}": {"used"},
    }
    for query, names in asked.items():
        page = client.get(f"/ports/{query}").text
        assert {name for name, pk in ids.items() if f'href="/ports/{pk}/"' in page} == names, query
    assert "Nothing matches the filters" in client.get("/ports/?q=xyzzy").text
    assert "Enter a valid UUID" in client.get("/ports/?network=x").text


def test_hosts_are_searched_by_administrators_alone(people: People, as_person: AsPerson, world: World) -> None:
    link = f'href="/ports/{world.used.pk}/"'
    for query in ("?host=h1", "?q=h1"):
        assert link in as_person(people.admin).get(f"/ports/{query}").text
    assert link not in as_person(people.member).get("/ports/?q=h1").text
    assert client_of(people.admin).get("/api/ports/?host=h1").json()["count"] == 1
    assert client_of(people.member).get("/api/ports/?host=h1").status_code == 400


def test_an_empty_list_says_what_to_do(people: People, as_person: AsPerson) -> None:
    page = as_person(people.stranger).get("/ports/").text
    assert "No ports yet" in page
    assert 'href="/ports/new/"' in page
    readers = as_person(people.reader).get("/ports/").text
    assert "No ports yet" in readers
    assert "/ports/new/" not in readers.partition("<main")[2]
    assert "There is no network that it could be in" in as_person(people.stranger).get("/ports/new/").text


def test_a_port_is_shown_with_all_that_the_api_knows(people: People, as_person: AsPerson, world: World) -> None:
    web = security_group_create(caller=people.member, name="web")
    pairs = [{"address": "10.1.0.200", "mac": "52:54:00:aa:bb:cc"}]
    world.used.groups.set([web])
    Port.objects.filter(pk=world.used.pk).update(
        allowed_pairs=pairs, tags=["blue"], tag="nic0", status="ERROR", problem="no tap", resource_request=RESOURCES
    )
    address = f"/ports/{world.used.pk}/"
    page = as_person(people.member).get(address).text
    floating = world.used.floating_ips.get().address
    for text in (world.used.mac, world.used.addresses[0], "10.1.0.0/24", floating, "10.1.0.200 52:54:00:aa:bb:cc",
                 "nic0", "normal", "error", "Its host could not plug it"):  # fmt: skip
        assert text in page, text
    for path in (f"/instances/{world.used.instance_uuid}/", f"/networks/{world.subnet.network_id}/",
                 f"/security-groups/{web.pk}/", "/ports/?tag=blue", f"/reachability/?to={world.used.pk}"):  # fmt: skip
        assert f'href="{path}"' in page, path
    assert "NET_BW_EGR" not in page
    assert "no tap" not in page
    assert "/hosts/" not in page.partition("<main")[2]
    admins = as_person(people.admin).get(address).text
    for text in ("NET_BW_EGR_KILOBIT_PER_SEC 5000", "CUSTOM_PHYSNET_1", "no tap", 'href="/hosts/h1/"'):
        assert text in admins, text


def test_a_port_is_made_with_all_that_is_asked(people: People, as_person: AsPerson, world: World) -> None:
    client, web = as_person(people.member), security_group_create(caller=people.member, name="web")
    form = {
        "network": str(world.subnet.network_id),
        "name": "mail",
        "description": "In and out",
        "fixed_addresses": "10.1.0.77\n10.1.0.0/24",
        "mac": "52:54:00:01:02:03",
        "security_groups": [str(web.pk)],
        "allowed_pairs": "10.1.0.200\n10.1.0.208/28 52:54:00:aa:bb:cc",
        "vnic_type": "normal",
        "is_enabled": "on",
        "tags": "b, a",
    }
    for change, field, said in (
        ({"fixed_addresses": "10.9.0.0/24"}, "fixed_addresses", "it has: 10.1.0.0/24"),
        ({"fixed_addresses": "nonsense"}, "fixed_addresses", "no IP address"),
        ({"fixed_addresses": world.used.addresses[0]}, "fixed_addresses", "in use"),
        ({"mac": "x"}, "mac", "x"),
        ({"mac": world.used.mac}, "mac", "is in use"),
        ({"allowed_pairs": "a b c"}, "allowed_pairs", "“a b c” is not an address"),
        ({"allowed_pairs": "10.1.0.1/24"}, "allowed_pairs", "neither an IP address nor a network"),
        ({"vnic_type": "direct"}, "vnic_type", "is on none"),
        ({"has_security": "off"}, "security_groups", "has no security groups"),
        ({"security_groups": ["-", str(web.pk)]}, "security_groups", "not both"),
        ({"network": str(uuid.uuid4())}, "network", "valid choice"),
        ({"name": "x" * 256}, "name", "at most 255"),
        ({"tags": "x" * 256}, "tags", "at most 255"),
    ):
        found = errors_of(client.post("/ports/new/", form | change))
        assert said in " ".join(found[field]), (change, found)
    assert not Port.objects.filter(name="mail").exists()

    made = client.post("/ports/new/", form)

    port = Port.objects.get(name="mail")
    assert made.headers["Location"] == f"/ports/{port.pk}/"
    assert (port.project_id, port.mac, port.owner) == (people.member.project_id, "52:54:00:01:02:03", "")
    assert port.addresses[0] == "10.1.0.77"
    assert len(port.addresses) == 2
    assert [group.pk for group in port.groups.all()] == [web.pk]
    assert port.allowed_pairs == [
        {"address": "10.1.0.200", "mac": ""},
        {"address": "10.1.0.208/28", "mac": "52:54:00:aa:bb:cc"},
    ]
    assert (port.tags, port.has_security, port.is_enabled) == (["a", "b"], True, True)


def test_what_is_left_alone_is_as_the_network_has_it(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.member)
    least = {"network": str(world.subnet.network_id), "name": "least", "is_enabled": "on"}
    client.post("/ports/new/", least)
    client.post("/ports/new/", {**least, "name": "closed", "fixed_addresses": "-", "security_groups": ["-"]})
    client.post("/ports/new/", {**least, "name": "open", "has_security": "off", "is_enabled": ""})
    port, closed, opened = (Port.objects.get(name=name) for name in ("least", "closed", "open"))
    assert [group.is_default for group in port.groups.all()] == [True]
    assert (len(port.addresses), port.has_security) == (1, True)
    assert (closed.addresses, closed.groups.count(), closed.has_security) == ([], 0, True)
    assert (opened.groups.count(), opened.has_security, opened.is_enabled) == (0, False, False)
    form = client.get(f"/ports/new/?network={world.subnet.network_id}").context["form"]
    assert form["network"].value() == str(world.subnet.network_id)


def test_in_anothers_network_a_project_takes_what_it_is_given(people: People, as_person: AsPerson) -> None:
    shared = network("shared", project_id=people.member.project_id, is_shared=True)
    subnet(shared, "10.8.0.0/24")
    client = as_person(people.stranger)
    form = {"network": str(shared.pk), "name": "guest", "is_enabled": "on"}
    refused = client.post("/ports/new/", {**form, "mac": "52:54:00:01:02:03", "fixed_addresses": "10.8.0.9"})
    assert set(errors_of(refused)) == {"mac", "fixed_addresses"}
    assert client.post("/ports/new/", {**form, "fixed_addresses": "10.8.0.0/24"}).status_code == 302
    port = Port.objects.get(name="guest")
    assert (port.project_id, len(port.addresses)) == (people.stranger.project_id, 1)
    outside()
    offered = [name for _, name in client.get("/ports/new/").context["form"].fields["network"].choices]
    assert offered == ["shared"], "no ports in what is external"


def test_a_port_is_changed(people: People, as_person: AsPerson, world: World) -> None:
    client, address = as_person(people.member), f"/ports/{world.free.pk}/edit/"
    web = security_group_create(caller=people.member, name="web")
    form = values_of(client, address)
    assert form["fixed_addresses"] == world.free.addresses[0]
    assert "mac" not in form
    assert client.post(address, form).status_code == 302, "what is sent unchanged changes nothing"
    world.free.refresh_from_db()
    assert world.free.name == "spare"

    for change, field, said in (
        ({"fixed_addresses": ""}, "fixed_addresses", "required"),
        ({"fixed_addresses": "10.1.0.0/25"}, "fixed_addresses", "no subnet 10.1.0.0/25"),
        ({"has_security": ""}, "has_security", "take them away as well"),
    ):
        assert said in " ".join(errors_of(client.post(address, {**form, **change}))[field])
    changed = {
        **form,
        "name": "mail",
        "fixed_addresses": f"{world.free.addresses[0]}\n10.1.0.99",
        "security_groups": [str(web.pk)],
        "allowed_pairs": "10.1.0.200",
        "is_enabled": "",
        "tags": "x",
    }
    assert client.post(address, changed).status_code == 302
    port = Port.objects.get(pk=world.free.pk)
    assert (port.name, port.addresses, port.is_enabled) == ("mail", [world.free.addresses[0], "10.1.0.99"], False)
    assert ([one.pk for one in port.groups.all()], port.tags) == ([web.pk], ["x"])
    assert values_of(client, address)["allowed_pairs"] == "10.1.0.200"
    bare = {**changed, "has_security": "", "security_groups": [], "allowed_pairs": "", "fixed_addresses": "-"}
    assert client.post(address, bare).status_code == 302
    port.refresh_from_db()
    assert (port.has_security, port.groups.count(), port.allowed_pairs, port.addresses) == (False, 0, [], [])
    assert values_of(client, address)["fixed_addresses"] == "-"


def test_the_mac_is_changed_by_administrators_while_it_is_on_no_host(
    people: People, as_person: AsPerson, world: World
) -> None:
    client = as_person(people.admin)
    for port, status in ((world.free, 302), (world.used, 200)):
        address = f"/ports/{port.pk}/edit/"
        answer = client.post(address, {**values_of(client, address), "mac": "52:54:00:0a:0b:0c"})
        assert answer.status_code == status
    assert "stays until it is detached" in " ".join(errors_of(answer)["mac"])
    world.free.refresh_from_db()
    assert world.free.mac == "52:54:00:0a:0b:0c"
    member = as_person(people.member)
    address = f"/ports/{world.free.pk}/edit/"
    member.post(address, {**values_of(member, address), "mac": "52:54:00:0d:0e:0f"})
    world.free.refresh_from_db()
    assert world.free.mac == "52:54:00:0a:0b:0c"


def test_a_routers_port_has_a_name_alone(people: People, as_person: AsPerson, world: World) -> None:
    client, address = as_person(people.member), f"/ports/{world.leg.pk}/edit/"
    assert set(client.get(address).context["form"].fields) == {"name", "description", "tags"}
    assert client.post(address, {"name": "leg", "is_enabled": "", "tags": "t"}).status_code == 302
    port = Port.objects.get(pk=world.leg.pk)
    assert (port.name, port.is_enabled, port.tags) == ("leg", True, ["t"])


def test_one_in_use_is_not_deleted_and_says_why(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.member)
    for port, before, said in (
        (world.used, "web-1 uses it, so it is refused", "detach it there first"),
        (world.leg, "A router or a floating address has it", "it goes with that"),
    ):
        assert before in client.get(f"/ports/{port.pk}/").text
        answer = client.post(f"/ports/{port.pk}/delete/")
        assert (answer.status_code, said in answer.text) == (409, True)
    assert "Nothing uses it" in client.get(f"/ports/{world.free.pk}/").text
    assert client.post(f"/ports/{world.free.pk}/delete/").headers["Location"] == "/ports/"
    assert not Port.objects.filter(pk=world.free.pk).exists()
    assert Port.objects.filter(pk__in=[world.used.pk, world.leg.pk]).count() == 2


PAGES = {
    "/ports/": (200, 200, 200, 200),
    "/ports/new/": (200, 200, 403, 200),
    "/ports/{used}/": (200, 200, 200, 404),
    "/ports/{free}/edit/": (200, 200, 403, 404),
    "/ports/{leg}/edit/": (200, 200, 403, 404),
    "/ports/00000000-0000-0000-0000-00000000000a/": (404, 404, 404, 404),
}
"""Status for each of PERSONS."""


def test_each_page_opens_for_those_it_is_meant_for(people: People, as_person: AsPerson, world: World) -> None:
    clients = [as_person(getattr(people, one)) for one in PERSONS]
    addresses = {path: path.format(**world.ids) for path in PAGES}
    found = {path: tuple(each.get(address).status_code for each in clients) for path, address in addresses.items()}
    assert found == PAGES
    assert {Client().get(address).status_code for address in addresses.values()} == {302}


def test_who_may_not_changes_nothing(people: People, as_person: AsPerson, world: World) -> None:
    def rows() -> list[Any]:
        return list(Port.objects.order_by("pk").values())

    before = rows()
    new = {"network": str(world.subnet.network_id), "name": "x", "is_enabled": "on"}
    for path in ("/ports/{free}/edit/", "/ports/{free}/delete/"):
        address = path.format(**world.ids)
        assert as_person(people.reader).post(address, {"name": "stolen"}).status_code == 403
        assert as_person(people.stranger).post(address, {"name": "stolen"}).status_code == 404
    assert as_person(people.reader).post("/ports/new/", new).status_code == 403
    assert "valid choice" in str(as_person(people.stranger).post("/ports/new/", new).context["form"].errors)
    foreign = security_group_create(caller=people.stranger, name="theirs")
    answer = as_person(people.member).post("/ports/new/", {**new, "security_groups": [str(foreign.pk)]})
    assert "security_groups" in errors_of(answer)
    assert rows() == before
    readers = as_person(people.reader).get(f"/ports/{world.free.pk}/").text.partition("<main")[2]
    assert "/edit/" not in readers
    assert "/delete/" not in readers


def test_a_networks_owner_sees_and_removes_anothers_port_and_changes_it_not(
    people: People, as_person: AsPerson
) -> None:
    shared = network("shared", project_id=people.member.project_id, is_shared=True)
    port = guest_port(people.stranger, subnet(shared, "10.8.0.0/24"))
    client, address = as_person(people.member), f"/ports/{port.pk}/"
    page = client.get(address).text
    assert f"{address}delete/" in page
    assert f"{address}edit/" not in page
    refused = client.get(f"{address}edit/")
    assert (refused.status_code, "another project" in refused.text) == (403, True)
    assert client.post(f"{address}delete/").status_code == 302


def test_other_pages_lead_to_ports(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.member)
    own = client.get(f"/networks/{world.subnet.network_id}/").text
    for port in (world.free, world.used, world.leg):
        assert f'href="/ports/{port.pk}/"' in own
    assert f'href="/ports/?network={world.subnet.network_id}"' in own
    assert f'href="/ports/new/?network={world.subnet.network_id}"' in own
    readers = as_person(people.reader).get(f"/networks/{world.subnet.network_id}/").text
    assert "/ports/new/?network" not in readers
    assert f'href="/ports/{world.used.pk}/"' in client.get(f"/instances/{world.used.instance_uuid}/").text
    assert f'href="/ports/{world.leg.pk}/"' in client.get(f"/routers/{world.leg.router_id}/").text
    group = SecurityGroup.objects.get(project_id=people.member.project_id, is_default=True)
    in_group = client.get(f"/security-groups/{group.pk}/").text
    assert f'href="/ports/{world.free.pk}/"' in in_group
    assert f"/ports/{world.free.pk}/" in client.get("/search/", {"q": world.free.mac}).text
    assert f"/ports/{world.free.pk}/" not in as_person(people.stranger).get("/search/", {"q": world.free.mac}).text


def test_pages_cost_a_constant_number_of_queries(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.admin)
    paths = ["/ports/", "/ports/new/", *(f"/ports/{port.pk}/" for port in (world.used, world.free))]
    paths.append(f"/ports/{world.free.pk}/edit/")

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    few = [queries(path) for path in paths]
    for number in range(6):
        more = inside(people.member, f"10.{20 + number}.0.0/24", f"more-{number}")
        guest_port(people.member, more, name=f"p-{number}")
        other = router_create(caller=people.member, name=f"r-{number}")
        router_interface_add(caller=people.member, router_id=other.pk, subnet_id=more.pk)
        guest_port(people.member, world.subnet, instance_uuid=uuid.uuid4(), owner=PortOwner.INSTANCE)
    assert [queries(path) for path in paths] == few
    assert max(few) < 30


def test_the_call_of_the_form_makes_the_port(people: People, as_person: AsPerson, world: World) -> None:
    web = security_group_create(caller=people.member, name="web")
    typed = {
        "network": str(world.subnet.network_id),
        "name": "mail",
        "fixed_addresses": "10.1.0.77",
        "security_groups": [str(web.pk)],
        "allowed_pairs": "10.1.0.200 52:54:00:aa:bb:cc",
        "has_security": "on",
        "is_enabled": "on",
        "vnic_type": "normal",
    }

    def body(address: str, of: dict[str, Any]) -> Any:
        answer = as_person(people.member).post("/as-curl/", {**of, "as_curl_of": address})
        return json.loads(shlex.split(unescape(answer.text))[-1])

    made = client_of(people.member).post("/api/ports/", body("/ports/new/", typed))
    assert made.status_code == 201, made.text
    port = Port.objects.get(name="mail")
    assert (port.addresses, [one.pk for one in port.groups.all()]) == (["10.1.0.77"], [web.pk])
    assert port.allowed_pairs == [{"address": "10.1.0.200", "mac": "52:54:00:aa:bb:cc"}]

    bare = {"name": "bare", "fixed_addresses": "-", "security_groups": [], "allowed_pairs": ""}
    changed = client_of(people.member).patch(f"/api/ports/{port.pk}/", body(f"/ports/{port.pk}/edit/", bare))
    assert changed.status_code == 200, changed.text
    port.refresh_from_db()
    assert (port.name, port.addresses, port.groups.count(), port.has_security) == ("bare", [], 0, False)
    assert Network.objects.filter(pk=port.network_id).exists()
