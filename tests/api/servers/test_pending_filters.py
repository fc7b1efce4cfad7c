"""What the answer shows of an instance, every filter of the list finds, wherever it stands: as a request that waits for
the scheduler, as one that is scheduled again, or as a row.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.identity.models import Project
from servers.filtersets_instance import instance_filters
from servers.models import BuildRequest, Instance, KeyPair
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)
Document = Mapping[str, Any]
NOTHING = "00000000-0000-0000-0000-00000000000a"


def address(document: Document, mark: str) -> str | None:
    """The first with this mark between its parts."""
    return next((one for of in document["addresses"].values() for one in of if mark in one), None)


def later(document: Document) -> str:
    return (datetime.fromisoformat(document["created_at"]) + timedelta(microseconds=1)).isoformat()


# Of each filter: what finds the instance by its document, and what does not; None where the document shows none.
FILTERS: dict[str, tuple[Callable[[Document], str | None], str | Callable[[Document], str]]] = {
    "q": (lambda shown: shown["name"], "elsewhere"),
    "name": (lambda shown: shown["name"][1:].upper(), "elsewhere"),
    "status": (lambda shown: shown["status"].lower(), "PAUSED"),
    "vm_state": (lambda shown: shown["vm_state"], "paused"),
    "task_state": (lambda shown: shown["task_state"], "deleting"),
    "power_state": (lambda shown: shown["power_state"], "crashed"),
    "flavor": (lambda shown: shown["flavor"]["name"], "m1"),
    "image": (lambda shown: shown["image"]["id"], NOTHING),
    "tag": (lambda shown: shown["tags"][0], "web"),
    "created_after": (lambda shown: shown["created_at"], later),
    "created_before": (later, lambda shown: shown["created_at"]),
    "availability_zone": (lambda shown: shown["availability_zone"], "nov"),
    "reservation_id": (lambda shown: shown["reservation_id"], NOTHING),
    "request_id": (lambda shown: shown["request_id"], "req-other"),
    "ip": (lambda shown: address(shown, "."), "203.0.113.9"),
    "ip6": (lambda shown: address(shown, ":"), "2001:db8::9"),
    "host": (lambda shown: shown["host"], "h9"),
    "host_status": (lambda shown: shown["host_status"] or None, "MAINTENANCE"),
}
WORDS: dict[str, Callable[[Document], str | None]] = {
    "name": lambda shown: shown["name"].upper(),
    "description": lambda shown: shown["description"],
    "hostname": lambda shown: shown["hostname"],
    "zone": lambda shown: shown["availability_zone"],
    "key": lambda shown: shown["key_name"],
    "metadata": lambda shown: shown["metadata"]["cost-centre"],
    "flavor": lambda shown: shown["flavor"]["name"],
    "image": lambda shown: shown["image"]["name"],
    "tag": lambda shown: shown["tags"][0][:3],
    "id": lambda shown: shown["id"][:8],
    "request": lambda shown: shown["request_id"],
    "owner": lambda _shown: "mary",
    "project": lambda _shown: "demo",
    "address": lambda shown: address(shown, "."),
    "host": lambda shown: shown["host"],
}
HOMES = ("waiting", "again", "active")


@pytest.fixture
@remembered
def who() -> world.People:
    people = nets.cloud_with_networks("h1")
    ours = Project.objects.get(pk=people.member.project_id)
    four = nets.network("four", project=ours, cidr="10.20.0.0/16")
    six = nets.network("six", project=ours, cidr="fd00:20::/64")
    KeyPair.objects.create(user_id=people.member.user_id, name="laptop", public_key="ssh-ed25519 A", fingerprint="x")
    world.flavor("huge", memory_mib=32_000)
    for home in HOMES:
        ports = [nets.port(each, project=ours, owner="") for each in (four, six)]
        world.create(
            people.member,
            f"vm-of-{home}",
            flavor="huge" if home == "again" else "m1.tiny",
            tags=['b"', "Zürich east"],
            availability_zone="nova",
            key_name="laptop",
            description="the shop's window",
            metadata={"cost-centre": "東京"},
            networks=[{"port": str(each.pk)} for each in ports],
        )
    return people


def shown_at(who: world.People, home: str) -> tuple[Any, Document]:
    """A client of an administrator, and the document of the instance that has this home."""
    client = world.client_of(who.admin)
    if home != "waiting":
        world.pump()
        world.finish_builds()
    if home == "again":
        failed = Instance.objects.get(name="vm-of-again")
        assert client.post(f"/api/instances/{failed.pk}/schedule-again/").status_code == 202
    assert BuildRequest.objects.filter(instance_body__name=f"vm-of-{home}").exists() is (home != "active")
    found = client.get(f"/api/instances/?name=vm-of-{home}").json()["results"]
    return client, client.get(f"/api/instances/{found[0]['id']}/").json()


def names(client: Any, **asked: str) -> list[str]:
    answer = client.get("/api/instances/", asked)
    assert answer.status_code == 200, answer.json()
    return [one["name"] for one in answer.json()["results"]]


def test_table_has_every_filter() -> None:
    assert FILTERS.keys() == instance_filters(is_admin=True).base_filters.keys()


@pytest.mark.parametrize("home", HOMES)
def test_every_filter_finds_what_the_answer_shows(who: world.People, home: str) -> None:
    client, shown = shown_at(who, home)
    absent = set()
    for name, (of, other) in FILTERS.items():
        if (value := of(shown)) is None:
            absent.add(name)
        else:
            assert shown["name"] in names(client, **{name: value}), (name, value)
        wrong = other if isinstance(other, str) else other(shown)
        assert shown["name"] not in names(client, **{name: wrong}), (name, wrong)
    assert absent == ({"task_state"} if home == "active" else {"host", "host_status", "ip", "ip6"})


@pytest.mark.parametrize("home", HOMES)
def test_quick_search_finds_every_word_that_the_answer_shows(who: world.People, home: str) -> None:
    client, shown = shown_at(who, home)
    for name, of in WORDS.items():
        if (word := of(shown)) is not None:
            assert shown["name"] in names(client, q=f"{word} {shown['name']}"), (name, word)
    assert names(client, q=f"elsewhere {shown['name']}") == []


@pytest.mark.parametrize("tag", ['b"', "Zürich east"])
def test_tag_is_found_whole_whatever_its_letters(who: world.People, tag: str) -> None:
    client = world.client_of(who.member)
    assert len(names(client, tag=tag)) == len(HOMES)
    for other in ("b", '"', "Zürich", "ZÜRICH EAST", "east", tag.replace("b", "B").replace("Z", "z")):
        assert names(client, tag=other) == [], other


def test_what_waits_is_found_beside_what_has_a_row(who: world.People) -> None:
    client, _ = shown_at(who, "again")
    assert sorted(names(client, tag="Zürich east", availability_zone="nova")) == [
        "vm-of-active",
        "vm-of-again",
        "vm-of-waiting",
    ]


def test_unreadable_value_hides_nothing_in_silence(who: world.People) -> None:
    answer = world.client_of(who.member).get("/api/instances/?image=demo")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "image")
