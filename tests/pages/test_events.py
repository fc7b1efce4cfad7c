"""Who may be told of what, and what a page gets where there is no stream to be had."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from controlplane.dashboard.events.page_feed import PageFeed, feeds_may_go_on
from controlplane.identity.domain import Caller
from controlplane.identity.domain.policy import rules_replace
from controlplane.identity.domain.policy_file import policy_text_read
from controlplane.identity.models import RoleAssignment, User
from controlplane.infra.event_streams import places_offered
from controlplane.launcher.web.streams import StreamOffer, StreamRoom
from servers.bulk.services.jobs import bulk_job_create
from tests.worlds.cloud import People, active, create

AsPerson = Callable[[Caller], Client]
FLEET = ("hosts", "host:h1", "work", "instances:all")


def topics(client: Client, *watches: str) -> set[str] | int:
    """What the stream that begins would hear of, or the status of the refusal."""
    offer = StreamOffer(StreamRoom())
    with places_offered(offer):
        answer = client.get("/events/", {"watch": watches})
    if offer.taken is None:
        return answer.status_code
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content).startswith(b"retry: ")
    return set(offer.taken[0].topics)  # type: ignore[attr-defined]


def test_admin_watches_everything(people: People, as_person: AsPerson) -> None:
    made = create(people.member)[0]
    told = topics(as_person(people.admin), *FLEET, "instances", f"instance:{made.pk}")
    own = f"instances:{people.admin.project_id}"
    assert told == {"hosts", "host:h1", "work", "instances", own, f"instance:{made.pk}"}


def watched(client: Client, path: str) -> set[str]:
    """What the page asks to be told of."""
    asked = re.findall('data-watch="([^"]+)"', client.get(path).text)
    return {one.removeprefix("watch=") for each in asked for one in unescape(each).split("&")}


@pytest.mark.parametrize("who", ["admin", "member", "reader"])
def test_page_watches_what_its_reader_may_be_told_of(people: People, as_person: AsPerson, who: str) -> None:
    job = bulk_job_create(caller=people.member, action="lock", ids=[active(people.member, "web").pk])
    client, of_admins = as_person(getattr(people, who)), who == "admin"
    wanted = {
        "/": {"instances:all", "hosts"} if of_admins else {"instances"},
        "/instances/": {"instances"},
        "/volumes/": {"volumes"},
        "/bulk-jobs/": {"work"} if of_admins else set(),
        f"/bulk-jobs/{job.pk}/": {"work"} if of_admins else set(),
    }
    assert {path: watched(client, path) for path in wanted} == wanted
    assert all(isinstance(topics(client, *watches), set) for watches in wanted.values() if watches)


@pytest.fixture
def members_see_work() -> Iterator[None]:
    rules_replace(policy_text_read("work:read: [member]"))
    yield
    rules_replace({})


@pytest.mark.usefixtures("members_see_work")
def test_member_who_may_see_work_is_told_of_it_on_both_pages_of_bulk_jobs(people: People, as_person: AsPerson) -> None:
    job = bulk_job_create(caller=people.member, action="lock", ids=[active(people.member, "web").pk])
    client = as_person(people.member)
    assert [watched(client, path) for path in ("/bulk-jobs/", f"/bulk-jobs/{job.pk}/")] == [{"work"}, {"work"}]
    assert topics(client, "work") == {"work"}


@pytest.mark.parametrize("who", ["member", "reader"])
def test_tenant_watches_the_instances_of_its_project_alone(people: People, as_person: AsPerson, who: str) -> None:
    caller, running = getattr(people, who), active(people.member, "web")
    pending = create(people.member)[0]
    told = topics(as_person(caller), "instances", f"instance:{running.pk}", f"instance:{pending.pk}")
    assert told == {f"instances:{caller.project_id}", f"instance:{running.pk}", f"instance:{pending.pk}"}
    assert [topics(as_person(caller), watch) for watch in FLEET] == [403] * len(FLEET)


def test_stranger_watches_nothing_of_it(people: People, as_person: AsPerson) -> None:
    made = create(people.member)[0]
    client = as_person(people.stranger)
    assert topics(client, "instances") == {f"instances:{people.stranger.project_id}"}
    assert topics(client, f"instance:{made.pk}") == topics(client, f"instance:{uuid4()}") == 404
    assert topics(client, "instances", f"instance:{made.pk}") == 404
    assert [topics(client, watch) for watch in FLEET] == [403] * len(FLEET)


def test_who_is_not_logged_in_is_sent_to_the_login(people: People) -> None:
    assert topics(Client(), "instances") == 302


@pytest.mark.parametrize(
    "watches",
    [
        (),
        ("",),
        ("nothing",),
        ("instance:x",),
        ("host:",),
        ("instances:00000000-0000-0000-0000-00000000000a",),
        ("hosts:h1",),
        ("host:a\nb",),
        ("host:" + "x" * 400,),
        ("work",) * 9,
    ],
)
def test_nonsense_is_refused(people: People, as_person: AsPerson, watches: tuple[str, ...]) -> None:
    assert topics(as_person(people.admin), *watches) == 400


def test_server_that_holds_no_streams_says_so(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).get("/events/?watch=instances")
    assert (answer.status_code, answer.content) == (204, b"")


class TestGoingOn:
    """Streams that are open, and what happens to their owners meanwhile."""

    @pytest.fixture
    def mary(self, people: People, as_person: AsPerson) -> Client:
        return as_person(people.member)

    @pytest.fixture
    def feed(self, people: People, mary: Client) -> PageFeed:
        return PageFeed(people.member, mary.session.session_key or "", {"work": "work"})

    def test_nothing_happened(self, feed: PageFeed, people: People, as_person: AsPerson) -> None:
        john = PageFeed(people.reader, as_person(people.reader).session.session_key or "", {"work": "work"})
        nobody = PageFeed(people.reader, "", {"work": "work"})
        assert feeds_may_go_on([feed, john, nobody, feed]) == [True, True, False, True]

    def test_logged_out(self, feed: PageFeed, mary: Client) -> None:
        mary.logout()
        assert feeds_may_go_on([feed]) == [False]

    def test_another_role(self, feed: PageFeed, people: People) -> None:
        RoleAssignment.objects.filter(user_id=people.member.user_id).update(role="reader")
        assert feeds_may_go_on([feed]) == [False]

    def test_no_role(self, feed: PageFeed, people: People) -> None:
        RoleAssignment.objects.filter(user_id=people.member.user_id).delete()
        assert feeds_may_go_on([feed]) == [False]

    def test_another_password(self, feed: PageFeed, people: People) -> None:
        user = User.objects.get(pk=people.member.user_id)
        user.set_password("another one")
        user.save()
        assert feeds_may_go_on([feed]) == [False]

    def test_inactive(self, feed: PageFeed, people: People) -> None:
        User.objects.filter(pk=people.member.user_id).update(is_active=False)
        assert feeds_may_go_on([feed]) == [False]

    def test_another_project(self, feed: PageFeed, people: People, mary: Client) -> None:
        RoleAssignment.objects.create(
            user_id=people.member.user_id, project_id=people.stranger.project_id, role="member"
        )
        mary.post("/project/", {"project": str(people.stranger.project_id)})
        assert feeds_may_go_on([feed]) == [False]

    def test_another_secret_key_with_the_old_one_as_fallback(self, feed: PageFeed, mary: Client, settings: Any) -> None:
        """Looking changes nothing of the session: its new key could not be told to the browser."""
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-" * 20, [settings.SECRET_KEY]
        assert feeds_may_go_on([feed]) == [True]
        assert Session.objects.filter(session_key=feed.session_key).exists()
        assert mary.get("/instances/").status_code == 200

    def test_another_secret_key_alone(self, feed: PageFeed, mary: Client, settings: Any) -> None:
        settings.SECRET_KEY = "new-" * 20
        assert feeds_may_go_on([feed]) == [False]
        assert mary.get("/instances/").status_code == 302
