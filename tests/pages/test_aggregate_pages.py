"""Aggregates in the panel: hosts as check boxes over pages and filters, the effect before the save, and refusals."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from scheduling.fleet.services.aggregates import MAX_HOSTS_AT_ONCE, aggregate_create_whole, aggregate_update
from scheduling.models import Aggregate, AggregateHost, HostMapping
from tests.worlds.cloud import People, active, host

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")


def hidden(page: str) -> dict[str, str]:
    """The fields that carry the editor's state."""
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    fields |= dict(re.findall(r'<textarea name="(\w+)" hidden>([^<]*)</textarea>', page))
    fields.pop("csrfmiddlewaretoken", None)
    return fields


def members(aggregate: Aggregate) -> set[str]:
    return set(AggregateHost.objects.filter(aggregate=aggregate).values_list("host", flat=True))


def draft(**more: Any) -> dict[str, Any]:
    return {"name": "rack", "zone": "az1", **more}


def test_a_new_aggregate_is_saved_only_after_its_effect_was_shown(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    data = draft(host=["h1"], shown="h1\nh2", spec_key=["ssd"], spec_value=["true"])

    at_once = client.post("/aggregates/new/", {**data, "do": "save"})
    seen = client.post("/aggregates/new/", {**data, "do": "effect"})
    nothing = Aggregate.objects.count()
    saved = client.post("/aggregates/new/", {**data, **hidden(seen.text), "do": "save"})

    assert ("What saving this does" in at_once.text, nothing) == (True, 0)
    assert "1 host changes from zone nova to az1" in seen.text
    assert "AggregateInstanceExtraSpecsFilter" in seen.text
    made = Aggregate.objects.get()
    assert saved.headers["Location"] == f"/aggregates/{made.pk}/"
    assert (members(made), made.metadata) == ({"h1"}, {"availability_zone": "az1", "ssd": "true"})


def test_what_was_changed_after_the_effect_is_shown_anew_and_not_saved(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    seen = client.post("/aggregates/new/", draft(do="effect"))

    answer = client.post("/aggregates/new/", {**draft(do="save"), **hidden(seen.text), "zone": "az2"})

    assert "Something was changed since" in answer.text
    assert not Aggregate.objects.exists()


def test_ticks_survive_filters_and_pages(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=["h1"])
    there = f"/aggregates/{rack.pk}/edit/"
    first = client.get(there).text
    ticked = client.post(there, {"name": "rack", **hidden(first), "host": ["h2"], "do": "filter", "search": "h1"}).text

    seen = client.post(there, {"name": "rack", **hidden(ticked), "do": "effect"}).text
    client.post(there, {"name": "rack", **hidden(seen), "host": ["h2"], "do": "save"})

    # h1 was listed by the filter and not ticked, h2 was ticked before.
    assert 'value="h2"' not in ticked
    assert "goes out" in ticked
    assert members(rack) == {"h2"}


def test_all_that_match_are_ticked_at_once(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    HostMapping.objects.bulk_create(
        HostMapping(host=f"more-{n}", cell=HostMapping.objects.first().cell)  # type: ignore[union-attr]
        for n in range(100)
    )

    page = client.post("/aggregates/new/", {"name": "rack", "search": "more-", "do": "tick"}).text
    seen = client.post("/aggregates/new/", {"name": "rack", "search": "more-", **hidden(page), "do": "effect"}).text

    assert "100 hosts ticked." in page
    # One page of boxes is shown without ticks in this request: those go out again, as a browser would have sent them.
    assert "40 hosts come in" in seen


def test_more_hosts_than_can_change_at_once_are_refused_in_words(people: People, as_person: AsPerson) -> None:
    cell = HostMapping.objects.all()[0].cell
    HostMapping.objects.bulk_create(HostMapping(host=f"more-{n}", cell=cell) for n in range(MAX_HOSTS_AT_ONCE + 1))

    page = as_person(people.admin).post("/aggregates/new/", {"name": "rack", "search": "more-", "do": "tick"}).text

    assert f"More than {MAX_HOSTS_AT_ONCE} hosts match" in page


def test_a_host_of_another_zone_is_named_and_cannot_be_saved(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    aggregate_create_whole(name="other", metadata={"availability_zone": "az2"}, hosts=["h1"])
    data = draft(host=["h1"], shown="h1")

    seen = client.post("/aggregates/new/", {**data, "do": "effect"}).text
    answer = client.post("/aggregates/new/", {**data, **hidden(seen), "do": "save"})

    assert "h1 is in zone az2 by the aggregate other" in seen
    assert 'value="save"' not in seen
    assert (answer.status_code, Aggregate.objects.count()) == (200, 1)


def test_an_edit_over_somebody_elses_is_refused(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=[])
    there = f"/aggregates/{rack.pk}/edit/"
    opened = {"name": "shelf", **hidden(client.get(there).text)}
    seen = client.post(there, {**opened, "do": "effect"}).text
    aggregate_update(aggregate_id=rack.pk, metadata={"theirs": "1"})

    answer = client.post(there, {**opened, **hidden(seen), "do": "save"}).text

    assert "Somebody changed rack meanwhile" in answer
    assert 'value="shelf"' in answer
    assert Aggregate.objects.get().name == "rack"


def test_instances_that_asked_for_the_zone_are_counted(people: People, as_person: AsPerson) -> None:
    rack = aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=["h1"])
    active(people.member, "one", availability_zone="az1")
    active(people.member, "two", availability_zone="az1")

    page = as_person(people.admin).post(
        f"/aggregates/{rack.pk}/edit/", {"name": "rack", "zone": "az7", "do": "effect", "host": ["h1"], "shown": "h1"}
    )

    assert "1 host changes from zone az1 to az7" in page.text
    assert "2 asked for az1" in page.text


def test_the_room_is_counted_before_and_after(people: People, as_person: AsPerson) -> None:
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=["h1"])
    data = {"name": "rack", "spec_key": ["filter_tenant_id"], "spec_value": ["nobody"], "host": ["h1"], "shown": "h1"}

    page = as_person(people.admin).post(f"/aggregates/{rack.pk}/edit/", {**data, "do": "room"}).text

    assert re.search(r'm1\.tiny</td><td class="num">30</td><td class="num"><b>15</b>', page), page[-3000:]


def test_one_with_hosts_is_not_deleted_and_one_without_is(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    full = aggregate_create_whole(name="full", metadata={}, hosts=["h1"])
    bare = aggregate_create_whole(name="bare", metadata={}, hosts=[])

    refused = client.post(f"/aggregates/{full.pk}/delete/", follow=True).text
    client.post(f"/aggregates/{bare.pk}/delete/")

    assert "still has 1 host" in refused
    assert list(Aggregate.objects.values_list("name", flat=True)) == ["full"]


def test_the_page_names_hosts_and_readers(people: People, as_person: AsPerson) -> None:
    rack = aggregate_create_whole(name="rack", metadata={"filter_tenant_id": "x"}, hosts=["h1"])

    page = as_person(people.admin).get(f"/aggregates/{rack.pk}/").text

    assert 'href="/hosts/h1/"' in page
    assert "AggregateMultiTenancyIsolation: only instances of the projects named here" in page


@pytest.mark.parametrize("path", ["", "edit/", "../new/", "../key/?spec_key=ssd"])
def test_pages_are_for_admins(path: str, people: People, as_person: AsPerson) -> None:
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=[])
    there = f"/aggregates/{rack.pk}/{path}" if not path.startswith("..") else f"/aggregates/{path[3:]}"

    assert [as_person(getattr(people, one)).get(there).status_code for one in PERSONS] == [200, 403, 403, 403]


@pytest.mark.parametrize("person", PERSONS[1:])
def test_nobody_else_changes_anything(person: str, people: People, as_person: AsPerson) -> None:
    client = as_person(getattr(people, person))
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=[])

    found = [
        client.post(path, {"name": "x", "do": "save"}).status_code
        for path in ("/aggregates/new/", f"/aggregates/{rack.pk}/edit/", f"/aggregates/{rack.pk}/delete/")
    ]

    assert (found, Aggregate.objects.get().name) == ([403, 403, 403], "rack")


def test_the_editor_costs_the_same_with_many_hosts(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    rack = aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=["h1"])
    there = f"/aggregates/{rack.pk}/edit/"

    def cost() -> int:
        client.post(there, {"name": "rack", "zone": "az2", "do": "effect"})
        with CaptureQueriesContext(connection) as seen:
            client.post(there, {"name": "rack", "zone": "az2", "do": "effect"})
        return len(seen)

    few = cost()
    for number in range(5):
        host(f"more-{number}")
    aggregate_create_whole(name="two", metadata={}, hosts=[f"more-{number}" for number in range(5)])

    assert cost() == few
