"""Volume types, quotas, limits and what the installation has, by the Volume API."""

from typing import Any

import pytest

from servers.models import StoragePool, VolumeType
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.services.types import volume_type_create
from tests.worlds.cloud import People
from tests.worlds.volume_door import VolumeClient, volume_client, volume_cloud
from tests.worlds.volumes import snapshot_made, volume_made

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> People:
    return volume_cloud()


@pytest.fixture
def mary(world: People) -> VolumeClient:
    return volume_client(world.member)


@pytest.fixture
def root(world: People) -> VolumeClient:
    return volume_client(world.admin)


def test_a_type_is_made_with_extra_specs_which_are_its_fields(root: VolumeClient, mary: VolumeClient) -> None:
    specs = {
        "multiattach": "<is> True",
        "volume_backend_name": "shared",
        "storage_protocol": "<or> file <or> rbd",
        "provisioning:max_vol_size": "9",
    }
    body = {"volume_type": {"name": "fast", "description": "said", "extra_specs": specs}}
    made = root.send("POST", "/types", body, status=200)["volume_type"]
    assert (made["extra_specs"], made["is_public"], "qos_specs_id" in made) == (specs, True, False)
    assert root.get(f"/types/{made['id']}")["volume_type"]["qos_specs_id"] is None
    said = {"volume_type": {"description": "more"}}
    changed = root.send("PUT", f"/types/{made['id']}", said, status=200)["volume_type"]
    assert set(changed) == {"id", "name", "description", "is_public", "extra_specs"}
    row = VolumeType.objects.get(pk=made["id"])
    assert (row.is_multiattach, row.pools, row.kinds, row.max_gib) == (True, ["shared"], ["file", "rbd"], 9)
    shown = mary.get(f"/types/{row.pk}")["volume_type"]
    assert shown["extra_specs"] == {"multiattach": "<is> True"}
    assert "qos_specs_id" not in shown
    path = f"/types/{row.pk}/extra_specs"
    more = {"extra_specs": {"provisioning:min_vol_size": "2"}}
    assert root.send("POST", path, more, status=200) == more
    assert root.get(f"{path}/provisioning:min_vol_size") == {"provisioning:min_vol_size": "2"}
    put = {"volume_backend_name": "<or> shared <or> other"}
    assert root.send("PUT", f"{path}/volume_backend_name", put, status=200) == put
    root.send("DELETE", f"{path}/multiattach", status=202)
    root.fault("DELETE", f"{path}/multiattach", status=404)
    row.refresh_from_db()
    assert (row.min_gib, row.pools, row.is_multiattach) == (2, ["shared", "other"], False)
    mary.fault("GET", f"{path}/volume_backend_name", status=404)


@pytest.mark.parametrize(
    "specs",
    [
        {"capabilities:replication": "<is> True"},
        {"multiattach": "yes"},
        {"provisioning:min_vol_size": "-1"},
        {"storage_protocol": "tape"},
        {"volume_backend_name": "<or>"},
    ],
)
def test_extra_specs_that_would_do_nothing_are_refused(root: VolumeClient, specs: dict[str, str]) -> None:
    body = {"volume_type": {"name": "fast", "extra_specs": specs}}
    root.fault("POST", "/types", body, status=400)
    assert not VolumeType.objects.exists()


def test_types_are_changed_chosen_and_removed(world: People, root: VolumeClient, mary: VolumeClient) -> None:
    mary.fault("GET", "/types/default", status=404)
    default = volume_type_create(request=VolumeTypeRequest(name="usual", is_default=True))
    other = volume_type_create(request=VolumeTypeRequest(name="other"))
    assert mary.get("/types/default")["volume_type"]["id"] == str(default.pk)
    assert {one["name"] for one in mary.get("/types")["volume_types"]} == {"usual", "other"}
    made = mary.send("POST", "/volumes", {"volume": {"size": 1}}, status=202)["volume"]
    assert (made["volume_type"], made["volume_type_id"]) == ("usual", str(default.pk))
    changed = {"volume_type": {"name": None, "description": "new", "is_public": "True"}}
    assert root.send("PUT", f"/types/{other.pk}", changed, status=200)["volume_type"]["name"] == "other"
    root.fault("PUT", f"/types/{other.pk}", {"volume_type": {"name": "usual"}}, status=409)
    root.fault("POST", "/types", {"volume_type": {"name": "usual"}}, status=409)
    root.fault("DELETE", f"/types/{default.pk}", status=400)
    root.send("DELETE", f"/types/{other.pk}", status=202)
    root.fault("GET", f"/types/{other.pk}", status=404)


