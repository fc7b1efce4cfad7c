"""Lists of servers: filters, their versions and whose they are, sorting, pages by marker, servers without a row."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection

from servers.instances.services.delete import instance_delete
from servers.models import Instance
from tests.worlds import cloud as world
from tests.worlds.compute_door import NEWEST, ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def _names(client: ComputeClient, query: str, **more: Any) -> list[str]:
    return [one["name"] for one in client.get(f"/servers/detail?{query}", **more)["servers"]]


@pytest.fixture
def three(who: world.People) -> list[Instance]:
    found = [
        world.active(who.member, "web1", metadata={"role": "web"}, tags=["red", "blue"]),
        world.active(who.member, "web2", tags=["red"]),
        world.active(who.member, "db1"),
    ]
    Instance.objects.filter(pk=found[2].pk).update(vm_state="stopped", locked=True)
    return found


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=web", ["web2", "web1"]),
        ("name=web1", ["web1"]),
        ("name=^.*1$", ["db1", "web1"]),
        ("name=(", []),
        ("status=SHUTOFF", ["db1"]),
        ("status=active&status=shutoff", ["db1", "web2", "web1"]),
        ("tags=red", ["web2", "web1"]),
        ("tags=red,blue", ["web1"]),
        ("tags-any=blue,green", ["web1"]),
        ("not-tags=red,blue", ["db1", "web2"]),
        ("not-tags-any=red,blue", ["db1"]),
        ("locked=true", ["db1"]),
        ("vm_state=stopped", ["db1"]),
        ("power_state=1&vm_state=active", ["web2", "web1"]),
        ("task_state=None", ["db1", "web2", "web1"]),
        ("ip=10.0.0", ["db1", "web2", "web1"]),
        ("ip=10.0.0.6", []),
        ("ip6=fd00", []),
        ("changes-since=2020-01-01T00:00:00Z", ["db1", "web2", "web1"]),
        ("changes-before=2020-01-01", []),
        ("config_drive=true", ["db1", "web2", "web1"]),
        ("deleted=False", ["db1", "web2", "web1"]),
        ("sort_key=display_name&sort_dir=asc", ["db1", "web1", "web2"]),
        ("sort_key=vm_state&sort_key=display_name&sort_dir=desc&sort_dir=asc", ["db1", "web1", "web2"]),
    ],
)
def test_filters_and_orders(who: world.People, three: list[Instance], query: str, names: list[str]) -> None:
    assert _names(ComputeClient(who.member, minor=NEWEST), query) == names


def test_filters_by_ids(who: world.People, three: list[Instance]) -> None:
    member, one = ComputeClient(who.member, minor=NEWEST), three[0]
    assert len(_names(member, f"image={one.image_id}")) == 3
    assert len(_names(member, f"flavor={one.flavor_id}")) == 3
    assert _names(member, "flavor=none") == _names(member, f"image={one.pk}") == []
    assert _names(member, f"reservation_id={one.reservation_id}") == ["web1"]
    admin = ComputeClient(who.admin, minor=NEWEST)
    assert _names(admin, f"uuid={one.pk}") == ["web1"]
    assert _names(admin, 'metadata={"role":"web"}') == ["web1"]
    assert len(_names(admin, "host=h1")) == 3
    assert _names(admin, "host=h2") == []


def test_servers_are_found_and_shown_by_the_id_that_their_flavor_was_given(who: world.People) -> None:
    given = world.flavor("other", given_id="77")
    member = ComputeClient(who.member, minor=NEWEST)
    waiting = world.create(who.member, "waiting", flavor="77")[0].pk
    assert _names(member, "flavor=77") == ["waiting"]
    world.pump()
    world.finish_builds()
    assert _names(member, "flavor=77") == _names(member, f"flavor={given.pk}") == ["waiting"]
    assert _names(member, "flavor=78") == []
    given.delete()
    flavor = member.get(f"/servers/{waiting}", minor=46)["server"]["flavor"]
    assert (flavor["id"], flavor["links"][0]["href"].rpartition("/")[2]) == ("77", "77")


@pytest.mark.parametrize(
    "query", ["host=h1", "node=h1", "all_tenants=1", "deleted=true", "status=DELETED", "sort_key=host", "project_id=1"]
)
def test_what_is_for_administrators_is_refused_and_not_passed_over(who: world.People, query: str) -> None:
    fault_of(ComputeClient(who.member, minor=NEWEST).call("GET", f"/servers?{query}"), 403, "forbidden")
    assert ComputeClient(who.admin, minor=NEWEST).call("GET", f"/servers?{query}").status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        *("limit=x", "limit=-1", "marker=x", "sort_key=x", "sort_dir=up", "all_tenants=x", "changes-since=x"),
        *("status=x", "foo=1", "kernel_id=x", "power_state=x", "ip=x", "locked=x"),
    ],
)
def test_bad_questions_are_400(who: world.People, query: str) -> None:
    fault_of(ComputeClient(who.admin, minor=NEWEST).call("GET", f"/servers/detail?{query}"), 400, "badRequest")


def test_repeats_are_few_where_the_database_goes_back_for_each(who: world.People, three: list[Instance]) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    assert _names(member, "name=w.*[.b]*1") == ["web1"]
    answer = member.call("GET", "/servers?name=w.*e.*b.*1")
    if connection.vendor == "sqlite":
        fault_of(answer, 400, "badRequest")
    else:
        assert [one["name"] for one in answer.json()["servers"]] == ["web1"]


def test_filters_come_with_their_versions(who: world.People, three: list[Instance]) -> None:
    member = ComputeClient(who.member)
    assert len(_names(member, "foo=1", minor=74)) == len(_names(member, "tags=blue", minor=25)) == 3
    assert len(_names(member, "locked=true", minor=72)) == 3
    assert _names(member, "status=x", minor=37) == []
    fault_of(member.call("GET", "/servers?vm_state=active", minor=82), 403, "forbidden")
    assert len(_names(member, "vm_state=active", minor=83)) == 2


def test_each_page_leads_to_the_next(who: world.People, three: list[Instance]) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    seen, query = [], "limit=1&sort_key=display_name&sort_dir=asc&name=1"
    for _ in range(2):
        answer = member.get(f"/servers?{query}")
        seen += [one["name"] for one in answer["servers"]]
        if not (links := answer.get("servers_links")):
            break
        assert links[0]["rel"] == "next"
        query = urlsplit(links[0]["href"]).query
        assert parse_qs(query)["sort_key"] == ["display_name"]
    assert seen == ["db1", "web1"]
    assert "servers_links" not in answer
    assert member.get("/servers?limit=0") == {"servers": []}


def test_those_without_a_row_come_first_and_page_like_the_others(who: world.People, three: list[Instance]) -> None:
    waiting = world.create(who.member, "new", min_count=2, max_count=2)
    member = ComputeClient(who.member, minor=NEWEST)
    seen, query = [], "limit=2"
    while True:
        answer = member.get(f"/servers/detail?{query}")
        seen += [(one["name"], one["status"]) for one in answer["servers"]]
        if "servers_links" not in answer:
            break
        query = urlsplit(answer["servers_links"][0]["href"]).query
    assert [name for name, _ in seen] == ["new-2", "new-1", "db1", "web2", "web1"]
    assert seen[0][1] == "BUILD"
    assert _names(member, "status=BUILD&name=new-1") == ["new-1"]
    assert _names(member, f"image={waiting[0].image_id}&name=^new") == ["new-2", "new-1"]
    assert _names(member, "tags=red&name=new") == []


def test_projects_see_their_own_and_administrators_all_that_they_ask_for(who: world.People) -> None:
    world.active(who.member, "ours")
    world.active(who.stranger, "theirs")
    assert _names(ComputeClient(who.member), "") == ["ours"]
    assert _names(ComputeClient(who.stranger), "") == ["theirs"]
    admin = ComputeClient(who.admin)
    assert _names(admin, "") == ["ours"]
    assert _names(admin, "all_tenants=True") == ["theirs", "ours"]
    assert _names(admin, f"all_tenants=1&project_id={who.stranger.project_id.hex}") == ["theirs"]
    assert _names(admin, f"project_id={who.stranger.project_id.hex}") == []


def test_deleted_servers_are_for_administrators_and_for_changes(who: world.People, three: list[Instance]) -> None:
    instance_delete(caller=who.member, instance_id=three[0].pk)
    Instance.objects.filter(pk=three[0].pk).update(vm_state="deleted", task_state="", deleted_at="2026-01-01T00:00Z")
    admin, member = ComputeClient(who.admin, minor=NEWEST), ComputeClient(who.member, minor=NEWEST)
    assert _names(admin, "deleted=True") == _names(admin, "status=DELETED") == ["web1"]
    assert "web1" not in _names(member, "") + _names(admin, "deleted=False")
    assert "web1" in _names(member, "changes-since=2020-01-01T00:00:00Z")
    fault_of(member.call("GET", f"/servers/{three[0].pk}"), 404, "itemNotFound")


def test_soft_deleted_servers_are_shown_to_whoever_asks_for_them(who: world.People, three: list[Instance]) -> None:
    Instance.objects.filter(pk=three[0].pk).update(vm_state="soft-delete")
    admin = ComputeClient(who.admin, minor=NEWEST)
    assert "web1" not in _names(admin, "")
    assert _names(admin, "status=SOFT_DELETED") == _names(admin, "soft_deleted=1") == ["web1"]
