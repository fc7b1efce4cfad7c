"""Decisions for people: the list and its filters, the funnel, refused hosts, scores."""

import re
import uuid
import zlib
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulerPolicy, SchedulingDecision, ShadowResult
from tests.worlds.cloud import People, active, client_of, create, finish_builds, host, pump
from tests.worlds.decisions import HTMX, PART, AsPerson, address, decision_of, refused_names, shown, unplaced

# The list.


def found(client: Client, **query: str) -> set[uuid.UUID]:
    answer = client.get("/decisions/", query)
    assert answer.status_code == 200
    return {row.decision.pk for row in answer.context["rows"]}


def test_decisions_are_found_by_each_filter_of_the_api(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    good, bad = decision_of(instance), unplaced(people)
    client = as_person(people.admin)
    soon = (good.created_at + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")

    asked: dict[str, dict[str, str]] = {
        "instance": {"instance": str(instance.pk)},
        "host": {"host": instance.host},
        "outcome": {"outcome": "selected"},
        "subject": {"subject": str(good.subject)},
    }
    assert {name: found(client, **query) for name, query in asked.items()} == {name: {good.pk} for name in asked}
    asked = {
        "refused_host": {"refused_host": "h1"},
        "reason": {"reason": "disk_short"},
        "stage": {"stage": "placement", "reason": "disk_short"},
    }
    assert {name: found(client, **query) for name, query in asked.items()} == {name: {bad.pk} for name in asked}
    assert found(client, created_before=soon, policy_version="defaults") == {good.pk, bad.pk}
    assert found(client, created_after=soon) == set()


def test_the_page_finds_what_the_api_finds(people: People, as_person: AsPerson) -> None:
    active(people.member)
    unplaced(people)
    query = {"reason": "disk_short", "refused_host": "h2"}

    api = client_of(people.admin).get("/api/decisions/", query).json()["results"]

    assert {str(one) for one in found(as_person(people.admin), **query)} == {one["id"] for one in api}


def test_decision_of_another_version_is_a_page_that_says_so(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))
    SchedulingDecision.objects.filter(pk=decision.pk).update(trace=zlib.compress(b'{"format": 99}'))

    answer = as_person(people.admin).get(address(decision))

    assert answer.status_code == 409
    assert "written by another version" in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ({"instance": "web-1"}, "Instance"),
        ({"reason": "bad luck"}, "Refused hosts for"),
        ({"created_after": "yesterday"}, "From"),
        ({"stage": "\x00"}, "Refused by"),
    ],
)
def test_a_filter_that_cannot_be_read_is_named_and_nothing_is_shown_for_it(
    query: dict[str, str], title: str, people: People, as_person: AsPerson
) -> None:
    active(people.member)

    answer = as_person(people.admin).get("/decisions/", query)

    assert f"<b>{title}</b>:" in answer.text
    assert answer.context["page"].count == 0


def test_filters_stay_in_their_fields(people: People, as_person: AsPerson) -> None:
    query = {"stage": "RamFilter", "created_after": "2026-01-02T03:04:05Z", "policy_version": "default-v1"}

    page = as_person(people.admin).get("/decisions/", query).text

    assert 'value="RamFilter"' in page
    assert 'value="2026-01-02T03:04"' in page
    assert 'value="default-v1"' in page


