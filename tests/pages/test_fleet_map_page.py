"""The map of the fleet: boxes, groups, colours, its table, what it costs, and the same under /api/."""

import gzip
import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import ComputeNode
from tests.worlds.cloud import People, active, client_of, flavor, host

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}
BOX = re.compile(r'<a class="b ([^"]*)" href="/hosts/([^/]*)/" title="([^"]*)"')


def boxes(text: str) -> dict[str, tuple[set[str], str]]:
    return {name: (set(css.split()), title) for css, name, title in BOX.findall(text)}


def test_each_host_is_a_box_as_wide_as_its_memory_and_as_warm_as_it_is_full(
    people: People, as_person: AsPerson
) -> None:
    host("small", memory_mib=4096)
    host("large", memory_mib=16384)
    active(people.member)

    found = boxes(as_person(people.admin).get("/hosts/map/").text)

    assert {"h1", "h2", "small", "large"} == set(found)
    width = {name: int(next(word[1:] for word in css if word.startswith("w"))) for name, (css, _) in found.items()}
    assert width["large"] > width["small"]
    busy = next(name for name in found if not found[name][1].startswith(f"{name}: 0 %"))
    assert found[busy][1] == "large: 3 %, 512 MiB of 15.5 GiB; 16 GiB, 0 guests"


def test_what_takes_nothing_is_marked_and_left_out_of_the_sums(people: People, as_person: AsPerson) -> None:
    host("gone")
    host("shut")
    service_force_down(host="gone", forced_down=True)
    service_disable(host="shut", reason="new disks")

    page = as_person(people.admin).get("/hosts/map/")

    found = boxes(page.text)
    assert "down" in found["gone"][0]
    assert "off" in found["shut"][0]
    assert found["gone"][1].startswith("gone: forced down, ")
    assert "1 down, 1 disabled" in page.context["sections"][0].facts
    assert [one.text for one in page.context["key"]][-2:] == ["down", "disabled"]


def test_groups_are_zones_or_aggregates_in_natural_order(people: People, as_person: AsPerson) -> None:
    for name in ("rack-10", "rack-9"):
        made = aggregate_create(name=name, metadata={"availability_zone": f"zone-of-{name}"})
        host(f"in-{name}")
        aggregate_host_add(aggregate_id=made.pk, host=f"in-{name}")
    client = as_person(people.admin)

    def titles(query: str) -> list[str]:
        return [one.title for one in client.get(f"/hosts/map/?{query}").context["sections"]]

    assert titles("") == ["Zone nova", "Zone zone-of-rack-9", "Zone zone-of-rack-10"]
    assert titles("group=aggregate") == ["Aggregate rack-9", "Aggregate rack-10", "In no aggregate"]
    assert titles("group=none") == ["Fleet"]
    assert titles("aggregate=rack-9") == ["Zone zone-of-rack-9"]
    assert titles("zone=nova&group=nonsense") == ["Zone nova"]


def test_boxes_are_coloured_by_room_for_a_flavor(people: People, as_person: AsPerson) -> None:
    flavor("m1.half", vcpus=1, memory_mib=4096)
    service_disable(host="h2", reason="")

    page = as_person(people.admin).get("/hosts/map/?flavor=m1.half")

    found = boxes(page.text)
    assert "1 more m1.half" in found["h1"][1]
    assert "h4" in found["h1"][0]
    assert "0 more m1.half: Disabled" in found["h2"][1]
    assert "1 more m1.half fit" in page.context["sections"][0].facts


def test_boxes_are_coloured_by_what_agents_measured_lately(people: People, as_person: AsPerson) -> None:
    ComputeNode.objects.filter(host="h1").update(metrics={"cpu.percent": 62.5}, metrics_at=Now())

    found = boxes(as_person(people.admin).get("/hosts/map/?heat=cpu").text)

    assert "h3" in found["h1"][0]
    assert "62 %" in found["h1"][1]
    assert "unknown" in found["h2"][0]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("flavor=nothing", "Flavor nothing does not exist."),
        ("q=zzzz", "No host matches the filters"),
        ("zone=nowhere", "No host matches the filters"),
    ],
)
def test_what_cannot_be_shown_is_said(query: str, says: str, people: People, as_person: AsPerson) -> None:
    assert says in as_person(people.admin).get(f"/hosts/map/?{query}").text


