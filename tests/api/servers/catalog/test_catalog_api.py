import hashlib
import struct
import uuid

import pytest
from rest_framework.test import APIClient

from controlplane.identity.domain.quota import NETWORK_LIMITS, OWNER_LIMITS, VOLUME_LIMITS
from servers.models import Flavor, Image, Network, ServerGroup, ServerGroupMember
from tests.fixtures.disk_images import disk_image
from tests.worlds import cloud

pytestmark = pytest.mark.django_db
RAW = "application/octet-stream"


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path}


@pytest.fixture
def who() -> cloud.People:
    return cloud.people()


@pytest.fixture
def admin(who) -> APIClient:
    return cloud.client_of(who.admin)


@pytest.fixture
def member(who) -> APIClient:
    return cloud.client_of(who.member)


@pytest.fixture
def reader(who) -> APIClient:
    return cloud.client_of(who.reader)


@pytest.fixture
def stranger(who) -> APIClient:
    return cloud.client_of(who.stranger)


def qcow2(backing_at: int = 0) -> bytes:
    if not backing_at:
        return disk_image("qcow2", size=2**30)
    return struct.pack(">4sIQIIQI", b"QFI\xfb", 3, backing_at, 0, 16, 2**30, 0).ljust(3000, b"\0")


def error(response, status: int) -> dict:
    assert response.status_code == status, response.content
    body = response.json()["error"]
    assert body["request_id"].startswith("req-")
    return body


TINY = {"name": "m1.tiny", "vcpus": 1, "memory_mib": 512, "extra_specs": {"hw:cpu_policy": "shared"}}

LISTS = ["flavors", "images", "keypairs", "server-groups", "networks"]


@pytest.mark.parametrize("path", [*LISTS, "quota"])
def test_without_a_token_nothing_is_shown(path):
    assert error(APIClient().get(f"/api/{path}/"), 401)["code"] == "unauthorized"


@pytest.mark.parametrize("path", LISTS)
def test_lists_have_pages(reader, path):
    assert reader.get(f"/api/{path}/").json() == {"count": 0, "next": None, "previous": None, "results": []}


@pytest.mark.parametrize("path", ["flavors", "images", "server-groups", "networks"])
@pytest.mark.parametrize("key", [str(uuid.UUID(int=5)), "no-such", "%00"])
def test_unknown_identifier_is_not_found(admin, path, key):
    assert error(admin.get(f"/api/{path}/{key}/"), 404)["code"] == "not_found"


@pytest.mark.parametrize("path", LISTS)
def test_filter_with_a_nul_is_refused(reader, path):
    assert error(reader.get(f"/api/{path}/?name=%00"), 400)["field"] == "name"


@pytest.mark.parametrize("path", ["flavors", "images", "keypairs", "server-groups"])
def test_body_that_is_not_json_is_refused(admin, path):
    error(admin.generic("POST", f"/api/{path}/", "{not json", content_type="application/json"), 400)


@pytest.mark.parametrize("path", ["flavors", "images", "keypairs", "server-groups"])
@pytest.mark.parametrize("body", [[], "text", 5, None])
def test_body_that_is_not_an_object_is_refused(admin, path, body):
    error(admin.post(f"/api/{path}/", body, format="json"), 400)


@pytest.mark.parametrize("path", ["flavors", "images", "keypairs", "server-groups"])
def test_unknown_field_is_refused_by_name(admin, path):
    assert error(admin.post(f"/api/{path}/", {"nmae": "x"}), 400)["field"] == "nmae"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("flavors", TINY),
        ("images", {"name": "i"}),
        ("keypairs", {"name": "k"}),
        ("server-groups", {"name": "g", "policy": "affinity"}),
    ],
)
def test_reader_creates_nothing(reader, path, body):
    refused = error(reader.post(f"/api/{path}/", body), 403)
    assert refused["code"] == "forbidden"
    assert reader.get(f"/api/{path}/").json()["count"] == 0


def test_admin_offers_a_flavor_that_everybody_reads(admin, stranger):
    made = admin.post("/api/flavors/", TINY)
    assert made.status_code == 201
    assert stranger.get(f"/api/flavors/{made.json()['id']}/").json()["extra_specs"] == TINY["extra_specs"]


