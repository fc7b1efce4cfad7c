"""What a host's page says of its room, cells, devices, switches, work and drift; the same under /api/."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.pci import DeviceState
from computeagent.protocol.topology import HostTopology, NUMACell, NUMAPages
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from scheduling.fleet.domain.host_switches import SwitchKind
from scheduling.fleet.selectors.host_switches import host_switches
from scheduling.fleet.services.build_failures import build_failures_round
from scheduling.fleet.services.service_states import service_disable, service_enable
from scheduling.models import ComputeNode, PciDevice
from tests.worlds.cloud import People, active, client_of, create, fail_build, flavor, host, pump

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}
CELLS = HostTopology(
    tuple(
        NUMACell(
            id=number,
            socket=number,
            cpuset=frozenset(),
            pcpuset=frozenset(range(4 * number, 4 * number + 4)),
            memory_mib=8192,
            siblings=tuple(frozenset({4 * number + at, 4 * number + at + 1}) for at in (0, 2)),
            mempages=(NUMAPages(4, 2**21), NUMAPages(2048, 16)),
        )
        for number in (0, 1)
    )
)


@pytest.fixture
def pinned(people: People) -> str:
    """A host with two cells and two devices; an instance has two CPUs of one of them, and one of the devices."""
    service_disable(host="h1", reason="")
    service_disable(host="h2", reason="")
    host("numa", numa_topology=CELLS, vcpus=0, dedicated_vcpus=8, memory_mib=16384)
    flavor("c1.pinned", vcpus=2, memory_mib=1024, extra_specs={"hw:cpu_policy": "dedicated"})
    made = create(people.member, "mine", flavor="c1.pinned")[0]
    pump()
    made.refresh_from_db()
    assert made.host == "numa"
    node = ComputeNode.objects.get(host="numa")
    PciDevice.objects.create(
        compute_node=node, address="0000:81:00.0", vendor_id="10de", product_id="20b0", dev_type="type-PCI",
        numa_node=1, state=DeviceState.ALLOCATED.value, owner_uuid=made.pk,
    )  # fmt: skip
    PciDevice.objects.create(
        compute_node=node, address="0000:02:00.0", vendor_id="8086", product_id="1572", dev_type="type-PF"
    )
    return str(made.pk)


def test_the_picture_names_who_has_which_cpu_and_device(people: People, as_person: AsPerson, pinned: str) -> None:
    text = as_person(people.admin).get("/hosts/numa/").text

    assert text.count(f'class="cpu pinned" href="/instances/{pinned}/"') == 2
    assert text.count('class="cpu free"') == 6 + 1  # and the one of the key
    assert "pinned to mine" in text
    assert "0000:81:00.0" in text
    assert "Devices near no cell" in text


def test_the_api_has_cells_and_devices(people: People, pinned: str) -> None:
    found = client_of(people.admin).get("/api/hosts/numa/topology/").json()

    cpus = [cpu for cell in found["cells"] for core in cell["cores"] for cpu in core]
    assert [cpu["use"] for cpu in cpus if cpu["instance"] == pinned] == ["pinned", "pinned"]
    assert [len(core) for core in found["cells"][0]["cores"]] == [2, 2]
    assert found["cells"][1]["devices"][0]["instance"] == pinned
    assert [one["address"] for one in found["devices"]] == ["0000:02:00.0"]
    assert found["names"] == {pinned: "mine"}


def test_a_host_without_cells_says_so(people: People, as_person: AsPerson) -> None:
    text = as_person(people.admin).get("/hosts/h1/").text

    assert "It reports no NUMA cells" in text
    assert "It offers no PCI devices either." in text


def test_room_is_that_of_the_capacity_matrix(people: People, as_person: AsPerson) -> None:
    flavor("m1.huge", vcpus=64, memory_mib=1024)
    active(people.member)
    client = as_person(people.admin)

    matrix = client_of(people.admin).get("/api/capacity/").json()["flavors"]
    rooms = {
        name: {
            one["flavor"]["name"]: one
            for one in client_of(people.admin).get(f"/api/hosts/{name}/room/").json()["rooms"]
        }
        for name in ("h1", "h2")
    }

    for row in matrix:
        name = row["flavor"]["name"]
        assert row["total"]["count"] == rooms["h1"][name]["fits"] + rooms["h2"][name]["fits"]
    assert (rooms["h1"]["m1.huge"]["fits"], rooms["h1"]["m1.huge"]["limit"]) == (0, "VCPU")
    part = client.get("/hosts/h1/room/", headers=HTMX).text
    assert part.startswith('<div id="host-room">')
    assert "m1.huge" in part
    assert "<h1>Room on h1</h1>" in client.get("/hosts/h1/room/").text


def test_pinned_room_is_counted_on_the_host_alone(people: People, pinned: str) -> None:
    rooms = client_of(people.admin).get("/api/hosts/numa/room/").json()["rooms"]

    assert next(one for one in rooms if one["flavor"]["name"] == "c1.pinned")["fits"] == 3


def test_room_of_a_disabled_host_is_none_and_says_why(people: People) -> None:
    service_disable(host="h1", reason="new disks")

    rooms = client_of(people.admin).get("/api/hosts/h1/room/").json()["rooms"]

    assert [(one["fits"], one["limit"]) for one in rooms] == [(0, "disabled")]


def test_switches_say_who_why_and_how_long(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    for act in ({"action": "disable", "reason": "new disks"}, {"action": "enable"}, {"action": "force_down"}):
        client.post("/hosts/h1/act/", act)
    client.post("/hosts/h1/act/", {"action": "disable", "reason": "burnt"})

    found = host_switches(host="h1")

    assert [(one.kind, one.reason, one.holds) for one in found] == [
        (SwitchKind.DISABLED, "burnt", True),
        (SwitchKind.FORCED_DOWN, "", True),
        (SwitchKind.ENABLED, "", False),
        (SwitchKind.DISABLED, "new disks", False),
    ]
    assert found[0].by == "root"
    assert found[3].lasted_s is not None
    assert host_switches(host="h2") == []
    text = client.get("/hosts/h1/").text
    assert "burnt" in text
    api = client_of(people.admin).get("/api/hosts/h1/switches/").json()["switches"]
    assert [one["kind"] for one in api] == ["disabled", "forced down", "enabled", "disabled"]
    assert api[0]["by"] == "root"


def test_a_host_leads_to_its_work_and_drift(people: People, as_person: AsPerson) -> None:
    create(people.member)
    pump()
    text = as_person(people.admin).get("/hosts/h1/").text + as_person(people.admin).get("/hosts/h2/").text

    assert 'id="host-work" href="/work/?host=h1">' in text
    assert 'id="host-drift" href="/drift/?host=h2">none known' in text
    assert 'id="host-work" href="/work/?host=h1">1<' in text or 'id="host-work" href="/work/?host=h2">1<' in text


def test_ten_pinned_instances_cost_the_queries_of_one(people: People, as_person: AsPerson, pinned: str) -> None:
    client = as_person(people.admin)

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    few = queries("/hosts/numa/"), queries("/hosts/numa/room/")
    for number in range(3):
        create(people.member, f"more-{number}", flavor="c1.pinned")
        service_disable(host="numa", reason=f"once {number}")
        service_enable(host="numa")
    pump()
    for number in range(8):
        host(f"other-{number}")

    assert (queries("/hosts/numa/"), queries("/hosts/numa/room/")) <= few


@pytest.mark.parametrize("part", ["room", "topology", "switches"])
def test_parts_are_for_admins_and_of_hosts_that_are_there(part: str, people: People) -> None:
    for person in (people.member, people.reader, people.stranger):
        assert client_of(person).get(f"/api/hosts/h1/{part}/").status_code == 403
    assert client_of(people.admin).get(f"/api/hosts/nowhere/{part}/").status_code == 404


@pytest.mark.parametrize("model", ["computenode", "service"])
def test_the_django_admin_leads_to_the_page_of_the_host(model: str, people: People, as_person: AsPerson) -> None:
    node = ComputeNode.objects.get(host="h1")
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True, is_superuser=True)

    text = (
        as_person(people.admin)
        .get(f"/admin/scheduling/{model}/{node.pk if model == 'computenode' else node.service_id}/change/")
        .text
    )

    assert 'href="/hosts/h1/"' in text


def test_page_lists_the_builds_that_disabled_the_host(people: People, as_person: AsPerson, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "BUILD_FAILURES_DISABLE": 2, "MAX_ATTEMPTS": 1}
    assert 'id="failed-builds"' not in as_person(people.admin).get("/hosts/h1/").content.decode()
    made = [create(people.admin, name, availability_zone="nova:h1")[0] for name in ("first", "second")]
    pump()
    for number in (1, 2):
        fail_build("h1", message=f"no disk {number}")
        build_failures_round()
        said = as_person(people.admin).get("/hosts/h1/").content.decode()
        assert ("These disabled the host" in said) is (number == 2)
        assert ("These count against the host until a build on it works." in said) is (number == 1)
    shown = said[said.index('id="failed-builds"') :]
    assert [f"/instances/{one.pk}/" in shown for one in made] == [True, True]
    assert shown.index("no disk 2") < shown.index("no disk 1")
    service_enable(host="h1")
    assert 'id="failed-builds"' not in as_person(people.admin).get("/hosts/h1/").content.decode()
