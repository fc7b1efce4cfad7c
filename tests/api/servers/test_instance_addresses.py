"""Addresses of instances: shown with network, type and MAC, and searched by, in as many queries as for one."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from servers.models import Instance, Port
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


def made(who: world.People, name: str, *nics: dict[str, str]) -> Instance:
    one = world.create(who.member, name, networks=list(nics))[0]
    world.pump()
    world.finish_builds()
    return world.instance_of(one.pk)


@pytest.fixture
@remembered
def who() -> world.People:
    people = nets.cloud_with_networks("h1")
    ours = Project.objects.get(pk=people.member.project_id)
    nets.network("net", project=ours)
    nets.subnet(nets.network("six", project=ours, cidr="fd00:20::/64"), "10.26.0.0/16")
    outside = nets.network("outside", cidr="192.0.2.0/24", is_external=True)
    web = made(people, "web", {"network": "net", "fixed_ip": "10.20.0.15", "tag": "front"}, {"network": "six"})
    made(people, "db", {"network": "net", "fixed_ip": "10.20.0.150"})
    port = Port.objects.get(instance_uuid=web.pk, network_name="net")
    nets.floating(ours, outside, port, nets.router(ours, "h1"))
    nets.Network.objects.create(name="hosts-own", hypervisor_network="default")
    made(people, "old", {"network": "hosts-own"}, {"network": "net", "fixed_ip": "10.20.9.9"})
    return people


def names(who: world.People, query: str) -> list[str]:
    answer = world.client_of(who.member).get(f"/api/instances/?{query}")
    assert answer.status_code == 200, answer.json()
    return sorted(one["name"] for one in answer.json()["results"])


def test_instance_shows_its_interfaces(who: world.People) -> None:
    instance = Instance.objects.get(name="web")
    shown = world.client_of(who.member).get(f"/api/instances/{instance.pk}/").json()
    first, second = shown["interfaces"]
    port = Port.objects.get(pk=first["port_id"])
    assert (first["network"], first["mac"], first["tag"]) == ("net", port.mac, "front")
    outside = shown["addresses"]["net"][1]
    assert first["addresses"] == [
        {"address": "10.20.0.15", "version": 4, "type": "fixed"},
        {"address": outside, "version": 4, "type": "floating"},
    ]
    assert outside.startswith("192.0.2.")
    assert [one["version"] for one in second["addresses"]] == [4, 6]
    assert list(shown["addresses"]) == ["net", "six"]
    assert shown["addresses"]["six"] == [one["address"] for one in second["addresses"]]
    assert world.client_of(who.member).get(f"/api/instances/{instance.pk}/interfaces/").json() == shown["interfaces"]
    assert world.client_of(who.stranger).get(f"/api/instances/{instance.pk}/interfaces/").status_code == 404


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ip=10.20.0.15", ["web"]),
        ("ip=10.20.0.150", ["db"]),
        ("ip=10.20", ["db", "old", "web"]),
        ("ip=^10.20.0.15$", ["web"]),
        ("ip=20", []),
        ("ip=192.0.2", ["web"]),
        ("ip=10.20.0.1[0-4]", []),
        ("ip=10.20.0.1[^0-4]$", ["web"]),
        ("ip=10\\.20\\.0\\.15", ["db", "web"]),
        ("ip=10.20.0.150|^10.0.0.5$", ["db", "old"]),
        ("ip=10.*5.*", ["db", "old", "web"]),
        ("ip=10.0.0.[^0-4]$", ["old"]),
        ("ip6=fd00:20:", ["web"]),
        ("ip=fd00:20:", []),
        ("ip6=10.20", []),
        ("ip=10.0.0.5", ["old"]),
        ("ip=10.20.0.150&name=we", []),
    ],
)
def test_search_by_address(who: world.People, query: str, found: list[str]) -> None:
    # 10.0.0.5 is what their host reports of its own network, in which only one of them has a card.
    assert names(who, query) == found


PATTERNS_REFUSED = [
    *(
        "(10)*",
        "10.[",
        "x" * 65,
        "10\\d",
        "*",
        "1++",
        "1*?",
        "[^^]",
        "[[:digit:]]",
        "[9-0]",
        "[0-9-a]",
        "10^",
        "1$0",
        "a||b",
    ),
    ".*.*.*.*f",
]


@pytest.mark.parametrize("pattern", PATTERNS_REFUSED)
def test_pattern_that_is_none_is_refused(who: world.People, pattern: str) -> None:
    answer = world.client_of(who.member).get("/api/instances/", {"ip": pattern})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "ip"


def test_host_tells_the_addresses_of_its_own_networks_alone(who: world.People) -> None:
    """Under the network's name; neither what it tells of networks of ours, nor what is no address."""
    told = {"default": ["10.0.0.5", "<b>"], "net": ["10.20.77.77"], "hosts-own": ["10.0.0.6"], "more": ["10.0.0.7"]}
    Instance.objects.update(addresses=told)
    shown = {one["name"]: one["addresses"] for one in api_list(who)}
    assert shown["old"] == {"hosts-own": ["10.0.0.5"], "net": ["10.20.9.9"]}
    assert shown["db"] == {"net": ["10.20.0.150"]}


def test_pages_and_admin_show_the_same(who: world.People) -> None:
    web = Instance.objects.get(name="web")
    (shown,) = [one["addresses"] for one in api_list(who) if one["name"] == "web"]
    assert sorted(shown) == ["net", "six"] and len(shown["net"]) == 2
    page = browser_of(who.member)
    for path in ("/instances/", f"/instances/{web.pk}/", f"/instances/{web.pk}/delete/"):
        text = page.get(path).content.decode()
        for addresses in shown.values():
            assert ", ".join(addresses) in text, path
        assert path == "/instances/" or "10.0.0.5" not in text, path
    User.objects.filter(pk=who.admin.user_id).update(is_staff=True, is_superuser=True)
    text = browser_of(who.admin).get(f"/admin/servers/instance/{web.pk}/change/").content.decode()
    assert f"net: {', '.join(shown['net'])}; six: {', '.join(shown['six'])}" in text
    assert "10.0.0.5" not in text


def browser_of(caller: Caller) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client


def api_list(who: world.People) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.client_of(who.member).get("/api/instances/").json()["results"]
    return found


def test_stranger_finds_nothing(who: world.People) -> None:
    assert world.client_of(who.stranger).get("/api/instances/?ip=10.20").json()["results"] == []


def test_list_costs_the_same_for_many(who: world.People) -> None:
    client = world.client_of(who.member)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get("/api/instances/?ip=10.20").status_code == 200
        return len(seen)

    queries()
    before = queries()
    for number in range(3):
        made(who, f"vm{number}", {"network": "net"}, {"network": "six"})
    assert queries() == before


def test_pending_instance_has_none() -> None:
    people: Any = world.cloud()
    one = world.create(people.member)[0]
    shown = world.client_of(people.member).get(f"/api/instances/{one.pk}/").json()
    assert (shown["interfaces"], shown["addresses"]) == ([], {})
