"""The CPU that a host gives to its guests, on its page and in the API."""

from collections.abc import Callable

import pytest
from django.test import Client

from computeagent.protocol.hosts import CPU_NAMES_MAX, GuestCpuReport
from computeagent.protocol.wire import encode, verbs
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from tests.worlds.cloud import People, host

AsPerson = Callable[[Caller], Client]


def test_host_says_which_cpu_its_guests_get(people: People, as_person: AsPerson) -> None:
    host("h1", guest_cpu=GuestCpuReport("custom", ("Haswell-noTSX", "<b>Nehalem"), ("+pcid", "-mpx")))

    client = as_person(people.admin)
    page = client.get("/hosts/h1/").text

    assert 'id="guest-cpu">custom: Haswell-noTSX, &lt;b&gt;Nehalem <span class="mono">+pcid -mpx</span>' in page
    body = client.get("/api/hosts/h1/").json()
    assert body["guest_cpu"] == {
        "mode": "custom",
        "models": ["Haswell-noTSX", "<b>Nehalem"],
        "flags": ["+pcid", "-mpx"],
    }
    assert client.get(f"/api/compute-nodes/{body['compute_node_uuid']}/").json()["guest_cpu"] == body["guest_cpu"]


def test_host_that_does_not_say_it_has_no_such_line(people: People, as_person: AsPerson) -> None:
    host("h1")

    client = as_person(people.admin)
    assert 'id="guest-cpu"' not in client.get("/hosts/h1/").text
    assert client.get("/api/hosts/h1/").json()["guest_cpu"] == {}


@pytest.mark.parametrize(
    "cpu",
    [
        {"mode": "x" * 33},
        {"mode": "custom", "models": ["x" * 66]},
        {"mode": "custom", "models": ["x"] * (CPU_NAMES_MAX + 1)},
        {"mode": "custom", "flags": ["x"] * (CPU_NAMES_MAX + 1)},
        {"models": []},
    ],
)
def test_report_of_it_is_bounded(cpu: dict[str, object]) -> None:
    report = {
        "hypervisor_hostname": "n", "hypervisor_type": "QEMU", "hypervisor_version": 1, "vcpus": 1, "memory_mib": 1,
        "disk_gib": 1, "guest_cpu": cpu,
    }  # fmt: skip
    with pytest.raises(Invalid, match="cannot be read"):
        verbs()["register"].arguments_of(encode({"host": "hv", "report": report}))
