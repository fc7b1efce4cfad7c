"""The capacity matrix: what it counts, how it is narrowed and sorted, what it says while there is nothing."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.dashboard.capacity.table import capacity_table, limit_label
from controlplane.dashboard.capacity.views import LATER_FROM_S, expected_seconds
from controlplane.identity.domain import Caller
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable
from scheduling.policies.services.policies import policy_create
from servers.models import Flavor
from tests.worlds.cloud import People, flavor, host
from tests.worlds.cloud import people as only_people

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}


def names(client: Client, query: str) -> list[str]:
    return [str(row.flavor["name"]) for row in client.get(f"/capacity/?{query}").context["table"].rows]


def test_each_flavor_is_counted_in_each_zone_with_what_binds(people: People, as_person: AsPerson) -> None:
    flavor("m1.memory", vcpus=1, memory_mib=4096)

    page = as_person(people.admin).get("/capacity/")

    row = next(row for row in page.context["table"].rows if row.flavor["name"] == "m1.memory")
    assert page.context["table"].zones == ("nova",)
    assert (row.total.more, row.total.binds) == (2, "Memory")
    assert "2 more m1.memory in nova, simulate one" in page.text


def test_the_switch_leaves_room_to_lose_the_largest_host(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    whole = client.get("/capacity/").context["table"].rows[0].total
    safe = client.get("/capacity/?n1=1").context["table"].rows[0].total

    assert (safe.more, safe.without_loss) == (whole.more // 2, whole.more)


def test_one_zone_is_shown_with_all_that_stops_one_more(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="new disks")

    page = as_person(people.admin).get("/capacity/?zone=nova")

    cell = page.context["table"].rows[0].cells[0]
    assert (cell.hosts_with_room, cell.hosts, ("Disabled", 1) in cell.limits) == (1, 2, True)
    assert 'href="/hosts/h1/"' in page.text


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["a.large", "m1.tiny"]),
        ("-name", ["m1.tiny", "a.large"]),
        ("size", ["m1.tiny", "a.large"]),
        ("-size", ["a.large", "m1.tiny"]),
        ("room", ["a.large", "m1.tiny"]),
        ("-room", ["m1.tiny", "a.large"]),
        ("nonsense", ["m1.tiny", "a.large"]),
    ],
)
def test_the_matrix_is_sorted_as_asked(sort: str, expected: list[str], people: People, as_person: AsPerson) -> None:
    flavor("a.large", vcpus=2, memory_mib=4096)

    assert names(as_person(people.admin), f"sort={sort}") == expected


def test_flavors_are_filtered_by_a_part_of_the_name(people: People, as_person: AsPerson) -> None:
    flavor("a.large", vcpus=2, memory_mib=4096)
    client = as_person(people.admin)

    assert names(client, "name=LARGE") == ["a.large"]
    assert "No flavor has “zz” in its name" in client.get("/capacity/?name=zz").text


def test_a_flavor_that_contradicts_itself_says_so_in_its_row(people: People, as_person: AsPerson) -> None:
    Flavor.objects.create(name="odd", vcpus=1, memory_mib=1, root_gib=0, extra_specs={"hw:numa_nodes": "x"})

    rows = as_person(people.admin).get("/capacity/").context["table"].rows

    assert (rows[-1].flavor["name"], rows[-1].total) == ("odd", None)
    assert rows[-1].problem


def test_without_hosts_the_page_says_how_to_get_one(db: None, as_person: AsPerson) -> None:
    admin = only_people().admin
    flavor()

    assert "No hosts yet" in as_person(admin).get("/capacity/").text


def test_without_flavors_the_page_says_how_to_get_one(db: None, as_person: AsPerson) -> None:
    admin = only_people().admin
    host("h1")

    assert "No flavors yet" in as_person(admin).get("/capacity/").text


def test_a_zone_without_hosts_says_so(people: People, as_person: AsPerson) -> None:
    assert "No host is in zone “mars”" in as_person(people.admin).get("/capacity/?zone=mars").text


def test_a_policy_that_is_not_there_is_told_and_named(people: People, as_person: AsPerson) -> None:
    assert "There is no policy gone-v9." in as_person(people.admin).get("/capacity/?policy=gone-v9").text


def test_the_room_under_another_policy_is_counted(people: People, as_person: AsPerson) -> None:
    body = {"filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 3}}
    policy_create(body=body, name="small")

    table = as_person(people.admin).get("/capacity/?policy=small-v1").context["table"]

    assert (table.policy, table.rows[0].total.more) == ("small-v1", 6)


def test_the_live_part_is_the_matrix_alone(people: People, as_person: AsPerson) -> None:
    part = as_person(people.admin).get("/capacity/", headers=HTMX).text

    assert part.startswith('<div id="matrix">')
    assert "<html" not in part


@pytest.mark.parametrize(("hosts", "flavors", "later"), [(10, 200, False), (1_000, 20, False), (10_000, 5, True)])
def test_large_fleets_are_counted_after_the_page_is_there(hosts: int, flavors: int, later: bool) -> None:
    assert (expected_seconds(hosts, flavors) > LATER_FROM_S) is later


def test_hostile_names_are_escaped(people: People, as_person: AsPerson) -> None:
    flavor("<script>alert(1)</script>")
    client = as_person(people.admin)

    pages = client.get("/capacity/").text + client.get("/capacity/?zone=<script>x&name=<script>").text

    assert "<script>" not in pages
    assert "&lt;script&gt;alert(1)" in pages


@pytest.mark.parametrize(
    ("limit", "words"), [("VCPU", "vCPUs"), ("wrong_zone", "Wrong zone"), ("CUSTOM_FPGA", "CUSTOM_FPGA"), ("", "")]
)
def test_what_binds_is_told_in_words(limit: str, words: str) -> None:
    assert limit_label(limit) == words


def test_large_numbers_are_read_out_as_they_are_shown(people: People, as_person: AsPerson) -> None:
    flavor("m1.dot", vcpus=1, memory_mib=1, root_gib=0)
    host("big", vcpus=2000)

    text = as_person(people.admin).get("/capacity/?name=m1.dot").text

    visible = re.findall(r'class="room[^>]*aria-label="([^"]*)"[^>]*>([^<]*)<', text)
    assert visible
    assert all("," in number and label.startswith(f"{number} more m1.dot in ") for label, number in visible)


def test_many_zones_leave_out_the_column_of_sizes(people: People, as_person: AsPerson) -> None:
    for number in range(1, 11):
        host(f"z{number}")
        zone = aggregate_create(name=f"az-{number}", availability_zone=f"az-{number}")
        aggregate_host_add(aggregate_id=zone.pk, host=f"z{number}")

    page = as_person(people.admin).get("/capacity/")

    assert page.context["table"].zones == (*(f"az-{number}" for number in range(1, 11)), "nova")
    assert 'class="matrix many"' in page.text
    assert page.text.count('aria-sort="') == 2
    assert '<span class="raw nowrap">1 vCPU, 512 MiB, 1 GiB</span>' in page.text


@pytest.mark.parametrize(
    ("count", "n_plus_1", "is_cut_off", "expected"),
    [
        (0, 0, True, (True, False)),
        (0, 0, False, (False, False)),
        (9, 9, True, (False, True)),
        (9, 0, True, (False, False)),
    ],
)
def test_a_count_that_was_cut_off_at_nothing_is_no_zero(
    count: int, n_plus_1: int, is_cut_off: bool, expected: tuple[bool, bool]
) -> None:
    room = {
        "count": count, "n_plus_1": n_plus_1, "hosts": 2, "hosts_with_room": 0, "binds": None, "limits": [],
        "largest_host": None, "is_lower_bound": is_cut_off,
    }  # fmt: skip
    row = {"flavor": {"name": "c1.pinned"}, "problem": "", "total": room, "zones": [{"zone": "az-1", **room}]}
    report = {"flavors": [row], "host_count": 2, "policy_version": "defaults", "duration_us": 1}

    table = capacity_table(report, survive_loss=n_plus_1 != count, sort="name")

    cell = table.rows[0].cells[0]
    assert (cell.is_unknown, cell.is_bound_shown) == expected
    assert table.has_unknown == expected[0]