def test_a_tenant_cannot_filter_by_host(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    client = as_person(people.member)

    assert found(client, host="elsewhere", refused_host="h1") == {decision_of(instance).pk}
    assert 'name="host"' not in client.get("/decisions/").text


def test_a_tenant_sees_the_decisions_of_the_own_project_alone(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    assert found(as_person(people.stranger)) == set()
    assert found(as_person(people.stranger), instance=str(instance.pk)) == set()
    assert found(as_person(people.reader)) == {decision_of(instance).pk}


@pytest.mark.parametrize(
    ("query", "reported"), [({}, "No decisions yet"), ({"outcome": "error"}, "Nothing matches the filters")]
)
def test_an_empty_list_says_what_to_do(
    query: dict[str, str], reported: str, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.member).get("/decisions/", query).text

    assert reported in page
    assert ("Create an instance" in page, "show all decisions" in page) == (not query, bool(query))


def test_htmx_gets_the_rows_of_the_list_alone(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/decisions/?outcome=error", headers=HTMX).text

    assert "<html" not in page
    assert 'id="rows"' in page


# One decision.


def test_the_funnel_tells_hosts_in_hosts_left_and_time_of_each_stage(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="x")
    instance = active(people.member)

    stages = shown(as_person(people.admin), decision_of(instance))["funnel"]

    first, last = stages[0], stages[-1]
    assert (first.hosts_in, first.hosts_out, first.refused, first.reasons) == (2, 1, 1, (("disabled", 1),))
    assert (last.name, last.hosts_out) == ("weigh", 1)
    assert all(after.hosts_in == before.hosts_out for before, after in pairwise(stages))


def test_refused_hosts_are_grouped_by_stage_and_reason(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="x")
    decision = unplaced(people)

    groups = shown(as_person(people.admin), decision)["refused_groups"]

    reported = [(one.rule.stage, one.rule.reason.value, [each.host for each in one.shown]) for one in groups]
    assert reported == [("request_filters", "disabled", ["h2"]), ("placement", "disk_short", ["h1"])]


def test_refused_hosts_are_filtered(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="x")
    decision = unplaced(people)
    client = as_person(people.admin)
    asked = {
        "?stage=placement": ["h1"],
        "?reason=disabled": ["h2"],
        "?name=H2": ["h2"],
        "?stage=placement&name=h2": [],
        "?reason=nonsense": [],
        "?page=99": ["h2", "h1"],
    }
    pages = {query: client.get(f"{address(decision)}{query}") for query in asked}

    assert {query: refused_names(page.context) for query, page in pages.items()} == asked
    empty = {query for query, page in pages.items() if "No refused host matches" in page.text}
    assert empty == {query for query, names in asked.items() if not names}


def test_refused_hosts_are_paged_through_htmx(people: People, as_person: AsPerson) -> None:
    for number in range(25):
        host(f"more-{number:02}")
    decision = unplaced(people)
    client = as_person(people.admin)

    pages = [client.get(f"{address(decision)}?page={number}", headers=PART) for number in (1, 2)]

    assert [len(refused_names(one.context)) for one in pages] == [25, 2]
    assert "<html" not in pages[0].text
    assert pages[1].context["refused_groups"][0].rule.hosts == 27


def test_scores_are_sorted_by_weigher_host_and_rank(people: People, as_person: AsPerson) -> None:
    host("large", memory_mib=16384)
    decision = decision_of(active(people.member))
    client = as_person(people.admin)

    def order(sort: str) -> list[str]:
        return [one.host for one in shown(client, decision, f"?sort={sort}")["scores_page"]]

    assert order("rank")[0] == order("-RAMWeigher")[0] == order("nonsense")[0] == "large"
    assert order("RAMWeigher")[-1] == order("-rank")[-1] == "large"
    assert order("host") == ["h1", "h2", "large"]
    assert order("-host") == ["large", "h2", "h1"]


def test_a_score_is_its_scaled_value_times_the_multiplier(people: People, as_person: AsPerson) -> None:
    host("large", memory_mib=16384)
    decision = decision_of(active(people.member))

    table = shown(as_person(people.admin), decision)["scores"]
    best = table[0]
    ram = best.scores[[one.title for one in table.columns].index("RAM")]

    assert (ram.normalised, ram.points) == (1.0, ram.multiplier)
    assert ram.raw > 8192
    assert best.total == pytest.approx(sum(one.points for one in best.scores))


def test_a_sorted_heading_says_so_and_turns_the_order_round(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))

    page = as_person(people.admin).get(f"{address(decision)}?sort=-RAMWeigher").text

    assert 'aria-sort="descending"><a id="s-RAMWeigher" href="/decisions/' in page
    assert f"{address(decision)}?sort=RAMWeigher#scores" in page


def test_the_chosen_host_its_alternates_and_its_claim_are_told(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    one = shown(as_person(people.admin), decision_of(instance))["instances"][0]

    assert (one.host, one.rank, one.alternates) == (instance.host, 1, ("h2",) if instance.host == "h1" else ("h1",))
    assert dict(one.claimed) == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def test_a_decision_leads_to_its_policy_version(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))
    version = SchedulerPolicy.objects.create(name="spread", version=3, body={})
    client = as_person(people.admin)
    before = client.get(address(decision)).text
    SchedulingDecision.objects.filter(pk=decision.pk).update(policy_version="spread-v3")

    assert '<a href="/policies/defaults/">defaults</a>' in before
    assert f'<a href="/policies/{version.pk}/">spread-v3</a>' in client.get(address(decision)).text


def test_a_shadow_is_compared_for_operators_alone(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))
    ShadowResult.objects.create(
        policy=SchedulerPolicy.objects.create(name="spread", version=3, body={}),
        decision=decision,
        live_version="defaults",
        outcome="elsewhere",
        instance_count=1,
        moved_count=1,
        decided_host="h1",
        shadow_host="<b>h2</b>",
        duration_us=10,
    )

    whole = as_person(people.admin).get(address(decision)).text
    redacted = as_person(people.member).get(address(decision)).text

    assert "It would have chosen otherwise: &lt;b&gt;h2&lt;/b&gt; instead of h1." in whole
    assert "shadow" not in redacted


def test_a_tenant_is_told_reasons_and_numbers_but_no_host(people: People, as_person: AsPerson) -> None:
    host("secret-host")
    service_disable(host="secret-host", reason="secret-reason")
    decisions = [unplaced(people), decision_of(active(people.member))]
    client = as_person(people.member)
    queries = ("", "?host=secret-host", "?name=secret", "?sort=host", "?reason=disabled")

    pages = [
        client.get(f"{address(one)}{query}", headers=how)
        for one in decisions
        for query in queries
        for how in ({}, PART)
    ]

    assert [one.status_code for one in pages] == [200] * len(pages)
    assert "Disabled" in pages[0].text
    # The frame knows its own address.
    texts = [one.text.replace("?host=secret-host", "") for one in pages]
    assert not [text for text in texts if "secret-" in text or "/hosts/" in text]
    assert not [text for text in texts if re.search(r"\bh[12]\b", re.sub(r"<[^>]*>", " ", text))]


def test_names_that_look_like_html_are_shown_as_text(people: People, as_person: AsPerson) -> None:
    host("<img src=x>&\"'")
    decision = unplaced(people)
    client = as_person(people.admin)

    page = (
        client.get(f"{address(decision)}?name=<img&host=<img src=x>%26\"'&stage=<b>").text
        + client.get("/decisions/").text
    )

    assert "<img src=x>" not in page
    assert "&lt;img src=x&gt;" in page


def test_a_host_with_a_slash_or_question_mark_in_its_name_is_linked_to_its_own_page(
    people: People, as_person: AsPerson
) -> None:
    host("odd?name#1")
    decision = unplaced(people)

    assert 'href="/hosts/odd%3Fname%231/"' in as_person(people.admin).get(address(decision)).text


def test_a_large_decision_costs_the_queries_of_a_small_one(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    small = [unplaced(people, "early"), decision_of(active(people.member, "early"))]
    for number in range(25):  # more than stand on one page
        host(f"more-{number}")
    large = [unplaced(people, "late"), decision_of(active(people.member, "late"))]

    def queries(decision: SchedulingDecision) -> int:
        client.get(address(decision))
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"{address(decision)}?host=more-1").status_code == 200
        return len(seen)

    assert [queries(one) for one in large] == [queries(one) for one in small]


def test_a_filtered_list_costs_the_same_queries_with_more_decisions(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    def queries() -> int:
        path = "/decisions/?refused_host=h1&reason=disk_short&stage=placement"
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    unplaced(people, "first")
    few = queries()
    for number in range(6):
        unplaced(people, f"more-{number}")
    assert queries() == few


def test_a_batch_shows_the_stages_and_scores_of_each_instance(people: People, as_person: AsPerson) -> None:
    made = create(people.member, "many", min_count=3, max_count=3)
    pump()
    finish_builds()
    client = as_person(people.admin)
    decision = decision_of(made[0])

    second = shown(client, decision, "?round=2")

    assert len(second["rounds"]) == len(second["instances"].object_list) == 3
    assert second["funnel"]
    assert "There is no instance 9 in this batch." in client.get(f"{address(decision)}?round=9").text


def test_a_host_keeps_the_case_of_its_name_at_the_beginning_of_a_sentence(people: People, as_person: AsPerson) -> None:
    decision = decision_of(active(people.member))

    page = as_person(people.admin).get(f"{address(decision)}?host=h2").text

    assert "h2 passed every filter" in page or "h2 was chosen" in page
    assert "H2 " not in page


def test_refused_hosts_stand_in_the_order_in_which_people_count(people: People, as_person: AsPerson) -> None:
    host("h10")

    names = refused_names(shown(as_person(people.admin), unplaced(people)))

    assert names == ["h1", "h2", "h10"]