def test_the_table_is_the_same_in_words(people: People, as_person: AsPerson) -> None:
    host("h10", memory_mib=65536)
    client = as_person(people.admin)

    def hosts(query: str) -> list[str]:
        return [row.host.host for row in client.get(f"/hosts/map/?view=table&{query}").context["rows"]]

    assert hosts("") == ["h1", "h2", "h10"]
    assert hosts("sort=memory")[0] == "h10"
    assert hosts("sort=nonsense") == hosts("sort=name")
    assert "Room for m1.tiny" in client.get("/hosts/map/?view=table&flavor=m1.tiny&sort=fits").text


def test_the_live_part_asks_for_itself_with_what_was_chosen(people: People, as_person: AsPerson) -> None:
    part = as_person(people.admin).get("/hosts/map/?heat=disk", headers=HTMX).text

    assert part.startswith('<div id="live"')
    assert 'hx-get="/hosts/map/?heat=disk"' in part


def test_ten_hosts_cost_the_queries_of_two(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    paths = ["/hosts/map/", "/hosts/map/?flavor=m1.tiny&group=aggregate", "/hosts/map/?view=table&heat=cpu"]

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    few = [queries(path) for path in paths]
    for number in range(8):
        host(f"more-{number}")

    assert [queries(path) for path in paths] == few


def test_five_thousand_hosts_are_less_than_150_kb_compressed(people: People, as_person: AsPerson) -> None:
    node = ComputeNode.objects.get(host="h1")
    service = node.service
    made = [replace_service(service, number) for number in range(5000)]
    type(service).objects.bulk_create(made)
    ComputeNode.objects.bulk_create(
        ComputeNode(
            service=one, host=one.host, hypervisor_hostname=f"{one.host}.example.org", hypervisor_type="QEMU",
            vcpus=64, memory_mib=131072 * (1 + number % 7), disk_gib=1000, running_guests=number % 30,
        )
        for number, one in enumerate(made)
    )  # fmt: skip

    answer = as_person(people.admin).get("/hosts/map/", headers={"Accept-Encoding": "gzip"})

    assert len(boxes(gzip.decompress(answer.content).decode())) == 5002
    assert len(answer.content) < 150_000


def replace_service(service: object, number: int) -> object:
    made = type(service)(binary="nova-compute", host=f"cmp-{number}")  # type: ignore[call-arg]
    made.last_seen_up = service.last_seen_up  # type: ignore[attr-defined]
    return made


def test_the_api_has_the_same(people: People) -> None:
    client = client_of(people.admin)

    whole = client.get("/api/fleet-map/").json()
    rooms = client.get("/api/fleet-map/?flavor=m1.tiny&group=none&host=h1").json()

    assert (whole["heat"], whole["group"], whole["count"]) == ("memory", "zone", 2)
    first = whole["groups"][0]["hosts"][0]
    assert (first["host"], first["state"], first["status"], first["used"], first["part"]) == (
        "h1",
        "up",
        "enabled",
        0,
        0.0,
    )
    assert (rooms["heat"], rooms["flavor"], rooms["count"]) == ("fits", "m1.tiny", 1)
    assert rooms["groups"][0]["fits"] == rooms["groups"][0]["hosts"][0]["fits"] > 0
    assert rooms["groups"][0]["hosts"][0]["limit"] in {"VCPU", "MEMORY_MB", "DISK_GB"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("heat=warm", "heat"),
        ("group=colour", "group"),
        ("flavor=none-such", "flavor"),
        ("heat=fits", "flavor"),
        ("heat=disk&flavor=m1.tiny", "flavor"),
        ("colour=red", "colour"),
        ("cell=no-uuid", "cell"),
    ],
)
def test_the_api_refuses_what_it_does_not_know(query: str, field: str, people: People) -> None:
    answer = client_of(people.admin).get(f"/api/fleet-map/?{query}")

    assert answer.status_code == 400
    assert field in str(answer.json()["error"])


def test_only_admins_see_hosts(people: People) -> None:
    for person in (people.member, people.reader, people.stranger):
        assert client_of(person).get("/api/fleet-map/").status_code == 403
