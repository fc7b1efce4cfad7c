"""Versions and clocks of hosts in the API: who is behind, who is silent, whose clock is off."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from rest_framework.test import APIClient

from computeagent.protocol.hosts import ClockSkew, HostVersions
from scheduling.fleet.services.hosts import host_register
from scheduling.models import Service
from tests.services.scheduling.fleet.fleet_world import report

pytestmark = pytest.mark.django_db
NEW = HostVersions(agent="1.10.0", protocol=2, service=73, libvirt="10.0.0", kernel="6.12.1", os="Debian 13")
OLD = HostVersions(agent="1.9.0", protocol=1, service=73, libvirt="9.0.0", kernel="6.1.0", os="Debian 12")


@pytest.fixture(autouse=True)
def hosts() -> None:
    """Two that are new, one that is old, one that is old and silent, one that never said."""
    for name, versions, skew in (
        ("new-1", NEW, ClockSkew(0.001, 0.01)),
        ("new-2", NEW, ClockSkew(-7.5, 0.01)),
        ("old-1", OLD, ClockSkew(2.1, 0.5)),
        ("old-2", OLD, ClockSkew(60.0, 0.01)),
        ("mute", HostVersions(), None),
    ):
        measured = {"metrics": {"cpu.percent": 4.0}} if versions.agent else {}
        host_register(host=name, report=report(f"node-{name}", versions=versions, clock_skew=skew, **measured))
    Service.objects.filter(host="old-2").update(last_seen_up=Now() - timedelta(hours=1))


def component(admin: APIClient, name: str) -> dict[str, Any]:
    body = admin.get("/api/host-versions/").json()
    assert (body["up"], body["silent"]) == (4, 1)
    return next(one for one in body["components"] if one["component"] == name)


def test_agents_are_counted_by_version_newest_first(admin: APIClient) -> None:
    assert component(admin, "agent") == {
        "component": "agent",
        "behind": 2,
        "versions": [
            {"version": "1.10.0", "up": 2, "silent": 0, "is_newest": True},
            {"version": "1.9.0", "up": 1, "silent": 1, "is_newest": False},
            {"version": "unknown", "up": 1, "silent": 0, "is_newest": False},
        ],
    }


def test_host_without_libvirt_is_not_behind_in_it(admin: APIClient) -> None:
    found = component(admin, "libvirt")
    assert found["behind"] == 1
    assert found["versions"][-1] == {"version": "unknown", "up": 1, "silent": 0, "is_newest": False}


def test_hypervisor_is_named_with_its_kind(admin: APIClient) -> None:
    assert component(admin, "hypervisor")["versions"] == [
        {"version": "QEMU 9.0.0", "up": 4, "silent": 1, "is_newest": True}
    ]


def test_kernels_of_distributions_are_not_compared(admin: APIClient) -> None:
    assert component(admin, "kernel")["behind"] is None
    assert {one["is_newest"] for one in component(admin, "os")["versions"]} == {False}


def names(admin: APIClient, query: str) -> set[str]:
    return {one["host"] for one in admin.get(f"/api/hosts/?{query}").json()["results"]}


def test_hosts_are_found_by_version_and_clock(admin: APIClient) -> None:
    assert names(admin, "behind=true") == {"old-1", "old-2", "mute"}
    assert names(admin, "behind=false&up=true") == {"new-1", "new-2"}
    assert names(admin, "libvirt_version=9.0.0") == {"old-1", "old-2"}
    assert names(admin, "clock_off=true") == {"new-2", "old-2"}
    assert names(admin, "clock_off=false") == {"new-1", "old-1", "mute"}


def test_host_tells_what_it_measured(admin: APIClient) -> None:
    body = admin.get("/api/hosts/new-2/").json()
    assert (body["agent_version"], body["service_version"], body["libvirt_version"]) == ("1.10.0", 73, "10.0.0")
    assert (body["clock_skew_s"], body["clock_error_s"], body["clock_is_off"]) == (-7.5, 0.01, True)
    assert body["metrics"] == {"cpu.percent": 4.0}
    assert body["metrics_at"]
    mute = admin.get("/api/hosts/mute/").json()
    assert (mute["clock_skew_s"], mute["clock_is_off"], mute["metrics_at"]) == (None, False, None)


def test_five_thousand_hosts_cost_one_query_and_few_rows(admin: APIClient, django_assert_num_queries: Any) -> None:
    from scheduling.fleet.selectors.versions import fleet_versions

    with django_assert_num_queries(1):
        fleet_versions()
