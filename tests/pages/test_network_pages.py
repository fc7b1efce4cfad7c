"""Networks, routers and floating addresses: lists, drawings, forms with refusals at their fields, and who may what."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from servers.models import FloatingIP, Instance, Network, Port, Router, SecurityGroup, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.services.floating_ips import Target, floating_ip_create
from servers.networks.services.groups import security_group_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import People
from tests.worlds.routing import carrying_host, guest_port, inside, outside

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")


@dataclass
class World:
    """A network of the member's project behind a router, with one guest that a floating address leads to."""

    subnet: Subnet
    public: Network
    router: Router
    port: Port
    floating: FloatingIP

    @property
    def ids(self) -> dict[str, uuid.UUID]:
        return {
            "network": self.subnet.network_id,
            "subnet": self.subnet.pk,
            "router": self.router.pk,
            "floating": self.floating.pk,
            "leg": Port.objects.get(router=self.router, owner="network:router_interface").pk,
            "public": self.public.pk,
            "guest": self.port.pk,
        }


def instance(of: Caller, name: str) -> Instance:
    return Instance.objects.create(
        project_id=of.project_id, user_id=of.user_id, name=name, host="h1", flavor={}, flavor_id=uuid.uuid4(),
        vcpus=1, memory_mib=64, vm_state="active",
    )  # fmt: skip


def networks_wanted() -> list[Any]:
    """What of subnets decides what guests are told."""
    return list(Subnet.objects.order_by("pk").values("gateway", "pools", "dns_servers", "routes", "has_dhcp"))


