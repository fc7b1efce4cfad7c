"""Projects with quotas and use, users with roles and tokens: for admins alone."""

import re
from collections.abc import Callable

from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.services import token_issue
from servers.catalog.selectors.project_use import quota_usages
from servers.catalog.selectors.quota import quota_usage
from tests.worlds.cloud import PASSWORD, People, active, create

AsPerson = Callable[[Caller], Client]
QUOTAS = dict.fromkeys(("quota_instances", "quota_cores", "quota_ram_mib", "quota_images", "quota_image_bytes"), "")


def test_projects_are_listed_with_their_use(people: People, as_person: AsPerson) -> None:
    active(people.member)
    create(people.member, "waiting")

    page = as_person(people.admin).get("/projects/").text

    row = re.search(r"demo</a>.*?</tr>", page, re.DOTALL)
    assert row is not None
    assert re.findall(r'<td class="num" data-label="\w+">(\d+) <span', row[0])[:2] == ["2", "2"]
    ids = [people.member.project_id, people.stranger.project_id]
    assert quota_usages(project_ids=ids) == {people.member.project_id: quota_usage(project_id=people.member.project_id)}


def test_a_project_is_made_with_quotas_and_changed(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    client.post("/projects/new/", {"name": "lab", "enabled": "on", **QUOTAS, "quota_instances": "3"})

    lab = Project.objects.get(name="lab")
    assert (lab.quota_instances, lab.quota_cores, lab.enabled) == (3, None, True)
    taken = client.post(f"/projects/{lab.pk}/edit/", {"name": "demo", **QUOTAS}).text
    assert "A project with this name exists already." in taken
    wrong = client.post(f"/projects/{lab.pk}/edit/", {"name": "lab", **QUOTAS, "quota_cores": "-2"}).text
    assert 'class="errorlist"' in wrong
    client.post(f"/projects/{lab.pk}/edit/", {"name": "lab", **QUOTAS, "quota_cores": "-1"})
    lab.refresh_from_db()
    assert (lab.quota_instances, lab.quota_cores, lab.enabled) == (None, -1, False)


def test_defaults_of_quotas_in_bytes_are_readable(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/projects/new/").text
    assert "Empty: the default, 137438953472 (128 GiB). -1: unlimited." in page
    assert "Empty: the default, 10240 (10 KiB). -1: unlimited." in page
    assert "Empty: the default, 255. -1: unlimited." in page


def test_roles_are_given_and_taken_away(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    demo = people.member.project_id
    data = {"project": str(demo), "role": "reader", "do": "grant"}

    given = client.post("/users/roles/", {**data, "username": "stan"})

    assert given.headers["Location"] == f"/projects/{demo}/"
    assert RoleAssignment.objects.filter(user__username="stan", project_id=demo, role="reader").exists()
    assert "stan" in client.get(f"/projects/{demo}/").text
    taken = client.post("/users/roles/", {**data, "user": str(people.stranger.user_id), "do": "revoke", "from": "user"})
    assert taken.headers["Location"] == f"/users/{people.stranger.user_id}/"
    assert not RoleAssignment.objects.filter(user__username="stan", project_id=demo).exists()
    assert client.post("/users/roles/", {**data, "username": "nobody"}).status_code == 404
    assert client.post("/users/roles/", {**data, "username": "stan", "role": "king"}).status_code == 400
    assert client.post("/users/roles/", {**data, "username": "stan", "project": "x"}).status_code == 400


def test_a_user_is_made_and_changed(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    weak = client.post("/users/new/", {"username": "nora", "password": "12345", "is_active": "on"}).text
    client.post("/users/new/", {"username": "nora", "password": PASSWORD, "is_active": "on"})

    assert 'class="errorlist"' in weak
    nora = User.objects.get(username="nora")
    client.post(f"/users/{nora.pk}/edit/", {"username": "nora", "email": "n@example.org", "password": ""})
    nora.refresh_from_db()
    assert (nora.email, nora.is_active, nora.check_password(PASSWORD)) == ("n@example.org", False, True)
    assert "can log in and do nothing" in client.get(f"/users/{nora.pk}/").text
    assert PASSWORD not in client.get(f"/users/{nora.pk}/edit/").text


def test_a_token_of_a_user_is_revoked(people: People, as_person: AsPerson) -> None:
    token_issue(username="mary", password=PASSWORD)
    token = Token.objects.get(user__username="mary")
    path = f"/users/{people.member.user_id}/"

    assert str(token.pk) in as_person(people.admin).get(path).text
    elsewhere = as_person(people.admin).post(f"/users/{people.reader.user_id}/revoke/", {"token": str(token.pk)})
    gone = as_person(people.admin).post(f"{path}revoke/", {"token": str(token.pk)})

    assert (elsewhere.status_code, gone.status_code) == (400, 302)
    token.refresh_from_db()
    assert token.revoked


def test_the_menu_has_what_one_may_open(people: People, as_person: AsPerson) -> None:
    admins, members = (as_person(one).get("/flavors/").text for one in (people.admin, people.member))

    for path in ("/projects/", "/hosts/", "/work/"):
        assert (f'href="{path}"' in admins, f'href="{path}"' in members) == (True, False)
    assert '<a href="/flavors/" data-go="f" aria-current="page">Flavors' in members
    assert members.count('aria-current="page"') == 1
    assert ">Compute</h2>" in members
    assert (">Fleet</h2>" in admins, ">Fleet</h2>" in members) == (True, False)


def test_somebody_without_a_role_is_told_whom_to_ask(people: People, as_person: AsPerson) -> None:
    RoleAssignment.objects.filter(user_id=people.member.user_id).delete()

    page = as_person(people.member).get("/", follow=True)

    assert page.status_code == 403
    assert "Ask an administrator for a role in a project" in page.text
    assert "Go to the overview" not in page.text
