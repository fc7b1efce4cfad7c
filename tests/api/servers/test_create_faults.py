"""Nova's faults of a create, each that can happen here: its code, and a sentence at the field that it is about.

Those of networks, ports and volumes are not among them, since a request cannot name any.
"""

import json
from typing import Any

import pytest

from controlplane.identity.models import Project, UserQuota
from servers.models import BuildRequest, FirstBootData, Image
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
NOBODY = "00000000-0000-0000-0000-000000000001"
FILE = {"path": "/x", "contents": ""}

# Nova's name, status, field, a part of the sentence, what the request says, who asks.
FAULTS: list[tuple[str, int, str, str, dict[str, Any], str]] = [
    ("TooManyInstances: instances", 403, "instances", "asked for", {"min_count": 21}, "member"),
    ("TooManyInstances: cores", 403, "cores", "cores: 60 asked for", {"min_count": 15, "flavor": "four"}, "member"),
    ("TooManyInstances: ram", 403, "ram_mib", "ram_mib: 61440", {"min_count": 15, "flavor": "wide"}, "member"),
    ("OverQuota of the user", 403, "instances", "Over the user's quota", {"min_count": 3}, "member"),
    (
        "MetadataLimitExceeded",
        403,
        "metadata",
        "at most 128",
        {"metadata": dict.fromkeys(map(str, range(129)), "")},
        "",
    ),
    (
        "OnsetFileLimitExceeded",
        403,
        "personality",
        "at most 5",
        {"personality": [{**FILE, "path": f"/{n}"} for n in range(6)]},
        "",
    ),
    (
        "OnsetFilePathLimitExceeded",
        403,
        "personality",
        "path_bytes: 300",
        {"personality": [{**FILE, "path": "x" * 300}]},
        "",
    ),
    (
        "OnsetFileContentLimitExceeded",
        403,
        "personality",
        "content_bytes: 12000",
        {"personality": [{**FILE, "contents": "AAAA" * 4000}]},
        "",
    ),
    ("BootFromVolumeRequiredForZeroDiskFlavor", 403, "flavor", "root disk of 0 GiB", {"flavor": "zero"}, ""),
    ("forced host without the right", 403, "", "forced_host", {"availability_zone": ":h1"}, ""),
    ("requested host without the right", 403, "", "requested_destination", {"host": "h1"}, ""),
    ("ImageNotFound", 400, "image", "does not exist", {"image": NOBODY}, ""),
    ("ImageNotAuthorized", 400, "image", "does not exist", {"image": "foreign"}, ""),
    ("ImageNotActive", 400, "image", "is queued, not active", {"image": "empty"}, ""),
    ("ImageUnacceptable", 400, "image", "is no disk", {"image": "vmlinuz"}, ""),
    ("ImageNotFound: kernel", 400, "image", "boots by the image", {"image": "kernelless"}, ""),
    ("FlavorMemoryTooSmall", 400, "flavor", "needs at least 9999 MiB", {"image": "hungry"}, ""),
    ("FlavorDiskTooSmall", 400, "flavor", "needs at least 50 GiB", {"image": "large"}, ""),
    ("contradiction of flavor and image", 400, "image", "hw_disk_bus=fdc", {"image": "odd"}, ""),
    (
        "AutoDiskConfigDisabledByImage",
        400,
        "disk_config",
        "automatic disk resize disabled",
        {"image": "fixed", "disk_config": "AUTO"},
        "",
    ),
    ("KeypairNotFound", 400, "key_name", "", {"key_name": "none"}, ""),
    ("ConfigDriveInvalidValue", 400, "config_drive", "valid boolean", {"config_drive": "maybe"}, ""),
    ("FlavorNotFound", 400, "flavor", "", {"flavor": NOBODY}, ""),
    ("InvalidMetadata", 400, "metadata", "letters, digits", {"metadata": {"a/b": "x"}}, ""),
    ("InstanceUserDataMalformed", 400, "user_data", "Is not base64.", {"user_data": "***"}, ""),
    ("user data of more than 64 KiB", 400, "user_data", "at most 65535", {"user_data": "AAAA" * 16384}, ""),
    ("InstanceGroupNotFound", 400, "hints", "", {"hints": {"group": NOBODY}}, ""),
    ("ComputeHostNotFound", 400, "host", "could not be found", {"host": "h9"}, "admin"),
    (
        "ComputeHostNotFound: node",
        400,
        "hypervisor_hostname",
        "could not be found",
        {"hypervisor_hostname": "n9"},
        "admin",
    ),
    (
        "two mechanisms for a host",
        400,
        "host",
        "say one of the two",
        {"host": "h1", "availability_zone": ":h1"},
        "admin",
    ),
    ("text that is no Unicode", 400, "", "half of a character", {"name": "a\ud800"}, ""),
    ("InvalidInput of the zone", 400, "availability_zone", "the form is zone", {"availability_zone": "a:b:c:d"}, ""),
    ("zone that is not available", 400, "availability_zone", "There is no zone", {"availability_zone": "mars"}, ""),
    ("min_count above max_count", 400, "max_count", "less than min_count", {"min_count": 2, "max_count": 1}, ""),
    (
        "AmbiguousHostnameForMultipleInstances",
        400,
        "hostname",
        "several instances",
        {"hostname": "a", "min_count": 2},
        "",
    ),
    ("host name that is none", 400, "hostname", "1 to 63 letters", {"hostname": "a..b"}, ""),
    ("accessIPv4 that is none", 400, "access_ip_v4", "not an IPv4", {"access_ip_v4": "::1"}, ""),
    ("accessIPv6 that is none", 400, "access_ip_v6", "not an IPv6", {"access_ip_v6": "1.2.3.4"}, ""),
    ("diskConfig that is none", 400, "disk_config", "AUTO or MANUAL", {"disk_config": "SOME"}, ""),
    (
        "personality that is none",
        400,
        "personality",
        "contents must be base64",
        {"personality": [{**FILE, "contents": "*"}]},
        "",
    ),
    ("field that is none", 400, "flavour", "no such field", {"flavour": "x"}, ""),
]