def test_a_volume_is_retyped(world: People, root: VolumeClient, mary: VolumeClient) -> None:
    volume_type_create(request=VolumeTypeRequest(name="fast"))
    volume_type_create(request=VolumeTypeRequest(name="elsewhere", kinds=("rbd",)))
    volume = volume_made(world.member)
    action = f"/volumes/{volume.pk}/action"
    mary.send("POST", action, {"os-retype": {"new_type": "fast", "migration_policy": "never"}}, status=202)
    assert mary.get(f"/volumes/{volume.pk}")["volume"]["volume_type"] == "fast"
    mary.fault("POST", action, {"os-retype": {"new_type": "elsewhere"}}, status=400)
    mary.fault("POST", action, {"os-retype": {"new_type": "nothing"}}, status=404)


def test_a_private_type_is_for_the_projects_that_were_given_it(
    world: People, root: VolumeClient, mary: VolumeClient
) -> None:
    body = {"volume_type": {"name": "own", "os-volume-type-access:is_public": False}}
    made = root.send("POST", "/types", body, status=200)["volume_type"]
    path, project = f"/types/{made['id']}", world.member.project_id.hex
    mary.fault("GET", path, status=404)
    root.send("POST", f"{path}/action", {"addProjectAccess": {"project": project}}, status=202)
    root.fault("POST", f"{path}/action", {"addProjectAccess": {"project": project}}, status=409)
    assert mary.get(path)["volume_type"]["name"] == "own"
    access = {"volume_type_id": made["id"], "project_id": project}
    assert root.get(f"{path}/os-volume-type-access")["volume_type_access"] == [access]
    assert root.get("/types?is_public=None")["volume_types"][0]["name"] == "own"
    assert root.get("/types?is_public=True")["volume_types"] == []
    root.send("POST", f"{path}/action", {"removeProjectAccess": {"project": project}}, status=202)
    mary.fault("GET", path, status=404)
    public = volume_type_create(request=VolumeTypeRequest(name="all"))
    root.fault("GET", f"/types/{public.pk}/os-volume-type-access", status=404)


def test_encryption_of_a_type(root: VolumeClient) -> None:
    made = root.send("POST", "/types", {"volume_type": {"name": "sealed"}}, status=200)["volume_type"]
    path = f"/types/{made['id']}/encryption"
    assert root.get(path) == {}
    wanted: dict[str, Any] = {"provider": "luks", "control_location": "front-end"}
    assert "provider" in root.fault("POST", path, {"encryption": {**wanted, "provider": "plain"}}, status=400)
    assert "cipher" in root.fault("POST", path, {"encryption": {**wanted, "cipher": "aes-cbc"}}, status=400)
    root.send("POST", path, {"encryption": wanted}, status=200)
    shown = root.get(path)
    assert (shown["provider"], shown["encryption_id"]) == ("luks", made["id"])
    assert root.get(f"{path}/provider") == {"provider": "luks"}
    root.send("DELETE", f"{path}/{made['id']}", status=202)
    root.fault("DELETE", f"{path}/{made['id']}", status=404)
    assert VolumeType.objects.get().is_encrypted is False


def test_types_are_listed_by_what_all_see(root: VolumeClient, mary: VolumeClient) -> None:
    volume_type_create(request=VolumeTypeRequest(name="one"))
    volume_type_create(request=VolumeTypeRequest(name="many", is_multiattach=True))
    asked = "/types?extra_specs=%7B'multiattach'%3A%20'<is> True'%7D"
    assert [one["name"] for one in mary.get(asked)["volume_types"]] == ["many"]
    mary.fault("GET", "/types?extra_specs=%7B'volume_backend_name'%3A%20'shared'%7D", status=400)