def test_member_offers_no_flavor(member):
    assert error(member.post("/api/flavors/", TINY), 403)["needed"] == "admin"
    assert not Flavor.objects.exists()


def test_bad_flavor_is_refused_with_all_its_fields(admin):
    body = {"name": "x" * 1_000_000, "vcpus": -1, "memory_mib": 0, "extra_specs": {"trait:X": "required"}}
    refused = error(admin.post("/api/flavors/", body), 400)
    assert set(refused["reasons"]) == {"name", "vcpus", "memory_mib", "extra_specs.trait:X"}
    assert "trait:X" in refused["reasons"]["extra_specs.trait:X"][0]
    assert not Flavor.objects.exists()


def test_bad_extra_spec_is_refused_by_its_key_in_words(admin):
    specs = {"hw:cpu_polcy": "dedicated", "hw:watchdog_action": "bark"}
    refused = error(admin.post("/api/flavors/", {**TINY, "extra_specs": specs}), 400)
    assert refused["field"] == "extra_specs.hw:cpu_polcy"
    assert refused["message"] == "hw:cpu_polcy: is not a key of the namespace hw. Did you mean hw:cpu_policy?"
    reported = "hw:watchdog_action: is 'bark'; it must be one of none, pause, poweroff, reset, disabled."
    assert refused["reasons"]["extra_specs.hw:watchdog_action"] == [reported]


def test_change_of_a_flavor_is_held_against_all_of_it(admin):
    body = {**TINY, "vcpus": 2, "extra_specs": {"hw:numa_nodes": "2"}}
    path = f"/api/flavors/{admin.post('/api/flavors/', body).json()['id']}/"
    assert error(admin.patch(path, {"vcpus": 3}), 400)["field"] == "extra_specs.hw:numa_nodes"
    assert admin.patch(path, {"vcpus": 4}).json()["vcpus"] == 4


@pytest.mark.parametrize("specs", [[], "text", 5])
def test_extra_specs_that_are_no_object_are_refused(admin, specs):
    assert error(admin.post("/api/flavors/", {**TINY, "extra_specs": specs}), 400)["field"] == "extra_specs"


@pytest.mark.parametrize("value", [1.5, "many", None, [], 10**30, True])
def test_flavor_size_that_is_no_whole_number_is_refused(admin, value):
    assert error(admin.post("/api/flavors/", {**TINY, "vcpus": value}), 400)["field"] == "vcpus"


def test_taken_flavor_name_is_a_conflict(admin):
    admin.post("/api/flavors/", TINY)
    assert error(admin.post("/api/flavors/", TINY), 409)["field"] == "name"


def test_flavor_is_changed_and_deleted_by_an_admin(admin):
    path = f"/api/flavors/{admin.post('/api/flavors/', TINY).json()['id']}/"
    assert admin.patch(path, {"vcpus": 4}).json()["vcpus"] == 4
    assert error(admin.patch(path, {"vcpus": 0}), 400)["field"] == "vcpus"
    assert admin.delete(path).status_code == 204
    error(admin.get(path), 404)


def test_flavors_are_filtered_and_ordered(admin):
    for name, vcpus in (("a", 4), ("b", 2), ("c", 1)):
        admin.post("/api/flavors/", {"name": name, "vcpus": vcpus, "memory_mib": 64})
    found = admin.get("/api/flavors/?vcpus_min=2&ordering=vcpus&page_size=1").json()
    assert (found["count"], found["results"][0]["name"]) == (2, "b")
    assert "page=2" in found["next"]


def test_members_do_not_see_hidden_flavors(admin, member):
    hidden = admin.post("/api/flavors/", {**TINY, "is_public": False}).json()["id"]
    assert member.get("/api/flavors/").json()["count"] == 0
    error(member.get(f"/api/flavors/{hidden}/"), 404)


def put(client: APIClient, image_id: str, data: bytes, **headers) -> object:
    return client.generic("PUT", f"/api/images/{image_id}/file/", data, content_type=RAW, **headers)


