"""Hosts, decisions and the overview; the frame; the policy for contents."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from controlplane.identity.selectors.own_projects import MAX_OFFERED
from servers.models import Image, Instance
from tests.worlds.cloud import PASSWORD, People, active, create, flavor, host, pump

AsPerson = Callable[[Caller], Client]


def unplaced(people: People) -> Instance:
    flavor("huge", root_gib=5000)
    made = create(people.member, flavor="huge")[0]
    pump()
    return Instance.objects.get(pk=made.pk)


def test_a_host_is_disabled_with_a_reason_and_enabled_again(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    off = client.post("/hosts/h1/act/", {"action": "disable", "reason": "new memory"}, follow=True)
    on = client.post("/hosts/h1/act/", {"action": "enable"}, follow=True)

    assert "Disabled: new memory" in off.text
    assert "h1 is enabled." in on.text
    assert "Disabled: new memory" not in on.text


def test_an_unknown_action_on_a_host_is_refused(people: People, as_person: AsPerson) -> None:
    assert as_person(people.admin).post("/hosts/h1/act/", {"action": "explode"}).status_code == 400


def test_hosts_are_filtered_by_a_part_of_the_name(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    assert [row.host.host for row in client.get("/hosts/?q=h2").context["rows"]] == ["h2"]
    assert "Nothing matches the filters" in client.get("/hosts/?q=zz").text


def test_a_nul_in_a_filter_is_told_and_finds_nothing(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.admin).get("/hosts/?q=%00h2")

    assert "<b>Search</b>: Null characters are not allowed." in answer.text
    assert answer.context["rows"] == []


def test_a_decision_shows_scores_and_leaves_out_weighers_that_said_nothing(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    scores = as_person(people.admin).get(f"/decisions/{instance.decision_id}/").context["scores"]

    assert {one.host for one in scores} == {"h1", "h2"}
    assert "RAM" in {one.title for one in scores.columns}
    assert "IoOps" in scores.silent
    assert [len(one.scores) for one in scores] == [len(scores.columns)] * 2


def test_a_decision_that_found_no_host_tells_an_admin_why_for_each(people: People, as_person: AsPerson) -> None:
    decision_id = unplaced(people).decision_id

    page = as_person(people.admin).get(f"/decisions/{decision_id}/")

    assert {one.host for group in page.context["refused_groups"] for one in group.shown} == {"h1", "h2"}
    assert "disk: wants 5,000 GiB" in page.text


def test_a_tenant_learns_the_reasons_but_no_host(people: People, as_person: AsPerson) -> None:
    host("secret-host")
    decision_id = unplaced(people).decision_id
    client = as_person(people.member)

    page = client.get(f"/decisions/{decision_id}/").text

    assert ("Not enough disk" in page, "secret-host" in page) == (True, False)
    assert "answer" not in client.get(f"/decisions/{decision_id}/?host=secret-host").context


@pytest.mark.parametrize(("asked", "reported"), [("h1", "h1 was refused by"), ("h9", "h9 was not among the 2 hosts")])
def test_why_not_a_host_is_answered(asked: str, reported: str, people: People, as_person: AsPerson) -> None:
    decision_id = unplaced(people).decision_id

    assert reported in as_person(people.admin).get(f"/decisions/{decision_id}/?host={asked}").context["answer"].sentence


@pytest.mark.parametrize("number", ["0", "99", "-1", "x", "²"])
def test_a_round_that_does_not_exist_still_shows_the_decision(number: str, people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    assert as_person(people.admin).get(f"/decisions/{instance.decision_id}/", {"round": number}).status_code == 200


def test_decisions_are_filtered_by_outcome(people: People, as_person: AsPerson) -> None:
    active(people.member)
    unplaced(people)
    client = as_person(people.admin)

    found = {
        outcome: client.get(f"/decisions/?outcome={outcome}").context["page"].count
        for outcome in ("selected", "no_valid_host", "nonsense")
    }

    assert found == {"selected": 1, "no_valid_host": 1, "nonsense": 0}


def test_the_overview_asks_often_only_while_something_is_under_way(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    quiet = client.get("/").text
    create(people.member)

    assert 'data-live="30"' in quiet
    assert 'data-live="2"' in client.get("/").text


def test_the_overview_shows_what_the_images_of_the_project_take(people: People, as_person: AsPerson) -> None:
    Image.objects.create(name="i", project_id=people.member.project_id, size_bytes=5 * 2**20, status="active")
    Project.objects.filter(pk=people.member.project_id).update(quota_image_bytes=10 * 2**20, quota_images=-1)
    shown = {one.label: (one.used, one.limit) for one in as_person(people.member).get("/").context["quota"]}

    assert (shown["Images"], shown["Image data"], shown["Image uploads now"]) == ((1, -1), (5, 10), (0, 4))


def test_a_person_logs_in_with_a_password_and_out_again(people: People) -> None:
    client = Client()
    inside = client.post("/login/", {"username": "mary", "password": PASSWORD, "next": "/instances/"})
    outside = client.post("/logout/")

    assert (inside.headers["Location"], outside.headers["Location"]) == ("/instances/", "/login/")
    assert client.get("/").status_code == 302


def test_a_wrong_password_is_told_without_saying_which_part_was_wrong(people: People) -> None:
    reported = [
        list(Client().post("/login/", {"username": name, "password": "wrong"}).context["form"].non_field_errors())
        for name in ("mary", "nobody")
    ]

    assert reported == [["The username or the password is wrong."]] * 2


def test_a_login_never_leads_to_another_site(people: People) -> None:
    answer = Client().post("/login/", {"username": "mary", "password": PASSWORD, "next": "https://evil.example/"})

    assert answer.headers["Location"] == "/"


def test_a_project_of_somebody_else_cannot_be_switched_to(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    page = client.post("/project/", {"project": str(people.stranger.project_id)}, follow=True)

    assert "You have no role in that project." in page.text
    assert page.context["caller"].project_name == "demo"


def test_of_many_projects_the_one_to_work_in_is_named(people: People, as_person: AsPerson) -> None:
    """A cloud has thousands: no page of a superuser carries them all."""
    User.objects.filter(username="root").update(is_superuser=True)
    Project.objects.bulk_create(Project(name=f"team-{number:03}") for number in range(MAX_OFFERED))
    client = as_person(people.admin)

    before = client.get("/")
    unknown = client.post("/project/", {"project": "team-999"}, follow=True)
    after = client.post("/project/", {"project": " team-049 "}, follow=True)

    assert 'name="project" value="demo"' in before.text
    assert "team-007" not in before.text
    assert "You have no role in that project." in unknown.text
    assert after.context["caller"].project_name == "team-049"


@pytest.mark.parametrize(("theme", "kept"), [("dark", "dark"), ("light", "light"), ("system", ""), ("x' y=", "")])
def test_the_theme_is_kept_in_a_cookie(theme: str, kept: str, people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    client.post("/theme/", {"theme": theme})

    assert (f'data-theme="{kept}"' in client.get("/").text) is bool(kept)


def test_switching_the_theme_comes_back_to_the_page_but_never_to_another_site(people: People) -> None:
    there = [Client().post("/theme/", {"next": to}).headers["Location"] for to in ("/hosts/?name=1", "//evil.example")]

    assert there == ["/hosts/?name=1", "/"]


@pytest.mark.parametrize(
    "path", ["/", "/instances/", "/instances/create/", "/hosts/", "/providers/", "/decisions/", "/nowhere/"]
)
def test_no_page_needs_more_than_its_own_files(path: str, people: People, as_person: AsPerson) -> None:
    answer = as_person(people.admin).get(path)

    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert [bad for bad in (" style=", "<style", "<script>", " onclick=", "javascript:") if bad in answer.text] == []


def test_a_page_that_does_not_exist_keeps_the_frame(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/nowhere/").text

    assert 'href="/hosts/"' in page
    assert "Page not found" in page


def test_only_the_page_of_the_api_lets_inline_styles_through(people: People) -> None:
    policy = Client().get("/api/docs/").headers["Content-Security-Policy"]

    assert "style-src 'self' 'unsafe-inline'" in policy
    assert "script-src" not in policy


@pytest.mark.parametrize(("path", "names"), [("/hosts/", "rows"), ("/providers/", "rows")])
def test_lists_stand_in_the_order_in_which_people_count(
    path: str, names: str, people: People, as_person: Callable[[Caller], Client]
) -> None:
    for name in ("hv-10", "hv-2", "hv-1"):
        host(name)

    found = as_person(people.admin).get(path).context[names]

    shown = [getattr(getattr(one, "host", None), "host", None) or one.name for one in found]
    assert [name for name in shown if name.startswith("hv-")] == ["hv-1", "hv-2", "hv-10"]
