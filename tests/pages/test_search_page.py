"""The search, the palette's answer, keys, the menu and the installation's name."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import Instance
from tests.worlds.cloud import People, create

AsPerson = Callable[[Caller], Client]
PART = {"HX-Request": "true"}


def test_search_is_a_page_without_a_script_and_a_part_for_the_palette(people: People, as_person: AsPerson) -> None:
    one = create(people.member, "<b>web</b>-1")[0]
    client = as_person(people.member)

    page = client.get("/search/", {"q": "web"})
    assert page.status_code == 200
    assert '<form class="filters" role="search" action="/search/">' in page.text
    assert f'href="/instances/{one.pk}/"' in page.text
    assert "<b>web</b>-1" not in page.text

    part = client.get("/search/", {"q": "web"}, headers=PART)
    assert "<html" not in part.text
    assert f'href="/instances/{one.pk}/"' in part.text
    assert "1 found" in part.text


def test_stranger_finds_nothing_and_is_told_so(people: People, as_person: AsPerson) -> None:
    create(people.member, "web-1")
    page = as_person(people.stranger).get("/search/", {"q": "web-1"})
    assert "Nothing is called <b>web-1</b>" in page.text


def test_pages_and_forms_are_found_by_who_may_open_them(people: People, as_person: AsPerson) -> None:
    def found(caller: Caller, text: str) -> str:
        return as_person(caller).get("/search/", {"q": text}, headers=PART).text

    assert 'href="/hosts/add/"' in found(people.admin, "add hyp")
    assert 'href="/hosts/add/"' not in found(people.member, "add hyp")
    assert 'href="/instances/create/"' in found(people.member, "create inst")
    assert 'href="/instances/create/"' not in found(people.reader, "create inst")
    assert 'href="/instances/"' in found(people.reader, "")


@pytest.mark.parametrize("text", ["\x00", "x" * 400, "%", "'; drop", "10.0.0.0/24", "{key}", "req-"])
def test_no_text_breaks_the_page(people: People, as_person: AsPerson, text: str) -> None:
    assert as_person(people.admin).get("/search/", {"q": text}).status_code == 200


def test_keys_are_a_page_and_can_be_switched_off(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    page = client.get("/keyboard/")
    assert "<kbd>Ctrl</kbd> + <kbd>K</kbd>" in page.text
    assert "<td>Instances</td>" in page.text
    assert "<td>Hosts</td>" not in page.text

    off = client.post("/keyboard/switch/", {"keys": "off"}, follow=True)
    assert 'data-keys="off"' in off.text
    on = client.post("/keyboard/switch/", {"keys": "on"}, follow=True)
    assert 'data-keys="off"' not in on.text


def test_menu_counts_what_needs_a_look_of_ones_own(people: People, as_person: AsPerson) -> None:
    columns: dict[str, Any] = {"flavor": {}, "vcpus": 1, "memory_mib": 1, "vm_state": "error"}
    whose = {"project_id": people.member.project_id, "user_id": people.member.user_id}
    Instance.objects.bulk_create([Instance(name=f"bad-{number}", **whose, **columns) for number in range(3)])

    said = '<span class="visually-hidden"> in error, crashed or standing still</span>'
    three = f'<span id="count-instances" class="count">3{said}</span>'
    assert three in as_person(people.member).get("/images/").text
    assert three in as_person(people.admin).get("/images/").text
    mine = as_person(people.stranger).get("/images/").text
    assert '<span id="count-instances" class="count"></span>' in mine
    assert "count-hosts" not in mine
    part = as_person(people.member).get("/menu/counts/", headers=PART)
    assert three.replace('">', '" hx-swap-oob="true">', 1) in part.text
    assert as_person(people.member).get("/menu/counts/").status_code == 302


def test_many_are_many(people: People, as_person: AsPerson) -> None:
    columns: dict[str, Any] = {"flavor": {}, "vcpus": 1, "memory_mib": 1, "vm_state": "error"}
    whose = {"project_id": people.member.project_id, "user_id": people.member.user_id}
    Instance.objects.bulk_create([Instance(name="bad", **whose, **columns) for _ in range(130)])
    assert '<span id="count-instances" class="count">99+' in as_person(people.member).get("/images/").text


def test_an_installation_says_its_name(people: People, as_person: AsPerson, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "INSTALLATION_NAME": "Berlin <test>"}
    login = Client().get("/login/").text
    assert "Log in to Berlin &lt;test&gt;</h1>" in login
    page = as_person(people.reader).get("/").text
    assert "<title>Overview · Berlin &lt;test&gt; · Kilonova</title>" in page
    assert '<span class="installation" title="This installation">Berlin &lt;test&gt;</span>' in page

    settings.KILONOVA = {**settings.KILONOVA, "INSTALLATION_NAME": ""}
    assert "<title>Overview · Kilonova</title>" in as_person(people.reader).get("/").text
    assert 'class="installation"' not in as_person(people.reader).get("/").text
