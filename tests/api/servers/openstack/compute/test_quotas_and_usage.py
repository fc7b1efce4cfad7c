"""Limits, quotas of projects, users and classes, and usage at the Compute API."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from controlplane.infra.db import db_now
from servers.models import Instance
from tests.worlds import cloud as world
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db

BASIC = {"cores", "instances", "key_pairs", "metadata_items", "ram"}
GROUPS = {"server_groups", "server_group_members"}
FILES = {"injected_files", "injected_file_content_bytes", "injected_file_path_bytes"}
NETWORKS = {"fixed_ips", "floating_ips", "security_groups", "security_group_rules"}


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.mark.parametrize(
    ("minor", "keys"),
    [
        (1, BASIC | GROUPS | FILES | NETWORKS),
        (35, BASIC | GROUPS | FILES | NETWORKS),
        (36, BASIC | GROUPS | FILES),
        (56, BASIC | GROUPS | FILES),
        (57, BASIC | GROUPS),
    ],
)
def test_quota_keys_by_version(who: world.People, minor: int, keys: set[str]) -> None:
    own = f"/os-quota-sets/{who.reader.project_id.hex}"
    reader = ComputeClient(who.reader, minor=minor)
    shown = reader.get(own)["quota_set"]
    assert set(shown) == keys | {"id"}
    assert shown["id"] == who.reader.project_id.hex
    assert reader.get(f"{own}/defaults")["quota_set"] == shown
    detail = reader.get(f"{own}/detail")["quota_set"]
    assert set(detail) == keys | {"id"}
    assert detail["cores"] == {"limit": shown["cores"], "in_use": 0, "reserved": 0}
    body = {"quota_set": {"cores": 7}}
    changed = ComputeClient(who.admin, minor=minor).call("PUT", own, body).json()["quota_set"]
    assert (set(changed), changed["cores"]) == (keys, 7)


@pytest.mark.parametrize(
    ("minor", "keys"),
    [
        (1, BASIC | FILES | NETWORKS),
        (49, BASIC | FILES | NETWORKS),
        (50, BASIC | FILES | GROUPS),
        (57, BASIC | GROUPS),
    ],
)
def test_class_keys_by_version(who: world.People, minor: int, keys: set[str]) -> None:
    admin, path = ComputeClient(who.admin, minor=minor), "/os-quota-class-sets/default"
    assert set(admin.get(path)["quota_class_set"]) == keys | {"id"}
    changed = admin.call("PUT", path, {"quota_class_set": {"ram": "4096"}}).json()["quota_class_set"]
    assert (set(changed), changed["ram"]) == (keys, 4096)
    own = admin.get(f"/os-quota-sets/{who.admin.project_id.hex}")["quota_set"]
    assert own["ram"] == 4096
    fault_of(admin.call("GET", "/os-quota-class-sets/other"), 404, "itemNotFound")
    fault_of(admin.call("PUT", path, {"quota_class_set": {"colour": 1}}), 400, "badRequest")


def test_quotas_of_projects(who: world.People) -> None:
    world.active(who.member)
    admin, member = ComputeClient(who.admin), ComputeClient(who.member)
    own, other = f"/os-quota-sets/{who.member.project_id.hex}", f"/os-quota-sets/{who.stranger.project_id.hex}"
    assert member.get(f"{own}/detail")["quota_set"]["instances"]["in_use"] == 1
    fault_of(member.call("GET", other), 403, "forbidden")
    fault_of(member.call("GET", f"/os-quota-sets/{'0' * 32}"), 403, "forbidden")
    fault_of(admin.call("GET", f"/os-quota-sets/{'0' * 32}"), 400, "badRequest")
    fault_of(admin.call("GET", "/os-quota-sets/nobody"), 400, "badRequest")
    fault_of(member.call("PUT", own, {"quota_set": {"cores": 1}}), 403, "forbidden")
    below = {"quota_set": {"instances": 0}}
    fault_of(admin.call("PUT", own, below), 400, "badRequest")
    forced = {"quota_set": {"instances": 0, "force": True}}
    assert admin.call("PUT", own, forced).json()["quota_set"]["instances"] == 0
    assert admin.call("PUT", own, {"quota_set": {"instances": -1, "floating_ips": "3"}}).status_code == 200
    row = Project.objects.get(pk=who.member.project_id)
    assert (row.quota_instances, row.quota_floating_ips) == (-1, 3)
    for wrong in ({"instances": -2}, {"colour": 1}, {"cores": "many"}, {"fixed_ips": 10}, {"cores": 2**40}):
        fault_of(admin.call("PUT", own, {"quota_set": wrong}), 400, "badRequest")
    assert admin.call("DELETE", own).status_code == 202
    row.refresh_from_db()
    assert row.quota_instances is None


def test_quotas_of_users(who: world.People) -> None:
    admin, project = ComputeClient(who.admin), who.member.project_id.hex
    path = f"/os-quota-sets/{project}?user_id={who.member.user_id.hex}"
    assert admin.call("PUT", path, {"quota_set": {"cores": 2}}).json()["quota_set"]["cores"] == 2
    assert ComputeClient(who.member).get(path)["quota_set"]["cores"] == 2
    fault_of(ComputeClient(who.reader).call("GET", path), 403, "forbidden")
    assert admin.get(f"/os-quota-sets/{project}")["quota_set"]["cores"] != 2
    fault_of(admin.call("PUT", path, {"quota_set": {"cores": 10**6}}), 400, "badRequest")
    assert admin.call("DELETE", path).status_code == 202
    assert admin.get(path)["quota_set"]["cores"] != 2
    fault_of(admin.call("GET", f"/os-quota-sets/{project}?user_id=x"), 400, "badRequest")


LIMITS = {
    "maxTotalCores",
    "maxTotalInstances",
    "maxTotalKeypairs",
    "maxServerMeta",
    "maxTotalRAMSize",
    "maxServerGroups",
    "maxServerGroupMembers",
    "totalRAMUsed",
    "totalCoresUsed",
    "totalInstancesUsed",
    "totalServerGroupsUsed",
}
OF_FILES = {"maxPersonality", "maxPersonalitySize"}
OF_NETWORKS = {
    "maxTotalFloatingIps",
    "maxSecurityGroups",
    "maxSecurityGroupRules",
    "totalFloatingIpsUsed",
    "totalSecurityGroupsUsed",
}


@pytest.mark.parametrize(
    ("minor", "keys"),
    [
        (1, LIMITS | OF_FILES | OF_NETWORKS | {"maxImageMeta"}),
        (36, LIMITS | OF_FILES | {"maxImageMeta"}),
        (39, LIMITS | OF_FILES),
        (57, LIMITS),
    ],
)
def test_limits(who: world.People, minor: int, keys: set[str]) -> None:
    world.active(who.member)
    reader = ComputeClient(who.reader, minor=minor)
    found = reader.get("/limits?reserved=False")["limits"]
    assert (set(found), found["rate"], set(found["absolute"])) == ({"rate", "absolute"}, [], keys)
    assert found["absolute"]["totalInstancesUsed"] == 1
    other = f"/limits?tenant_id={who.stranger.project_id.hex}"
    fault_of(reader.call("GET", other), 403, "forbidden")
    assert ComputeClient(who.admin, minor=minor).get(other)["limits"]["absolute"]["totalInstancesUsed"] == 0
    fault_of(ComputeClient(who.admin).call("GET", "/limits?tenant_id=x"), 400, "badRequest")
    fault_of(reader.call("GET", "/limits?colour=1", minor=75), 400, "badRequest")


USAGE = {
    "tenant_id",
    "total_hours",
    "total_vcpus_usage",
    "total_memory_mb_usage",
    "total_local_gb_usage",
    "start",
    "stop",
}
SERVER = {
    "instance_id",
    "name",
    "tenant_id",
    "flavor",
    "hours",
    "vcpus",
    "memory_mb",
    "local_gb",
    "started_at",
    "ended_at",
    "state",
    "uptime",
}


def _ran(caller: Any, hours: float, **more: Any) -> Instance:
    made = world.active(caller)
    changes: dict[str, Any] = {"launched_at": Now() - timedelta(hours=hours), **more}
    Instance.objects.filter(pk=made.pk).update(**changes)
    return made


def _span() -> str:
    now = db_now()
    return f"start={now - timedelta(days=1):%Y-%m-%dT%H:%M:%S}&end={now + timedelta(days=1):%Y-%m-%dT%H:%M:%S.%f}"


def test_usage(who: world.People) -> None:
    gone = _ran(who.member, 4, terminated_at=Now() - timedelta(hours=3), deleted_at=Now())
    _ran(who.member, 2)
    admin, span = ComputeClient(who.admin), _span()
    (shown,) = admin.get(f"/os-simple-tenant-usage?detailed=1&{span}")["tenant_usages"]
    assert set(shown) == USAGE | {"server_usages"}
    assert [set(one) for one in shown["server_usages"]] == [SERVER, SERVER]
    assert shown["total_hours"] == pytest.approx(3, abs=0.1)
    assert shown["total_memory_mb_usage"] == pytest.approx(3 * 512, rel=0.05)
    ended = {one["instance_id"]: one["state"] for one in shown["server_usages"]}
    assert ended[str(gone.pk)] == "terminated"
    (brief,) = admin.get(f"/os-simple-tenant-usage?{span}")["tenant_usages"]
    assert set(brief) == USAGE
    own = f"/os-simple-tenant-usage/{who.reader.project_id.hex}"
    assert set(ComputeClient(who.reader).get(f"{own}?{span}")["tenant_usage"]) == USAGE | {"server_usages"}
    nothing = f"/os-simple-tenant-usage/{who.stranger.project_id.hex}"
    assert ComputeClient(who.stranger).get(f"{nothing}?{span}") == {"tenant_usage": {}}
    fault_of(ComputeClient(who.stranger).call("GET", own), 403, "forbidden")
    fault_of(ComputeClient(who.member).call("GET", "/os-simple-tenant-usage"), 403, "forbidden")
    for wrong in ("start=yesterday", "start=2030-01-01T00:00:00&end=2029-01-01T00:00:00"):
        fault_of(admin.call("GET", f"/os-simple-tenant-usage?{wrong}"), 400, "badRequest")


def test_pages_and_queries_of_usage(who: world.People) -> None:
    _ran(who.member, 1)
    admin, span = ComputeClient(who.admin), _span()
    with CaptureQueriesContext(connection) as few:
        admin.get(f"/os-simple-tenant-usage?detailed=1&{span}")
    for _ in range(2):
        _ran(who.member, 1)
    with CaptureQueriesContext(connection) as many:
        admin.get(f"/os-simple-tenant-usage?detailed=1&{span}")
    assert len(few) == len(many)
    path, seen = f"/os-simple-tenant-usage?detailed=1&limit=2&{span}", []
    first = admin.get(path, minor=40)
    seen += [one["instance_id"] for one in first["tenant_usages"][0]["server_usages"]]
    query = first["tenant_usages_links"][0]["href"].partition("?")[2]
    last = admin.get(f"/os-simple-tenant-usage?{query}", minor=40)
    seen += [one["instance_id"] for one in last["tenant_usages"][0]["server_usages"]]
    assert (len(seen), len(set(seen)), "tenant_usages_links" in last) == (3, 3, False)
    assert len(admin.get(path)["tenant_usages"][0]["server_usages"]) == 3
