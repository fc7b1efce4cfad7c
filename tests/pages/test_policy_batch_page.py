"""A batch under a version of the policy: sums beside the active one, page and API; and the sums of replays."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.models import SchedulingDecision
from scheduling.policies.services.policies import policy_create
from servers.models import Flavor, Instance
from tests.worlds.cloud import People, active, client_of

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")
STACK = {"weighers": {"RAMWeigher": -1.0}}


def row(page: str, title: str) -> list[str]:
    """The two sides of a row, as text."""
    found = re.search(rf'<th scope="row">{title}</th>(.*?)</tr>', page, re.DOTALL)
    assert found, page
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", found[1], re.DOTALL)]


def test_so_many_of_a_flavor_are_summed_under_both_policies(people: People, as_person: AsPerson) -> None:
    draft = policy_create(body=STACK)
    small = Flavor.objects.get()

    page = as_person(people.admin).get(f"/policies/{draft.pk}/batch/?run=1&flavor={small.pk}&count=6").text

    assert row(page, "Placed") == ["6", "6"]
    assert row(page, "Hosts that get some of it") == ["2", "1"]
    assert row(page, "Hosts used, before → after") == ["0 → 2", "0 → 1"]
    assert row(page, "Room for m1.tiny, before → after") == ["30 → 24", "30 → 24"]
    assert (Instance.objects.count(), SchedulingDecision.objects.count()) == (0, 0)


def test_recent_requests_are_run_one_after_another(people: People, as_person: AsPerson) -> None:
    for number in range(3):
        active(people.member, f"vm-{number}")
    draft = policy_create(body=STACK)

    page = as_person(people.admin).get(f"/policies/{draft.pk}/batch/", headers={"HX-Request": "true"}).text

    assert row(page, "Placed") == ["3", "3"]
    assert "3 instances of 1 kind" in page


def test_without_decisions_it_says_so(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get(f"/policies/{policy_create(body={}).pk}/batch/?run=1").text

    assert "There are no decisions about new instances yet" in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("count=x&flavor=m1.tiny", "whole number"),
        ("count=501&flavor=m1.tiny", "1 to 500"),
        ("flavor=none", "does not exist"),
        ("last=0", "from 1 to 200"),
    ],
)
def test_what_cannot_be_is_refused(query: str, said: str, people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get(f"/policies/{policy_create(body={}).pk}/batch/?run=1&{query}")

    assert (page.status_code, said in page.text) == (200, True)


def test_a_replay_has_its_sums(people: People, as_person: AsPerson) -> None:
    for number in range(2):
        active(people.member, f"vm-{number}")
    draft = policy_create(body=STACK)

    page = as_person(people.admin).get(f"/policies/{draft.pk}/preview/?now=1").text

    assert row(page, "as decided")[:3] == ["2", "0", "2"]
    assert row(page, draft.label)[:2] == ["2", "0"]


def test_the_api_gives_the_same_to_admins_alone(people: People) -> None:
    draft = policy_create(body=STACK)
    path, body = f"/api/policies/{draft.pk}/batch/", {"flavor": "m1.tiny", "count": 6}

    answers = [client_of(getattr(people, one)).post(path, body, format="json") for one in PERSONS]

    assert [one.status_code for one in answers] == [200, 403, 403, 403]
    batch = answers[0].json()["batch"]
    assert [batch[side]["hosts_chosen"] for side in ("live", "draft")] == [2, 1]
    assert batch["draft"]["policy"] == draft.label


def test_pages_are_for_admins(people: People, as_person: AsPerson) -> None:
    there = f"/policies/{policy_create(body={}).pk}/batch/"

    assert [as_person(getattr(people, one)).get(there).status_code for one in PERSONS] == [200, 403, 403, 403]
    assert Client().get(there).status_code == 302