def installation() -> world.People:
    who = world.cloud()
    world.flavor("four", vcpus=4)
    world.flavor("wide", memory_mib=4096)
    world.flavor("zero", root_gib=0)
    world.image("empty", status="queued")
    world.image("vmlinuz", disk_format="aki")
    world.image("kernelless", properties={"kernel_id": NOBODY})
    world.image("hungry", min_ram_mib=9999)
    world.image("large", min_disk_gib=50)
    world.image("odd", properties={"hw_disk_bus": "fdc"})
    world.image("fixed", properties={"hw_auto_disk_config": "disabled"})
    world.image("foreign", visibility="private", project_id=who.stranger.project_id)
    return who


@pytest.mark.parametrize(
    ("fault", "status", "field", "sentence", "says", "asks"), FAULTS, ids=[one[0] for one in FAULTS]
)
def test_fault_has_novas_code_and_speaks_at_its_field(
    fault: str, status: int, field: str, sentence: str, says: dict[str, Any], asks: str
) -> None:
    who = installation()
    if "user" in fault and status == 403:
        UserQuota.objects.create(project_id=who.member.project_id, user_id=who.member.user_id, instances=2)
    if "foreign" in says.values():
        says = {**says, "image": str(Image.objects.get(name="foreign").pk)}
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=20)
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", **says}
    answer = world.client_of(getattr(who, asks or "member")).post(
        "/api/instances/", json.dumps(body), content_type="application/json"
    )
    error = answer.json()["error"]
    assert answer.status_code == status, error
    assert error["code"] in {400: ("invalid",), 403: ("forbidden", "quota_exceeded")}[status]
    said = " ".join([error["message"], *(reason for reasons in error["reasons"].values() for reason in reasons)])
    assert sentence in said
    assert field in (error["field"] or "", *error["reasons"])
    assert error["request_id"]
    assert not BuildRequest.objects.exists()
    assert not FirstBootData.objects.exists()


def test_password_is_in_one_answer_only() -> None:
    who = world.cloud()
    client = world.client_of(who.member)
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo"}
    given = client.post("/api/instances/", {**body, "admin_pass": "pa ss"}, format="json").json()
    made = client.post("/api/instances/", {**body, "generate_admin_pass": True}, format="json").json()
    assert given["admin_pass"] == "pa ss"
    assert len(made["admin_pass"]) == 12
    assert "admin_pass" not in client.get(f"/api/instances/{made['id']}/").json()
    assert "admin_pass" not in client.post("/api/instances/", body, format="json").json()
    both = client.post("/api/instances/", {**body, "admin_pass": "x", "generate_admin_pass": True}, format="json")
    assert both.status_code == 400


def test_reservation_id_is_all_that_is_answered_where_it_is_asked_for() -> None:
    who = world.cloud()
    client = world.client_of(who.member)
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "min_count": 2, "return_reservation_id": True}
    answer = client.post("/api/instances/", body, format="json")
    assert (answer.status_code, set(answer.json())) == (202, {"reservation_id"})
    reservation = answer.json()["reservation_id"]
    found = client.get(f"/api/instances/?reservation_id={reservation}").json()["results"]
    assert [one["launch_index"] for one in sorted(found, key=lambda one: one["name"])] == [0, 1]
    assert {one["root_device_name"] for one in found} == {"/dev/vda"}