def test_image_is_made_sent_and_fetched(member):
    data = qcow2()
    made = member.post("/api/images/", {"name": "mine", "min_disk_gib": 1, "properties": {"os_distro": "debian"}})
    assert (made.status_code, made.json()["status"]) == (201, "queued")
    digest = hashlib.sha256(data).hexdigest()
    sent = put(member, made.json()["id"], data, headers={"X-Checksum-Sha256": digest})
    assert (sent.status_code, sent.json()["status"], sent.json()["checksum_sha256"]) == (200, "active", digest)
    fetched = member.get(f"/api/images/{made.json()['id']}/file/", headers={"Accept": RAW})
    assert b"".join(fetched.streaming_content) == data
    assert (fetched["Content-Length"], fetched["X-Checksum-Sha256"]) == ("196624", digest)


def test_file_is_sent_to_an_address_without_a_slash_too(member):
    image_id = member.post("/api/images/", {"name": "curl"}).json()["id"]
    sent = member.generic("PUT", f"/api/images/{image_id}/file", qcow2(), content_type=RAW)
    assert sent.json()["status"] == "active"


def test_image_with_a_backing_file_is_refused_and_killed(member):
    image_id = member.post("/api/images/", {"name": "bad"}).json()["id"]
    assert "backing file" in error(put(member, image_id, qcow2(backing_at=8)), 400)["message"]
    shown = member.get(f"/api/images/{image_id}/").json()
    assert shown["status"] == "killed"
    assert "backing file" in shown["status_reason"]


def test_image_with_another_checksum_is_refused(member):
    image_id = member.post("/api/images/", {"name": "bad"}).json()["id"]
    refused = error(put(member, image_id, qcow2(), headers={"X-Checksum-Sha256": "0" * 64}), 400)
    assert refused["field"] == "checksum_sha256"


def test_image_above_the_limit_is_too_large(member, settings):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 10}
    image_id = member.post("/api/images/", {"name": "big"}).json()["id"]
    assert error(put(member, image_id, qcow2()), 413)["limit"] == 10


def test_file_sent_as_a_form_is_refused(member):
    image_id = member.post("/api/images/", {"name": "form"}).json()["id"]
    refused = member.generic("PUT", f"/api/images/{image_id}/file/", b"x", content_type="multipart/form-data")
    assert RAW in error(refused, 415)["message"]


def test_second_file_is_a_conflict(member):
    image_id = member.post("/api/images/", {"name": "once"}).json()["id"]
    put(member, image_id, qcow2())
    error(put(member, image_id, qcow2()), 409)


def test_file_of_a_queued_image_is_a_conflict_for_octet_clients_too(member):
    image_id = member.post("/api/images/", {"name": "empty"}).json()["id"]
    refused = member.get(f"/api/images/{image_id}/file/", headers={"Accept": RAW})
    assert refused.status_code == 409
    assert b"it has no data yet" in refused.content


def test_strangers_image_is_not_found_for_every_verb(member, stranger):
    image_id = member.post("/api/images/", {"name": "mine"}).json()["id"]
    path = f"/api/images/{image_id}/"
    error(stranger.get(path), 404)
    error(stranger.patch(path, {"name": "x"}), 404)
    error(stranger.delete(path), 404)
    error(put(stranger, image_id, qcow2()), 404)
    error(stranger.get(f"{path}file/"), 404)
    assert Image.objects.get().status == "queued"


def test_public_image_is_read_but_not_changed_by_others(admin, stranger):
    path = f"/api/images/{admin.post('/api/images/', {'name': 'all', 'visibility': 'public'}).json()['id']}/"
    assert stranger.get(path).status_code == 200
    error(stranger.patch(path, {"name": "x"}), 403)
    error(stranger.delete(path), 403)


def test_reader_sends_no_file(member, reader):
    image_id = member.post("/api/images/", {"name": "mine"}).json()["id"]
    error(put(reader, image_id, qcow2()), 403)


def test_member_publishes_nothing(member):
    refused = error(member.post("/api/images/", {"name": "x", "visibility": "public"}), 403)
    assert refused["field"] == "visibility"


def test_protected_image_is_deleted_after_unprotecting(member):
    path = f"/api/images/{member.post('/api/images/', {'name': 'p', 'protected': True}).json()['id']}/"
    error(member.delete(path), 409)
    member.patch(path, {"protected": False})
    assert member.delete(path).status_code == 204
    error(member.get(path), 404)


