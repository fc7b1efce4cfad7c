"""Why a host is always or never chosen, on its page."""

import uuid
from collections.abc import Callable

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from scheduling.decisions.selectors.host_record import HostOutcome
from scheduling.fleet.services.service_states import service_disable
from tests.worlds.cloud import People, active, create, flavor, host, pump

AsPerson = Callable[[Caller], Client]


def test_a_host_without_decisions_says_what_will_come(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/hosts/h1/").text

    assert "No decisions yet" in page
    assert 'href="/instances/create/"' in page


def test_a_host_that_came_later_than_all_decisions_says_so(people: People, as_person: AsPerson) -> None:
    active(people.member)
    host("late")

    assert "No decision has looked at it yet" in as_person(people.admin).get("/hosts/late/").text


def test_a_host_that_wins_loses_and_refuses_is_told_with_examples_and_ways_to_all(
    people: People, as_person: AsPerson
) -> None:
    host("large", memory_mib=65536)
    instance = active(people.member)
    flavor("huge", root_gib=5000)
    create(people.member, flavor="huge")
    pump()
    client = as_person(people.admin)

    winner, loser = client.get("/hosts/large/"), client.get("/hosts/h1/")

    assert winner.context["record"].sentence.startswith("Chosen in 1 of 2 decisions (50%); refused in 50%, mostly for")
    assert f'href="/decisions/{instance.decision_id}/?host=large#why-not"' in winner.text
    assert 'href="/decisions/?host=large"' in winner.text
    assert 'href="/decisions/?refused_host=h1"' in loser.text
    assert loser.context["record"].of(HostOutcome.OUTRANKED).decisions == 1
    assert loser.context["record"].outranked.weighers[0].weigher == "RAMWeigher"
    assert "?host=h1&amp;sort=-RAMWeigher#scores" in loser.text


def test_the_bar_fills_its_width(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="x")
    active(people.member)

    rows = as_person(people.admin).get("/hosts/h2/").context["outcomes"]

    assert sum(one.width for one in rows) == 1000
    assert [one.width for one in rows if one.count.host_outcome is HostOutcome.REFUSED] == [1000]


def test_a_name_that_looks_like_html_is_shown_as_text(people: People, as_person: AsPerson) -> None:
    host("<b>&x")
    active(people.member)

    page = as_person(people.admin).get("/hosts/%3Cb%3E&x/").text

    assert "<b>&x" not in page
    assert "?host=%3Cb%3E%26x" in page


def test_a_host_costs_the_same_queries_with_more_decisions(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    flavor("huge", root_gib=5000)

    def decide(times: int) -> None:
        for _ in range(times):
            active(people.member, f"vm-{uuid.uuid4()}")
            create(people.member, flavor="huge")
            pump()

    def queries() -> int:
        client.get("/hosts/h1/")
        with CaptureQueriesContext(connection) as seen:
            assert client.get("/hosts/h1/").status_code == 200
        return len(seen)

    decide(2)
    few = queries()
    decide(5)
    assert queries() == few