@pytest.fixture(autouse=True)
def carried(settings: Any) -> None:
    """Projects' networks are of bridges."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def world(people: People) -> World:
    return routed(people)


@remembered
def routed(people: People) -> World:
    carrying_host("h3", "physnet1")
    public, subnet = outside(), inside(people.member, "10.1.0.0/24", "blue")
    router = router_create(caller=people.member, name="edge", external_network=public.pk)
    router_interface_add(caller=people.member, router_id=router.pk, subnet_id=subnet.pk)
    port = guest_port(
        people.member, subnet, instance_uuid=instance(people.member, "web-1").pk, owner=PortOwner.INSTANCE
    )
    floating = floating_ip_create(caller=people.member, network_id=public.pk, target=Target(port.pk))
    return World(subnet, public, router, port, floating)


def test_a_network_is_shown_with_all_that_hangs_on_it(people: People, as_person: AsPerson, world: World) -> None:
    page = as_person(people.member).get(f"/networks/{world.subnet.network_id}/").text

    drawn = page.partition('<svg class="topology"')[2].partition("</svg>")[0]
    places = [drawn.index(f">{name}<") for name in ("public", "edge", "blue", "web-1")]
    assert places == sorted(places)
    assert f"{world.port.addresses[0]} · {world.floating.address}" in drawn
    assert f'href="/instances/{world.port.instance_uuid}/">web-1' in drawn
    assert "10.1.0.0/24" in page
    assert f'href="/routers/{world.router.pk}/"' in page
    assert "style=" not in page.partition("<main")[2]


def test_a_working_router_is_not_shown_as_down(people: People, as_person: AsPerson, world: World) -> None:
    Router.objects.update(problem="")
    Port.objects.filter(instance_uuid__isnull=False).update(status="ACTIVE")
    page = as_person(people.member).get(f"/networks/{world.subnet.network_id}/").content.decode()
    assert page.count('<span class="pill good">active</span>') == 2 and ">down<" not in page


def test_names_in_a_drawing_are_text(people: People, as_person: AsPerson, world: World) -> None:
    Instance.objects.update(name="<script>alert(1)</script>" + "x" * 100)
    Router.objects.update(name="</text><script>")

    for path in ("/networks/{network}/", "/routers/{router}/", "/floating-ips/"):
        page = as_person(people.member).get(path.format(**world.ids)).text
        assert "<script>alert" not in page
        assert "</text><script>" not in page


def test_a_network_is_made_with_its_subnet_or_not_at_all(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    form = {"name": "green", "description": "", "cidr": "10.7.0.0/24", "gateway": "", "dns_servers": "9.9.9.9 1.1.1.1"}

    refused = client.post("/networks/new/", {**form, "cidr": "10.7.0.1/24"})
    assert (refused.status_code, Network.objects.filter(name="green").exists()) == (200, False)
    assert "has bits behind its prefix" in refused.text

    made = client.post("/networks/new/", {**form, "has_dhcp": "on"})
    row = Network.objects.get(name="green")
    assert made.headers["Location"] == f"/networks/{row.pk}/"
    subnet = row.subnets.get()
    assert (subnet.cidr, subnet.gateway, subnet.dns_servers) == ("10.7.0.0/24", "10.7.0.1", ["9.9.9.9", "1.1.1.1"])
    assert (row.project_id, subnet.has_dhcp) == (people.member.project_id, True)


def test_a_subnet_whose_guests_make_their_addresses(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    form = {"name": "six", "cidr": "fd00:9::/64", "has_dhcp": "on", "ipv6_mode": "slaac"}
    client.post("/networks/new/", form)
    subnet = Subnet.objects.get(cidr="fd00:9::/64")
    page = client.get(f"/networks/{subnet.network_id}/").content.decode()
    assert subnet.ipv6_mode == "slaac" and "slaac" in page
    refused = client.post("/networks/new/", {**form, "name": "four", "cidr": "10.9.0.0/24"})
    assert "is of IPv6" in refused.content.decode() and not Subnet.objects.filter(ip_version=4).exists()


def test_what_is_for_admins_is_in_their_form_alone(people: People, as_person: AsPerson) -> None:
    admins, members = (as_person(one).get("/networks/new/").text for one in (people.admin, people.member))

    assert 'name="is_external"' in admins
    assert 'name="is_external"' not in members
    as_person(people.member).post("/networks/new/", {"name": "mine", "is_external": "on", "is_shared": "on"})
    row = Network.objects.get(name="mine")
    assert (row.is_external, row.is_shared) == (False, False)


def test_a_network_is_changed_gets_a_subnet_and_goes(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    subnet = inside(people.member, "10.1.0.0/24", "blue")
    address = f"/networks/{subnet.network_id}/"

    changed = {"name": "azure", "description": "Ours", "mtu": "1400", "is_enabled": "on", "has_port_security": "on"}
    assert client.post(f"{address}edit/", changed).status_code == 302
    same = client.post(f"{address}subnets/new/", {"cidr": "10.1.0.0/25"})
    assert "overlaps with another subnet" in same.text
    named = {"cidr": "10.2.0.0/24", "gateway": "-", "name": "second", "description": "For mail"}
    assert client.post(f"{address}subnets/new/", named).status_code == 302
    second = Subnet.objects.get(cidr="10.2.0.0/24")
    assert (second.name, second.description) == ("second", "For mail")
    assert (second.gateway, Network.objects.get(pk=subnet.network_id).name) == (None, "azure")
    assert client.post(f"/subnets/{second.pk}/delete/").status_code == 302
    assert client.post(f"{address}delete/").status_code == 302
    assert not Network.objects.filter(pk=subnet.network_id).exists()


def test_what_a_subnet_tells_its_guests_is_changed(people: People, as_person: AsPerson) -> None:
    client, subnet = as_person(people.member), inside(people.member, "10.1.0.0/24", "blue")
    address, before = f"/subnets/{subnet.pk}/edit/", networks_wanted()
    told = {
        "gateway": "10.1.0.1",
        "dns_servers": "9.9.9.9 1.1.1.1",
        "pools": "10.1.0.50 - 10.1.0.90\n10.1.0.10 10.1.0.20",
    }
    for wrong, said in (
        ({"pools": "10.1.0.10"}, "“10.1.0.10” is not two words with a space between."),
        ({"pools": "10.9.0.1 10.9.0.2"}, "10.9.0.1"),
        ({"routes": "10.9.0.0/16 nowhere"}, "nowhere"),
        ({"gateway": "10.9.0.1", "dns_servers": "x"}, "x"),
    ):
        refused = client.post(address, {**told, **wrong})
        field = refused.context["form"].errors[next(iter(wrong))]
        assert (refused.status_code, said in str(refused.context["form"].errors)) == (200, True), field
    assert networks_wanted() == before
    assert client.post(address, {**told, "routes": "10.9.0.0/16 10.1.0.7"}).status_code == 302
    subnet.refresh_from_db()
    assert subnet.pools == [["10.1.0.10", "10.1.0.20"], ["10.1.0.50", "10.1.0.90"]]
    assert (subnet.dns_servers, subnet.has_dhcp) == (["9.9.9.9", "1.1.1.1"], False)
    assert subnet.routes == [{"destination": "10.9.0.0/16", "nexthop": "10.1.0.7"}]
    shown = client.get(address).text
    assert ">\n10.1.0.10 10.1.0.20\n10.1.0.50 10.1.0.90</textarea>" in shown
    assert client.post(address, {"gateway": "-"}).status_code == 302
    subnet.refresh_from_db()
    assert (subnet.gateway, subnet.routes, subnet.pools) == (None, [], [["10.1.0.1", "10.1.0.254"]])


def test_static_routes_of_a_router_are_changed(people: People, as_person: AsPerson, world: World) -> None:
    client, address = as_person(people.member), f"/routers/{world.router.pk}/edit/"
    form = {field.name: field.value() for field in client.get(address).context["form"] if field.value()}
    refused = client.post(address, {**form, "routes": "10.9.0.0/16 172.16.0.1"})
    assert refused.context["form"].errors["routes"]
    beyond = str(next(iter(world.port.addresses)))
    assert client.post(address, {**form, "routes": f"10.9.0.0/16 {beyond}"}).status_code == 302
    world.router.refresh_from_db()
    assert world.router.routes == [{"destination": "10.9.0.0/16", "nexthop": beyond}]
    assert f"10.9.0.0/16 by {beyond}" in client.get(f"/routers/{world.router.pk}/").text
    assert client.post(address, form).status_code == 302
    world.router.refresh_from_db()
    assert world.router.routes == []


def test_what_is_in_use_is_refused_with_numbers(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.member)

    for path, said in (
        ("/networks/{network}/delete/", "2 ports"),
        ("/subnets/{subnet}/delete/", "addresses of subnet"),
        ("/routers/{router}/delete/", "It has a leg in 1 network".lower()),
        ("/routers/{router}/legs/{leg}/delete/", "floating"),
    ):
        answer = client.post(path.format(**world.ids))
        assert answer.status_code == 409
        assert said in answer.text.lower()


def test_a_router_is_made_joins_and_leaves(people: People, as_person: AsPerson) -> None:
    client, public = as_person(people.member), outside()
    carrying_host("h3", "physnet1")
    subnet = inside(people.member, "10.1.0.0/24", "blue")

    form = {"name": "edge", "external_network": str(public.pk), "has_snat": "on", "is_enabled": "on"}
    made = client.post("/routers/new/", form)
    router = Router.objects.get(name="edge")
    address = f"/routers/{router.pk}/"
    assert made.headers["Location"] == address
    assert client.post(f"{address}legs/", {"subnet": str(subnet.pk)}).status_code == 302
    again = client.post(f"{address}legs/", {"subnet": str(subnet.pk)})
    assert (again.status_code, "Nothing was joined." in again.text) == (200, True)
    drawn = client.get(address).text.partition('<svg class="topology"')[2].partition("</svg>")[0]
    assert all(name in drawn for name in ("public", "edge", "blue", "10.1.0.1"))
    leg = Port.objects.get(router=router, owner="network:router_interface")
    assert client.post(f"{address}legs/{leg.pk}/delete/").status_code == 302
    assert client.post(f"{address}edit/", {**form, "external_network": ""}).status_code == 302
    router.refresh_from_db()
    assert router.external_network_id is None
    assert client.post(f"{address}delete/").status_code == 302


def test_a_floating_address_is_taken_pointed_taken_away_and_given_back(
    people: People, as_person: AsPerson, world: World
) -> None:
    client = as_person(people.member)
    client.post("/floating-ips/new/", {"network": str(world.public.pk), "description": "for mail"})
    row = FloatingIP.objects.get(description="for mail")
    choice = f"{world.port.pk}/{world.port.addresses[0]}"

    refused = client.post(f"/floating-ips/{row.pk}/point/", {"port": choice})
    assert refused.status_code == 200
    assert 'class="raw bad-text"' in refused.text
    assert client.post(f"/floating-ips/{world.floating.pk}/unpoint/").status_code == 302
    assert client.post(f"/floating-ips/{row.pk}/point/", {"port": choice}).status_code == 302
    row.refresh_from_db()
    assert (row.port_id, row.fixed_address) == (world.port.pk, world.port.addresses[0])
    assert f'<a href="/instances/{world.port.instance_uuid}/">web-1</a>' in client.get("/floating-ips/").text
    assert client.post(f"/floating-ips/{row.pk}/delete/").status_code == 302
    assert not FloatingIP.objects.filter(pk=row.pk).exists()


PAGES = {
    "/networks/": (200, 200, 200, 200),
    "/networks/new/": (200, 200, 403, 200),
    "/networks/{network}/": (200, 200, 200, 404),
    "/networks/{network}/edit/": (200, 200, 403, 404),
    "/networks/{network}/subnets/new/": (200, 200, 403, 404),
    "/networks/{public}/": (200, 200, 200, 200),
    "/networks/{public}/edit/": (200, 403, 403, 403),
    "/networks/{public}/subnets/new/": (200, 403, 403, 403),
    "/routers/": (200, 200, 200, 200),
    "/routers/new/": (200, 200, 403, 200),
    "/routers/{router}/": (200, 200, 200, 404),
    "/routers/{router}/edit/": (200, 200, 403, 404),
    "/floating-ips/": (200, 200, 200, 200),
    "/subnets/{subnet}/edit/": (200, 200, 403, 404),
    "/floating-ips/{floating}/tags/": (200, 200, 403, 404),
}
"""Status for each of PERSONS."""


def test_each_page_opens_for_those_it_is_meant_for(people: People, as_person: AsPerson, world: World) -> None:
    clients = [as_person(getattr(people, one)) for one in PERSONS]
    addresses = {path: path.format(**world.ids) for path in PAGES}

    found = {path: tuple(each.get(address).status_code for each in clients) for path, address in addresses.items()}

    assert found == PAGES
    assert {Client().get(address).status_code for address in addresses.values()} == {302}


POSTS: dict[str, dict[str, str]] = {
    "/networks/{network}/edit/": {"name": "stolen", "mtu": "1400"},
    "/networks/{network}/delete/": {},
    "/networks/{network}/subnets/new/": {"cidr": "10.9.0.0/24"},
    "/subnets/{subnet}/delete/": {},
    "/routers/{router}/edit/": {"name": "stolen"},
    "/routers/{router}/delete/": {},
    "/routers/{router}/legs/{leg}/delete/": {},
    "/floating-ips/{floating}/unpoint/": {},
    "/floating-ips/{floating}/delete/": {},
    "/subnets/{subnet}/edit/": {"tags": "stolen"},
    "/ports/{guest}/edit/": {"tags": "stolen"},
    "/floating-ips/{floating}/tags/": {"tags": "stolen"},
}


def test_who_may_not_change_networks_changes_nothing(people: People, as_person: AsPerson, world: World) -> None:
    def rows() -> list[Any]:
        models = (Network, Subnet, Router, Port, FloatingIP)
        return [list(model.objects.order_by("pk").values()) for model in models]  # type: ignore[attr-defined]

    before = rows()
    for path, data in POSTS.items():
        address = path.format(**world.ids)
        assert as_person(people.reader).post(address, data).status_code == 403
        assert as_person(people.stranger).post(address, data).status_code == 404
    for path in ("/networks/new/", "/routers/new/", "/floating-ips/new/"):
        assert as_person(people.reader).post(path, {"name": "x"}).status_code == 403
    assert rows() == before


def test_strangers_networks_are_changed_by_nobody_else(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.stranger)

    assert "blue" not in client.get("/networks/").text
    assert "edge" not in client.get(f"/networks/{world.public.pk}/").text
    assert "web-1" not in client.get(f"/networks/{world.public.pk}/").text
    assert world.floating.address not in client.get("/floating-ips/").text
    assert client.post(f"/networks/{world.public.pk}/edit/", {"name": "mine", "mtu": "1400"}).status_code == 403


def test_empty_lists_say_what_to_do(people: People, as_person: AsPerson) -> None:
    client = as_person(people.stranger)

    assert "There is no external network" in client.get("/floating-ips/").text
    assert "A router joins networks to each other" in client.get("/routers/").text
    assert "Nothing matches the filters" in client.get("/networks/?q=xyz").text


def test_pages_cost_a_constant_number_of_queries(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.admin)
    paths = [
        path.format(**world.ids)
        for path in ("/networks/", "/networks/{network}/", "/routers/", "/routers/{router}/", "/floating-ips/")
    ]

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    few = [queries(path) for path in paths]
    for number in range(5):
        more = inside(people.member, f"10.{20 + number}.0.0/24", f"more-{number}")
        router_interface_add(caller=people.member, router_id=world.router.pk, subnet_id=more.pk)
        router_create(caller=people.member, name=f"r-{number}", external_network=world.public.pk)
        made = instance(people.member, f"vm-{number}")
        port = guest_port(people.member, world.subnet, instance_uuid=made.pk, owner=PortOwner.INSTANCE)
        floating_ip_create(caller=people.member, network_id=world.public.pk, target=Target(port.pk))
    assert [queries(path) for path in paths] == few


def test_tags_are_chips_and_a_line_of_the_form(people: People, as_person: AsPerson, world: World) -> None:
    client = as_person(people.member)
    group = security_group_create(caller=people.member, name="web")
    rows: dict[str, tuple[Any, str]] = {
        f"/networks/{world.subnet.network_id}/edit/": (world.subnet.network, "/networks/"),
        f"/routers/{world.router.pk}/edit/": (world.router, "/routers/"),
        f"/security-groups/{group.pk}/edit/": (group, "/security-groups/"),
        f"/floating-ips/{world.floating.pk}/tags/": (world.floating, "/floating-ips/"),
        f"/subnets/{world.subnet.pk}/edit/": (world.subnet, ""),
        f"/ports/{world.port.pk}/edit/": (world.port, "/ports/"),
    }
    for address, (row, listed) in rows.items():
        form = {field.name: field.value() for field in client.get(address).context["form"] if field.value()}
        refused = client.post(address, {**form, "tags": "x" * 256})
        assert (refused.status_code, "at most 255" in refused.text) == (200, True), address
        done = client.post(address, {**form, "tags": 'of shop, "a,b"'})
        assert done.status_code == 302, (address, done.text)
        row.refresh_from_db()
        assert row.tags == ["a,b", "of shop"], address
        shown = client.get(done.headers["Location"]).text
        assert ">of shop</" in shown, address
        if listed:
            assert f'href="{listed}?tag=of%20shop">of shop</a>' in client.get(f"{listed}?tag=of+shop").text
            assert "of shop" not in client.get(f"{listed}?tag=of").text.partition("<main")[2], address
        assert 'value="&quot;a,b&quot;, of shop"' in client.get(address).text, address
    made = {"name": "tagged", "tags": "b, a"}
    for plural, model in (("networks", Network), ("routers", Router), ("security-groups", SecurityGroup)):
        assert client.post(f"/{plural}/new/", made).status_code == 302, plural
        assert model.objects.get(name="tagged").tags == ["a", "b"], plural
    client.post(f"/networks/{world.subnet.network_id}/subnets/new/", {"cidr": "10.5.0.0/24", "tags": "b, a"})
    client.post("/floating-ips/new/", {"network": str(world.public.pk), "description": "second", "tags": "b, a"})
    assert Subnet.objects.get(cidr="10.5.0.0/24").tags == FloatingIP.objects.get(description="second").tags