def test_only_admins_deactivate(admin, member):
    image_id = member.post("/api/images/", {"name": "d"}).json()["id"]
    put(member, image_id, qcow2())
    error(member.post(f"/api/images/{image_id}/deactivate/"), 403)
    assert admin.post(f"/api/images/{image_id}/deactivate/").json()["status"] == "deactivated"
    error(member.get(f"/api/images/{image_id}/file/"), 403)
    assert b"".join(admin.get(f"/api/images/{image_id}/file/").streaming_content) == qcow2()
    assert admin.post(f"/api/images/{image_id}/reactivate/").json()["status"] == "active"
    assert b"".join(member.get(f"/api/images/{image_id}/file/").streaming_content) == qcow2()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"disk_format": "iso"}, "disk_format"),
        ({"min_disk_gib": -1}, "min_disk_gib"),
        ({"properties": {"a": 5}}, "properties.a"),
        ({"id": "five"}, "id"),
        ({"expected_sha256": "x"}, "expected_sha256"),
    ],
)
def test_bad_image_is_refused_at_its_field(member, change, field):
    assert error(member.post("/api/images/", {"name": "i", **change}), 400)["field"] == field
    assert not Image.objects.exists()


def test_bad_property_is_refused_by_its_name_in_words(member):
    body = {"name": "i", "properties": {"hw_firmware_type": "efi", "os_version": "13"}}
    refused = error(member.post("/api/images/", body), 400)
    reported = "hw_firmware_type: is 'efi'; it must be one of uefi, bios."
    assert refused["reasons"] == {"properties.hw_firmware_type": [reported]}


def test_image_says_why_no_instance_is_made_of_it(member):
    asked = {"name": "from elsewhere", "properties": {"hw_disk_bus": "xen", "hw_video_model": "gop", "os_distro": "x"}}
    made = member.post("/api/images/", asked).json()
    assert made["properties"] == asked["properties"]
    assert [said.partition(" of the image ")[0] for said in made["refusals"]] == [
        "hw_disk_bus=xen",
        "hw_video_model=gop",
    ]
    changed = member.patch(f"/api/images/{made['id']}/", {"properties": {"hw_disk_bus": "virtio"}}).json()
    assert changed["refusals"] == []


def test_property_of_an_image_is_changed_within_the_rules(member):
    path = f"/api/images/{member.post('/api/images/', {'name': 'i'}).json()['id']}/"
    assert error(member.patch(path, {"properties": {"hw_pmu": "x"}}), 400)["field"] == "properties.hw_pmu"
    assert member.patch(path, {"properties": {"hw_pmu": "no"}}).json()["properties"] == {"hw_pmu": "no"}


def test_images_are_filtered_by_status(member):
    image_id = member.post("/api/images/", {"name": "a"}).json()["id"]
    member.post("/api/images/", {"name": "b"})
    put(member, image_id, qcow2())
    found = member.get("/api/images/?status=active&status=killed").json()
    assert [one["name"] for one in found["results"]] == ["a"]
    assert error(member.get("/api/images/?status=purple"), 400)["field"] == "status"


def test_generated_private_key_is_shown_once(member):
    made = member.post("/api/keypairs/", {"name": "my key.1"})
    assert made.status_code == 201
    assert "OPENSSH PRIVATE KEY" in made.json()["private_key"]
    assert made["Cache-Control"] == "no-store"
    assert "private_key" not in member.get("/api/keypairs/my key.1/").json()
    assert "private_key" not in member.get("/api/keypairs/").json()["results"][0]


def test_given_public_key_is_kept(member, stranger):
    key = member.post("/api/keypairs/", {"name": "a"}).json()["public_key"]
    made = stranger.post("/api/keypairs/", {"name": "b", "public_key": key})
    assert (made.status_code, made.json()["public_key"]) == (201, key)
    assert "private_key" not in made.json()


def test_bad_key_pair_is_refused(member):
    assert error(member.post("/api/keypairs/", {"name": "a/b"}), 400)["field"] == "name"
    refused = error(member.post("/api/keypairs/", {"name": "a", "public_key": "ssh-rsa zzz"}), 400)
    assert refused["field"] == "public_key"


