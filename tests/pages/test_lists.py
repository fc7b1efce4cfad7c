"""What every list of the panel can do: search, chips, order, columns, pages, export; and who sees what in it."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.identity.domain.saved_view import LISTS
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from servers.models import Instance, InstanceTag
from tests.worlds.cloud import People, active, create, flavor, host, pump
from tests.worlds.lists import EVERY_LIST

AsPerson = Callable[[Caller], Client]


def names(client: Client, query: str) -> list[str]:
    answer = client.get(f"/instances/?{query}")
    assert answer.status_code == 200
    return [row.instance.name for row in answer.context["rows"]]


def test_every_list_has_views() -> None:
    assert {one.name for one in EVERY_LIST} == set(LISTS)


@pytest.mark.long
def test_every_column_of_every_list_is_shown_sorted_by_and_exported(people: People, as_person: AsPerson) -> None:
    aggregate = aggregate_create(name="rack-1", metadata={"availability_zone": "az-1"})
    aggregate_host_add(aggregate_id=aggregate.pk, host="h1")
    active(people.member, "web-1")
    create(people.member, "web-2", flavor=flavor("huge", memory_mib=20_000).name)
    pump()
    client = as_person(people.admin)

    for declared in EVERY_LIST:
        columns = ",".join(one.key for one in declared.columns)
        for column in declared.columns:
            for sort in (column.key, f"-{column.key}") if column.sort else ():
                shown = client.get(declared.path, {"sort": sort, "columns": columns, "state": ""})
                assert shown.status_code == 200, (declared.name, sort)
                assert shown.context["query"].errors == {}, (declared.name, sort)
                assert f'id="sort-{column.key}"' in shown.text or not shown.context["rows"], (declared.name, sort)
        exported = json.loads(client.get(declared.path, {"export": "json", "columns": columns, "state": ""}).getvalue())
        keys = [one.key for one in declared.columns if not one.is_tool]
        assert [list(row) for row in exported] == [keys] * len(exported), declared.name


def test_search_finds_by_any_attribute_and_every_word_narrows(people: People, as_person: AsPerson) -> None:
    first, second = active(people.member, "web-1"), active(people.member, "db-1")
    InstanceTag.objects.create(instance=second, tag="billing")
    Instance.objects.filter(pk=first.pk).update(description="Shop window")
    client = as_person(people.admin)

    asked = ["web", "billing", "WINDOW shop", "m1.tiny", f"{second.host} db", str(first.pk)[:8], "window billing"]

    found = {text: sorted(names(client, f"q={text}")) for text in asked}
    assert found == {
        "web": ["web-1"],
        "billing": ["db-1"],
        "WINDOW shop": ["web-1"],
        "m1.tiny": ["db-1", "web-1"],
        f"{second.host} db": ["db-1"],
        str(first.pk)[:8]: ["web-1"],
        "window billing": [],
    }


def test_instances_are_found_by_owner_metadata_and_for_admins_by_project(people: People, as_person: AsPerson) -> None:
    first, second = active(people.member, "web-1"), active(people.stranger, "db-1")
    Instance.objects.filter(pk=first.pk).update(metadata={"cost-centre": "Zürich 7"})
    Instance.objects.filter(pk=second.pk).update(metadata={"team": "search"})
    admin, member = as_person(people.admin), as_person(people.member)
    project = people.stranger.project_name

    asked = ["zürich", "cost-centre", "team", people.stranger.username, f"{project} db"]

    found = {text: names(admin, f"all_projects=1&q={text}") for text in asked}
    assert found == {
        "zürich": ["web-1"],
        "cost-centre": ["web-1"],
        "team": ["db-1"],
        people.stranger.username: ["db-1"],
        f"{project} db": ["db-1"],
    }
    assert names(admin, "q=Zürich") == ["web-1"]
    assert names(member, f"q={people.member.username}") == ["web-1"]
    assert names(member, f"q={people.stranger.username}") == []


def test_api_searches_by_the_same_words(people: People, as_person: AsPerson) -> None:
    active(people.member, "web-1")
    active(people.member, "db-1")

    found = as_person(people.member).get("/api/instances/?q=web").json()["results"]

    assert [one["name"] for one in found] == ["web-1"]


def test_member_finds_and_sorts_nothing_by_host(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "web-1")
    client = as_person(people.member)

    assert names(client, f"q={instance.host}") == []
    assert names(client, f"host={instance.host}x") == ["web-1"]  # to a tenant no such filter exists
    refused = client.get("/instances/?sort=host")
    assert "There is no column “host” to sort by." in refused.text
    assert refused.context["rows"] == []
    assert instance.host not in client.get("/instances/?columns=name,host&export=csv").getvalue().decode()


def test_what_a_page_cannot_read_is_said_and_what_it_does_not_know_is_left_out(
    people: People, as_person: AsPerson
) -> None:
    client = as_person(people.admin)
    for query, said in (("up=sideways", "Write yes or no"), ("up=no&utm_source=mail", "")):
        page = client.get(f"/hosts/?{query}")
        assert page.status_code == 200
        assert [text[: len(said)] for text in page.context["query"].errors.values()] == [said] * bool(said)
        assert page.context["rows"] == []
        assert [chip.name for chip in page.context["query"].chips] == ["up"]
    assert "请填写 yes 或 no" in client.get("/hosts/?up=sideways", headers={"accept-language": "zh-hans"}).text


def test_names_stand_in_natural_order_either_way(people: People, as_person: AsPerson) -> None:
    for number in (10, 2, 1):
        active(people.member, f"web-{number}")
    client = as_person(people.admin)

    assert names(client, "sort=name") == ["web-1", "web-2", "web-10"]
    assert names(client, "sort=-name") == ["web-10", "web-2", "web-1"]


def test_chip_takes_its_own_filter_away_and_leaves_the_rest(people: People, as_person: AsPerson) -> None:
    active(people.member, "web-1")
    chips = (
        as_person(people.admin).get("/instances/?q=web&status=ACTIVE&sort=name&all_projects=1").context["query"].chips
    )

    assert {(one.name, one.text): one.without for one in chips} == {
        ("all_projects", ""): "?q=web&status=ACTIVE&sort=name",
        ("q", "web"): "?all_projects=1&status=ACTIVE&sort=name",
        ("status", "ACTIVE"): "?all_projects=1&q=web&sort=name",
    }


def test_default_filter_is_a_chip_that_can_be_taken_away(people: People, as_person: AsPerson) -> None:
    chips = as_person(people.admin).get("/work/").context["query"].chips

    assert [(one.title, one.text, one.without) for one in chips] == [("State", "Open", "?state=")]


def test_failed_instance_says_why_in_its_row_and_in_the_export(people: People, as_person: AsPerson) -> None:
    create(people.member, "web-1", flavor=flavor("huge", memory_mib=20_000).name)
    pump()
    client = as_person(people.member)

    [row] = client.get("/instances/").context["rows"]
    assert "memory" in row.why or "ram" in row.why
    assert row.why[:40] in client.get("/instances/").text
    [exported] = json.loads(client.get("/instances/?export=json&columns=why").getvalue())
    assert exported["why"] == row.why


def test_columns_density_and_page_size_are_chosen(people: People, as_person: AsPerson) -> None:
    for number in range(52):
        flavor(f"size-{number}")
    client = as_person(people.admin)

    shown = client.get("/flavors/?columns=vcpus&columns=id&density=compact&per_page=100")

    assert [one.key for one in shown.context["query"].columns] == ["name", "vcpus", "id"]
    assert 'class="list compact"' in shown.text
    assert len(shown.context["rows"]) > 50
    assert len(client.get("/flavors/").context["rows"]) == 50
    assert len(client.get("/flavors/?per_page=7").context["rows"]) == 50
    last = client.get("/flavors/?page=999")
    assert last.context["page"].number == last.context["page"].num_pages == 2


def test_export_has_all_rows_that_match_and_no_formulas(people: People, as_person: AsPerson) -> None:
    for number in range(60):
        flavor(f"size-{number}")
    flavor("=1+1", description="other")
    client = as_person(people.admin)

    answer = client.get("/flavors/?q=size-&export=csv&columns=name,vcpus")
    rows = list(csv.reader(io.StringIO(answer.getvalue().decode())))

    assert answer.headers["Content-Disposition"].startswith('attachment; filename="flavors-')
    assert (rows[0], len(rows)) == (["name", "vcpus"], 61)
    assert "'=1+1" in client.get("/flavors/?q=other&export=csv").getvalue().decode()
    assert client.get("/flavors/?export=xml").status_code == 400
    assert client.get("/work/?state=odd&export=csv").status_code == 400


def test_export_shows_a_member_what_its_list_shows(people: People, as_person: AsPerson) -> None:
    active(people.member, "ours")
    active(people.stranger, "theirs")

    exported: list[dict[str, Any]] = json.loads(
        as_person(people.member).get("/instances/?all_projects=1&export=json").getvalue()
    )

    assert [row["name"] for row in exported] == ["ours"]
    assert Client().get("/instances/?export=json").status_code == 302
    assert as_person(people.member).get("/hosts/?export=json").status_code == 403


@pytest.mark.parametrize("path", ["/hosts/?sort=-memory&columns=zone,aggregates,memory,cell", "/work/?state="])
def test_list_costs_the_same_queries_with_more_rows(path: str, people: People, as_person: AsPerson) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    client = as_person(people.admin)
    active(people.member, "few")
    queries()
    few = queries()
    for number in range(6):
        host(f"more-{number}")
        active(people.member, f"more-{number}")

    assert queries() <= few


def test_htmx_gets_the_body_for_a_filter_and_the_rows_for_a_look(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    body = client.get("/instances/?q=x", headers={"HX-Request": "true", "HX-Target": "list"}).text
    rows = client.get("/instances/?q=x", headers={"HX-Request": "true", "HX-Target": "rows"}).text

    assert body.lstrip().startswith('<div id="list">')
    assert 'class="chips"' in body
    assert rows.startswith('<div id="rows"')
    assert "chips" not in rows