def test_quotas_are_shown_set_and_reset(world: People, root: VolumeClient, mary: VolumeClient) -> None:
    snapshot_made(world.member, volume_made(world.member, size_gib=2))
    own, other = world.member.project_id.hex, world.stranger.project_id.hex
    path = f"/os-quota-sets/{own}"
    used = mary.get(f"{path}?usage=True")["quota_set"]
    assert (used["volumes"]["in_use"], used["gigabytes"]["in_use"], used["snapshots"]["in_use"]) == (1, 4, 1)
    defaults = mary.get(f"{path}/defaults")["quota_set"]
    limits = {"quota_set": {"volumes": 7, "gigabytes": "-1", "per_volume_gigabytes": -1, "tenant_id": own}}
    mary.fault("PUT", path, limits, status=403)
    assert root.send("PUT", path, limits, status=200)["quota_set"]["volumes"] == 7
    assert mary.get(path)["quota_set"] == {**defaults, "volumes": 7, "gigabytes": -1}
    absolute = mary.get("/limits")["limits"]["absolute"]
    assert (absolute["maxTotalVolumes"], absolute["totalGigabytesUsed"]) == (7, 4)
    for wrong in ({"volumes": -2}, {"groups": 1}, {"volumes_fast": 1}, {"per_volume_gigabytes": 5}, {"id": other}):
        root.fault("PUT", path, {"quota_set": wrong}, status=400)
    root.send("DELETE", path, status=200)
    assert mary.get(path)["quota_set"] == defaults
    mary.fault("GET", f"/os-quota-sets/{other}", status=403)
    mary.fault("GET", f"/limits?project_id={other}", status=403)
    assert root.get(f"/limits?project_id={other}")["limits"]["absolute"]["totalVolumesUsed"] == 0
    root.fault("GET", f"/limits?project_id={other}", status=400, version="volume 3.38")
    changed = root.send("PUT", "/os-quota-class-sets/default", {"quota_class_set": {"backups": 3}}, status=200)
    assert changed["quota_class_set"]["backups"] == 3
    assert mary.get(f"{path}/defaults")["quota_set"]["backups"] == 3
    mary.fault("GET", "/os-quota-class-sets/gold", status=404)


def test_pools_services_and_zones(world: People, root: VolumeClient, mary: VolumeClient) -> None:
    volume_made(world.member, size_gib=3)
    assert root.get("/scheduler-stats/get_pools") == {"pools": [{"name": "shared@file#shared"}]}
    (pool,) = root.get("/scheduler-stats/get_pools?detail=True&name=shared")["pools"]
    capabilities = pool["capabilities"]
    assert (capabilities["total_capacity_gb"], capabilities["allocated_capacity_gb"]) == (100, 3)
    assert root.get("/scheduler-stats/get_pools?name=other")["pools"] == []
    root.fault("GET", "/scheduler-stats/get_pools?name=other", status=400, version="volume 3.27")
    (service,) = root.get("/os-services")["services"]
    assert (service["binary"], service["host"], service["status"]) == ("cinder-volume", "h1@shared", "enabled")
    StoragePool.objects.update(is_enabled=False)
    assert root.get("/os-services?host=h1")["services"][0]["status"] == "disabled"
    assert root.get("/os-services?binary=cinder-backup")["services"] == []
    assert "backend_state" not in root.call("GET", "/v3/os-services", version="volume 3.48").json()["services"][0]
    assert mary.get("/os-availability-zone")["availabilityZoneInfo"][0]["zoneName"] == "nova"


def test_extensions_and_filters_are_listed(mary: VolumeClient) -> None:
    aliases = {one["alias"] for one in mary.get("/extensions")["extensions"]}
    assert {"os-quota-sets", "backups"} <= aliases
    assert mary.get("/extensions/backups")["extension"]["name"] == "Backups"
    mary.fault("GET", "/extensions/nothing", status=404)
    (of_volumes,) = mary.get("/resource_filters?resource=volume")["resource_filters"]
    for name in of_volumes["filters"]:
        assert mary.call("GET", f"/v3/volumes?{name}=no-such-thing").status_code in (200, 400), name
    mary.fault("GET", "/resource_filters", status=404, version="volume 3.30")