def test_taken_key_name_is_a_conflict(member):
    member.post("/api/keypairs/", {"name": "a"})
    assert error(member.post("/api/keypairs/", {"name": "a"}), 409)["field"] == "name"


def test_key_pairs_of_others_do_not_exist_even_for_admins(member, admin):
    member.post("/api/keypairs/", {"name": "a"})
    error(admin.get("/api/keypairs/a/"), 404)
    error(admin.delete("/api/keypairs/a/"), 404)
    assert member.delete("/api/keypairs/a/").status_code == 204


def test_server_group_shows_its_members(member, who):
    made = member.post(
        "/api/server-groups/", {"name": "g", "policy": "anti-affinity", "rules": {"max_server_per_host": 2}}
    )
    assert (made.status_code, made.json()["members"]) == (201, [])
    instance_uuid = uuid.uuid4()
    ServerGroupMember.objects.create(group_id=made.json()["id"], instance_uuid=instance_uuid)
    assert member.get(f"/api/server-groups/{made.json()['id']}/").json()["members"] == [str(instance_uuid)]
    assert member.get(f"/api/server-groups/?member={instance_uuid}").json()["count"] == 1
    assert member.get(f"/api/server-groups/?member={uuid.uuid4()}").json()["count"] == 0


@pytest.mark.parametrize(
    ("change", "field"), [({"policy": "x"}, "policy"), ({"rules": {"a": 1}}, "rules"), ({"name": " "}, "name")]
)
def test_bad_server_group_is_refused_at_its_field(member, change, field):
    body = {"name": "g", "policy": "affinity", **change}
    assert error(member.post("/api/server-groups/", body), 400)["field"] == field


def test_strangers_group_is_not_found_and_stays(member, stranger, admin):
    path = f"/api/server-groups/{member.post('/api/server-groups/', {'name': 'g', 'policy': 'affinity'}).json()['id']}/"
    error(stranger.get(path), 404)
    error(stranger.delete(path), 404)
    assert admin.get(path).status_code == 200
    assert member.delete(path).status_code == 204
    assert not ServerGroup.objects.exists()


def test_list_of_groups_takes_as_many_queries_for_many_as_for_few(member, django_assert_max_num_queries):
    for name in "abcdefgh":
        member.post("/api/server-groups/", {"name": name, "policy": "affinity"})
    with django_assert_max_num_queries(8):
        assert member.get("/api/server-groups/").json()["count"] == 8


def test_networks_are_read(reader):
    network = Network.objects.create(name="default", hypervisor_network="default", is_default=True)
    assert reader.get(f"/api/networks/{network.pk}/").json()["name"] == "default"


def test_quota_shows_limits_and_use(reader, settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_INSTANCES": 7, "DEFAULT_QUOTA_IMAGE_UPLOADS": -1}
    shown = reader.get("/api/quota/").json()
    assert (shown["limits"]["instances"], shown["limits"]["image_uploads"]) == (7, -1)
    used = {"instances": 0, "cores": 0, "ram_mib": 0, "images": 0, "image_bytes": 0, "image_uploads": 0}
    assert shown["used"] == used | dict.fromkeys(NETWORK_LIMITS + VOLUME_LIMITS + OWNER_LIMITS, 0)


def test_images_are_counted_against_the_quota_of_their_project(member, settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_IMAGES": 1, "DEFAULT_QUOTA_IMAGE_BYTES": 2999}
    image_id = member.post("/api/images/", {"name": "mine"}).json()["id"]
    full = error(member.post("/api/images/", {"name": "another"}), 403)
    assert (full["code"], full["field"], full["limit"]) == ("quota_exceeded", "images", 1)
    large = error(put(member, image_id, qcow2()), 403)
    assert (large["code"], large["field"], large["requested"]) == ("quota_exceeded", "image_bytes", 196624)
    used = member.get("/api/quota/").json()["used"]
    assert (used["images"], used["image_bytes"], used["image_uploads"]) == (1, 0, 0)


@pytest.mark.parametrize(("method", "path"), [("put", "flavors"), ("delete", "quota"), ("put", "networks")])
def test_verb_that_does_not_exist_is_not_allowed(admin, method, path):
    assert getattr(admin, method)(f"/api/{path}/").status_code in {403, 405}
