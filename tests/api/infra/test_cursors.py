"""Walks through lists by cursors: each row that stays is read once, whatever comes and goes meanwhile."""

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from controlplane.identity.models import User
from controlplane.infra.api.cursors import page_after, position_read
from controlplane.kernel.errors import Invalid
from servers.models import Flavor, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def walked(client: Any, address: str, between: Callable[[list[Any]], None] = lambda _rows: None) -> list[str]:
    """The names of all rows; after each page something happens."""
    names: list[str] = []
    following: str | None = address
    while following:
        answer = client.get(following)
        assert answer.status_code == 200, answer.json()
        body = answer.json()
        assert body["previous"] is None
        names += [one["name"] for one in body["results"]]
        between(body["results"])
        following = body["next"]
    return names


@pytest.mark.parametrize("order", ["", "&ordering=memory_mib", "&ordering=-name", "&ordering=-memory_mib"])
def test_whoever_deletes_page_by_page_reads_every_row(order: str) -> None:
    people = world.cloud()
    before = set(Flavor.objects.values_list("name", flat=True))
    for number in range(11):
        world.flavor(f"f{number:02d}", memory_mib=512 * (1 + number % 2))

    def deleted(rows: list[Any]) -> None:
        Flavor.objects.filter(name__in=[one["name"] for one in rows]).delete()

    names = walked(world.client_of(people.admin), f"/api/flavors/?cursor=&page_size=3{order}", deleted)
    assert sorted(names) == sorted(before | {f"f{number:02d}" for number in range(11)})
    assert not Flavor.objects.exists()


def test_walk_is_in_the_order_of_pages() -> None:
    people = world.cloud()
    for number in range(7):
        world.flavor(f"f{number}", memory_mib=512 * (1 + number % 3))
    client = world.client_of(people.admin)
    at_once = [one["name"] for one in client.get("/api/flavors/?page_size=1000&ordering=-memory_mib").json()["results"]]
    assert walked(client, "/api/flavors/?cursor=&page_size=2&ordering=-memory_mib") == at_once


def test_instances_that_wait_and_those_with_rows_are_one_walk() -> None:
    people = world.cloud("h1")
    for number in range(3):
        world.create(people.member, f"built-{number}")
    world.pump()
    for number in range(4):
        world.create(people.member, f"waits-{number}")
    client = world.client_of(people.member)
    names = walked(client, "/api/instances/?cursor=&page_size=2&ordering=name")
    assert sorted(names[:4]) == [f"waits-{number}" for number in range(4)]
    assert names[4:] == ["built-0", "built-1", "built-2"]

    seen = walked(client, "/api/instances/?cursor=&page_size=2", lambda _rows: world.pump())
    assert set(seen) == set(names)
    assert Instance.objects.count() == 7


def test_order_that_reads_numbers_as_numbers_is_walked_too() -> None:
    hosts = [f"hv-{number}" for number in (1, 2, 9, 10, 11, 100)]
    people = world.cloud(*reversed(hosts))
    client = world.client_of(people.admin)
    names: list[str] = []
    following = "/api/hosts/?cursor=&page_size=2"
    while following:
        body = client.get(following).json()
        names += [one["host"] for one in body["results"]]
        following = body["next"]
    assert names == hosts


@pytest.mark.parametrize("order", [("last_login",), ("-last_login",), ("-last_login", "-username")])
def test_rows_without_a_value_are_where_the_database_has_them(order: tuple[str, ...]) -> None:
    now = timezone.now()
    for number in range(9):
        login = None if number % 3 == 0 else now - timedelta(days=number // 2)
        User.objects.create(username=f"u{number}", last_login=login)
    rows = User.objects.order_by(*order)
    expected = list(User.objects.order_by(*order, "pk").values_list("username", flat=True))
    names: list[str] = []
    position = None
    while True:
        found, position = page_after([rows], position, 2)
        names += [row.username for _, row in found]
        if position is None:
            break
        position = position_read(position.text())
    assert names == expected


def cursor(*said: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")


FLAVORS = ["memory_mib", "vcpus", "name", "pk"]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "%FF",
        "é",
        "A" * 3000,
        cursor(),
        cursor(0, FLAVORS, [1]),
        cursor(0, ["password", "pk"], ["a", "b"]),
        cursor(0, FLAVORS, [{}, 1, "a", "b"]),
        cursor(0, FLAVORS, ["many", 1, "a", "b"]),
        cursor(0, FLAVORS, [1, 1, "a", "no uuid"]),
        cursor(0, FLAVORS, [float("inf"), 1, "a", None]),
        cursor(-1, FLAVORS, [1, 1, "a", None]),
        cursor(7, FLAVORS, [1, 1, "a", None]),
        cursor(True, FLAVORS, [1, 1, "a", None]),
        "WzAs" * 400,
    ],
)
def test_cursor_that_is_none_is_refused_by_its_parameter(text: str) -> None:
    people = world.cloud()
    answer = world.client_of(people.admin).get("/api/flavors/", {"cursor": text})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "cursor"), answer.json()


def test_cursor_and_number_do_not_go_together() -> None:
    answer = world.client_of(world.cloud().admin).get("/api/flavors/?cursor=&page=2")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "cursor")


def test_cursor_is_of_the_order_that_it_was_made_in() -> None:
    client = world.client_of(world.cloud().admin)
    world.flavor("another")
    following = client.get("/api/flavors/?cursor=&page_size=1&ordering=name").json()["next"]
    answer = client.get(following.replace("ordering=name", "ordering=-name"))
    assert answer.status_code == 400
    assert "sorted by name" in answer.json()["error"]["message"]


def test_unknown_position_in_code_is_refused() -> None:
    with pytest.raises(Invalid):
        position_read("")
