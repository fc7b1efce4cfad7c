"""Promised against real, and the history of a host: the API and the page."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from computeagent.protocol.hosts import HostReport
from controlplane.identity.models import User
from scheduling.fleet.services.hosts import host_delete, host_register
from scheduling.models import HostUsageSample
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
REPORT = HostReport(
    hypervisor_hostname="h9", hypervisor_type="fake", hypervisor_version=1, vcpus=8, memory_mib=8192, disk_gib=100,
    metrics={"cpu.percent": 12.5, "memory.percent": 50.0, "memory.available.mib": 100.0, "guests.vcpus": 2},
)  # fmt: skip


@pytest.fixture
@remembered
def who() -> world.People:
    people = world.cloud("h1")
    host_register(host="h9", report=REPORT)
    return people


@pytest.mark.parametrize(("person", "status"), [("admin", 200), ("member", 403), ("reader", 403), ("stranger", 403)])
def test_who_may_read(who: world.People, person: str, status: int) -> None:
    assert world.client_of(getattr(who, person)).get("/api/hosts/h9/usage/").status_code == status


def test_doubts_and_samples(who: world.People) -> None:
    client = world.client_of(who.admin)
    found: dict[str, Any] = client.get("/api/hosts/h9/usage/").json()
    doubts = {one["resource"]: " ".join(one["doubts"]) for one in found["reality"]}
    assert "more than the 0 that were claimed" in doubts["vCPUs"]
    assert "8192 MiB could still be promised" in doubts["Memory"]
    assert doubts["Disk"] == ""
    assert [(one["cpu_percent"], one["disk_percent"]) for one in found["samples"]] == [(12.5, None)]
    assert client.get("/api/hosts/h9/usage/?span=month").json()["step_s"] == 3600
    assert client.get("/api/hosts/h9/usage/?span=year").json()["error"]["field"] == "span"


def test_history_has_one_row_a_step_however_often_a_host_reports_and_goes_with_it(who: world.People) -> None:
    for percent in (20.0, 30.0):
        host_register(host="h9", report=replace(REPORT, metrics={"cpu.percent": percent}))
    samples = HostUsageSample.objects.filter(host="h9")
    assert samples.count() <= 4  # two steps at most, should one end just now, of two spans
    assert samples.latest("at_s").cpu_percent == 30.0
    host_delete(host="h9")
    assert not samples.exists()


def test_page_shows_doubts_and_charts(who: world.People) -> None:
    first = HostUsageSample.objects.filter(host="h9", step_s=300).get()
    HostUsageSample.objects.create(
        host="h9", step_s=300, slot=(first.slot + 1) % 288, at_s=first.at_s - 300, cpu_percent=99.0
    )
    client = Client()
    client.force_login(User.objects.get(pk=who.admin.user_id))
    page = client.get("/hosts/h9/").text
    assert "8192 MiB could still be promised" in page
    assert 'aria-label="CPU: 12.5 % at the end, 99 % at most."' in page
    assert "There is no history yet" in client.get("/hosts/h9/?span=month").text
