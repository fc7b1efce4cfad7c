"""Saved views: who makes, sees, changes and deletes them, by the API and by their page."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import SavedView, User
from controlplane.identity.services import saved_views
from controlplane.identity.services.saved_views import saved_view_create
from tests.worlds.cloud import People, client_of, people

pytestmark = pytest.mark.django_db
PATH = "/api/saved-views/"
BODY = {"list": "instances", "name": "Failed", "query": "status=ERROR&sort=-name&page=3"}


@pytest.fixture
def four() -> People:
    return people()


@pytest.fixture
def as_person() -> Callable[[Caller], Client]:
    def logged_in(caller: Caller) -> Client:
        client = Client()
        client.force_login(User.objects.get(pk=caller.user_id))
        return client

    return logged_in


def seen(caller: Caller) -> set[str]:
    return {one["name"] for one in client_of(caller).get(PATH).json()["results"]}


def test_view_is_made_without_the_page_changed_and_deleted(four: People) -> None:
    client = client_of(four.reader)
    made = client.post(PATH, BODY, format="json")
    assert made.status_code == 201
    assert (made.json()["query"], made.json()["sharing"], made.json()["user"]) == (
        "status=ERROR&sort=-name",
        "private",
        "rita",
    )
    address = f"{PATH}{made.json()['id']}/"
    assert client.patch(address, {"name": "Broken"}, format="json").json()["name"] == "Broken"
    assert client.delete(address).status_code == 204
    assert not SavedView.objects.exists()


def test_who_sees_a_view_is_as_it_is_shared(four: People) -> None:
    for name, sharing in (("mine", "private"), ("ours", "project"), ("all", "all")):
        saved_view_create(caller=four.admin, list="hosts", name=name, query="", sharing=sharing)

    assert seen(four.admin) == {"mine", "ours", "all"}
    assert seen(four.member) == seen(four.reader) == {"ours", "all"}
    assert seen(four.stranger) == {"all"}


@pytest.mark.parametrize(
    ("person", "sharing", "status"),
    [("reader", "project", 403), ("member", "project", 201), ("member", "all", 403), ("admin", "all", 201)],
)
def test_sharing_needs_a_role(person: str, sharing: str, status: int, four: People) -> None:
    answer = client_of(getattr(four, person)).post(PATH, {**BODY, "sharing": sharing}, format="json")
    assert answer.status_code == status
    assert SavedView.objects.count() == (status == 201)


def test_only_owner_and_admin_change_a_shared_view(four: People) -> None:
    view = saved_view_create(caller=four.member, list="hosts", name="ours", query="", sharing="project")
    address = f"{PATH}{view.pk}/"

    assert client_of(four.reader).patch(address, {"name": "x"}, format="json").status_code == 403
    assert client_of(four.reader).delete(address).status_code == 403
    assert client_of(four.stranger).delete(address).status_code == 404
    assert client_of(four.admin).patch(address, {"is_default": True}, format="json").status_code == 403
    assert client_of(four.admin).patch(address, {"name": "renamed"}, format="json").status_code == 200
    assert SavedView.objects.get().name == "renamed"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"list": "nothing"}, "list"),
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"query": "x" * 2001}, "query"),
        ({"query": "a=%00"}, "query"),
        ({"query": "no query"}, "query"),
        ({"sharing": "world"}, "sharing"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_input_names_its_field(change: dict[str, str], field: str, four: People) -> None:
    answer = client_of(four.member).post(PATH, BODY | change, format="json")
    assert answer.status_code == 400
    assert field in str(answer.json())


def test_name_is_taken_once_and_views_are_bounded(four: People, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(four.member)
    assert client.post(PATH, BODY, format="json").status_code == 201
    assert client.post(PATH, BODY, format="json").status_code == 409
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 1)
    assert client.post(PATH, BODY | {"name": "other"}, format="json").status_code == 400


def test_list_opens_with_the_default_view_and_there_is_one_of_them(
    four: People, as_person: Callable[[Caller], Client]
) -> None:
    client = as_person(four.member)
    posted = {"list": "flavors", "name": "Small", "query": "vcpus_min=2&columns=name,vcpus", "is_default": "true"}
    first = client.post("/views/new/", posted, follow=True)
    assert "The view “Small” is saved." in first.text
    client.post("/views/new/", {**posted, "name": "Large", "query": "vcpus_min=8&columns=name,memory"})

    opened = client.get("/flavors/", follow=True)

    assert SavedView.objects.get(is_default=True).name == "Large"
    assert opened.context["query"].given.dict() == {"vcpus_min": "8"}
    bare = client.get("/flavors/?view=")
    assert bare.context["query"].given.dict() == {}
    assert [one.key for one in bare.context["query"].columns] == ["name", "memory"]  # the columns stay


def test_page_of_views_renames_and_deletes_and_refuses_in_words(
    four: People, as_person: Callable[[Caller], Client]
) -> None:
    view = saved_view_create(
        caller=four.member, list="images", name="Public", query="visibility=public", sharing="project"
    )
    member, reader = as_person(four.member), as_person(four.reader)

    assert "/images/?visibility=public&amp;view=" in member.get("/views/").text
    assert "only they and admins change it" in reader.post(f"/views/{view.pk}/", {"name": "x"}, follow=True).text
    assert "is changed" in member.post(f"/views/{view.pk}/", {"name": "Open", "sharing": "private"}, follow=True).text
    assert "Open" not in reader.get("/views/").text
    assert "is deleted" in member.post(f"/views/{view.pk}/", {"action": "delete"}, follow=True).text
    assert not SavedView.objects.exists()
