"""A flavor's page: how many more fit, the same for what is typed, which projects may use it, values to choose from."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.catalog.services.flavor import flavor_access_add, flavor_update
from servers.models import Flavor, FlavorAccess
from tests.worlds.cloud import People, client_of, flavor

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")
SIZE = {"vcpus": 1, "memory_mib": 512, "root_gib": 1, "ephemeral_gib": 0, "swap_mib": 0, "is_public": "on"}


def test_the_room_comes_after_the_page_and_with_it_without_a_script(people: People, as_person: AsPerson) -> None:
    client, path = as_person(people.admin), f"/flavors/{Flavor.objects.get().pk}/"

    page, part, at_once = (client.get(f"{path}{more}").text for more in ("", "room/", "?room=1"))

    assert f'hx-get="{path}room/"' in page
    for text in (part, at_once):
        assert '<b class="num">30</b> more fit now, on 2 of 2 hosts; first to run out: Memory' in text


def test_a_disabled_flavor_has_no_room(people: People, as_person: AsPerson) -> None:
    off = flavor("off", disabled=True)

    assert "takes no new instances" in as_person(people.admin).get(f"/flavors/{off.pk}/room/").text


def test_the_room_of_what_is_typed_is_shown_and_nothing_saved(people: People, as_person: AsPerson) -> None:
    data = {"name": "half", **SIZE, "spec_key": ["trait:CUSTOM_X"], "spec_value": ["required"], "room": "1"}
    client = as_person(people.admin)

    page = client.post("/flavors/new/", data).text
    wrong = client.post("/flavors/new/", {**data, "spec_value": ["perhaps"]}).text

    assert "Room for what is filled in" in page
    assert '<b class="num">0</b> more fit now' in page
    assert "What stops one more" in page
    assert 'value="half"' in page
    assert "must be" in wrong
    assert not Flavor.objects.filter(name="half").exists()


def test_the_api_counts_an_imagined_flavor_for_admins(people: People) -> None:
    body = {"vcpus": 1, "memory_mib": 512, "root_gib": 1}

    answers = [client_of(getattr(people, one)).post("/api/capacity/", body, format="json") for one in PERSONS]
    wrong = client_of(people.admin).post("/api/capacity/", {**body, "extra_specs": {"hw:nope": "1"}}, format="json")

    assert [one.status_code for one in answers] == [200, 403, 403, 403]
    assert answers[0].json()["flavors"][0]["total"]["count"] == 30
    assert (wrong.status_code, "hw:nope" in wrong.text) == (400, True)


def test_a_private_flavor_is_given_to_a_project_and_taken_back(people: People, as_person: AsPerson) -> None:
    admin, hidden = as_person(people.admin), flavor("secret.size", is_public=False)
    path = f"/flavors/{hidden.pk}/"

    before = as_person(people.member).get(path).status_code
    admin.post(f"{path}access/", {"project": "demo"})
    given = [as_person(getattr(people, one)).get(path).status_code for one in ("member", "reader", "stranger")]
    shown = admin.get(path).text
    admin.post(f"{path}access/", {"project": str(people.member.project_id), "act": "remove"})

    assert before == 404
    assert given == [200, 200, 404]
    assert 'aria-label="Take it back from demo"' in shown
    assert as_person(people.member).get(path).status_code == 404


def test_a_disabled_one_is_not_seen_by_projects_either(people: People, as_person: AsPerson) -> None:
    hidden = flavor("secret.size", is_public=False)
    flavor_access_add(flavor_id=hidden.pk, project_id=people.member.project_id)
    flavor_update(flavor_id=hidden.pk, changes={"disabled": True})

    assert as_person(people.member).get(f"/flavors/{hidden.pk}/").status_code == 404


def test_refusals_are_told_on_the_page(people: People, as_person: AsPerson) -> None:
    admin, hidden = as_person(people.admin), flavor("secret.size", is_public=False)
    public = Flavor.objects.get(name="m1.tiny")

    nobody = admin.post(f"/flavors/{hidden.pk}/access/", {"project": "nobody"}, follow=True).text
    for_all = admin.post(f"/flavors/{public.pk}/access/", {"project": "demo"}, follow=True).text
    unknown = admin.post(f"/flavors/{people.admin.user_id}/access/", {"project": "demo"})

    assert "There is no project nobody" in nobody
    assert "is public: every project may use it" in for_all
    assert unknown.status_code == 404
    assert not FlavorAccess.objects.exists()


def test_the_api_gives_and_takes_for_admins_alone(people: People) -> None:
    hidden = flavor("secret.size", is_public=False)
    path = f"/api/flavors/{hidden.pk}/projects/"
    one = f"{path}{people.member.project_id}/"
    admin = client_of(people.admin)

    put = [client_of(getattr(people, name)).put(one).status_code for name in PERSONS]
    listed = admin.get(path).json()
    seen = client_of(people.member).get(f"/api/flavors/{hidden.pk}/").status_code
    taken = [admin.delete(one).status_code for _ in range(2)]

    assert put == [204, 403, 403, 403]
    assert listed == {"projects": [str(people.member.project_id)]}
    assert (seen, taken) == (200, [204, 404])
    assert [client_of(getattr(people, name)).get(path).status_code for name in PERSONS] == [200, 403, 403, 403]


def test_the_editor_offers_the_values_of_a_key(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    headers = {"HX-Request": "true", "HX-Trigger": "spec-key-3"}

    hint = client.get("/flavors/spec/", {"spec_key": "hw:cpu_policy", "spec_value": ""}, headers=headers).text
    form = client.post("/flavors/new/", {"name": "", "spec_key": ["hw:cpu_policy"], "spec_value": ["x"]}).text

    assert re.search(r'<datalist id="spec-values-3"><option value="dedicated">', hint)
    assert 'list="spec-values-1"' in form
    assert '<datalist id="spec-values-1">' in form


@pytest.mark.parametrize("person", PERSONS[1:])
def test_nobody_else_sees_room_or_access(person: str, people: People, as_person: AsPerson) -> None:
    client, small = as_person(getattr(people, person)), Flavor.objects.get()
    page = client.get(f"/flavors/{small.pk}/").text

    assert client.get(f"/flavors/{small.pk}/room/").status_code == 403
    assert client.post(f"/flavors/{small.pk}/access/", {"project": "demo"}).status_code == 403
    assert ('id="room"' in page, 'id="access"' in page, 'id="history"' in page) == (False, False, False)
