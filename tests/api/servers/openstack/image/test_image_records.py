"""Records of images at the Image API: discovery, make, show, change, delete, deactivate, as Glance's clients do it."""

from typing import Any

import pytest
from jsonschema import Draft7Validator

from servers.models import Image
from tests.worlds.cloud import image
from tests.worlds.image_api import PATCH, ImageApi, ImagePeople, message

V2_0 = "application/openstack-images-v2.0-json-patch"


@pytest.mark.parametrize(("path", "status"), [("", 300), ("/", 300), ("/versions", 200), ("/v2", 200), ("/v2/", 200)])
def test_discovery_needs_no_token_and_links_to_where_it_was_asked(db: None, path: str, status: int) -> None:
    answer = ImageApi().client.get(f"/image{path}", headers={"Host": "cloud.example.org"})
    assert answer.status_code == status
    versions = answer.json()["versions"]
    assert [one["id"] for one in versions if one["status"] == "CURRENT"] == ["v2.9"]
    assert {one["links"][0]["href"] for one in versions} == {"http://cloud.example.org/image/v2/"}


def test_image_is_made_as_the_command_line_makes_it(world: ImagePeople) -> None:
    body = {
        "name": "tiny",
        "disk_format": "raw",
        "container_format": "bare",
        "visibility": "private",
        "min_disk": 2,
        "min_ram": 64,
        "protected": False,
        "tags": ["b", "a", "b"],
        "os_distro": "debian",
        "owner_specified.openstack.md5": "",
        "owner": world.who.member.project_id.hex,
    }
    answer = world.member.call("POST", "/v2/images", body)
    assert answer.status_code == 201
    made = answer.json()
    assert answer["Location"] == f"http://testserver/image/v2/images/{made['id']}"
    assert answer["OpenStack-image-import-methods"] == "web-download"
    assert {key: made[key] for key in body} == {**body, "tags": ["a", "b"]}
    nothing_yet = ("size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value")
    assert {made[key] for key in nothing_yet} == {None}
    assert (made["status"], made["os_hidden"], made["schema"]) == ("queued", False, "/v2/schemas/image")
    assert (made["self"], made["file"]) == (f"/v2/images/{made['id']}", f"/v2/images/{made['id']}/file")
    shown = world.reader.get(f"/v2/images/{made['id']}")
    assert shown.json() == made
    row = Image.objects.get()
    assert (row.min_disk_gib, row.min_ram_mib) == (2, 64)
    assert row.properties == {"os_distro": "debian", "owner_specified.openstack.md5": ""}


def test_image_is_shared_unless_it_says_otherwise_and_may_bring_its_id(world: ImagePeople) -> None:
    named = "11111111-2222-3333-4444-555555555555"
    made = world.member.make(id=named)
    assert (made["id"], made["visibility"]) == (named, "shared")
    body = {"name": "again", "id": named}
    assert named in message(world.member.call("POST", "/v2/images", body), 409)
    message(world.stranger.get(f"/v2/images/{named}"), 404)


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"name": None}, 400, "string"),
        ({"disk_format": "iso"}, 400, "iso"),
        ({"container_format": "ovf"}, 400, "ovf"),
        ({"min_disk": -1}, 400, "-1"),
        ({"min_disk": 2**40}, 400, "min_disk"),
        ({"tags": [" "]}, 400, "tags"),
        ({"id": "no-id"}, 400, "uuid"),
        ({"os_distro": 7}, 400, "string"),
        ({"hw_disk_bus": "nonsense"}, 400, "hw_disk_bus"),
        ({"os_hidden": True}, 400, "os_hidden"),
        ({"visibility": "public"}, 403, "admins"),
        ({"owner": "0" * 32}, 403, "owner"),
        ({"status": "active"}, 403, "read-only"),
        ({"checksum": "x"}, 403, "read-only"),
        ({"deleted": True}, 403, "reserved"),
        ({"os_glance_stage_host": "x"}, 403, "reserved"),
        ({"locations": []}, 403, "locations"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    world: ImagePeople, fields: dict[str, Any], status: int, said: str
) -> None:
    answer = world.member.call("POST", "/v2/images", {"name": "i", **fields})
    assert said in message(answer, status)
    assert not Image.objects.exists()


def test_image_without_a_name_is_named_by_its_id(world: ImagePeople) -> None:
    made = world.member.call("POST", "/v2/images", {}).json()
    assert made["name"] == made["id"]


def test_bodies_that_are_no_image_are_refused(world: ImagePeople) -> None:
    for body in ([], "x", b"{", b'{"name": "\\u0000"}'):
        message(world.member.call("POST", "/v2/images", body), 400)
    message(world.member.call("POST", "/v2/images", {"name": "i"}, media_type="text/plain"), 415)


def test_patch_sets_base_attributes_and_properties(world: ImagePeople) -> None:
    made = world.member.make(os_distro="debian", os_type="linux")
    answer = world.member.patch(
        made["id"],
        {"op": "add", "path": "/min_ram", "value": 1},
        {"op": "replace", "path": "/name", "value": "renamed"},
        {"op": "replace", "path": "/tags", "value": ["t"]},
        {"op": "replace", "path": "/os_distro", "value": "none"},
        {"op": "remove", "path": "/os_type"},
        {"op": "add", "path": "/a.b", "value": "c"},
        {"op": "replace", "path": "/container_format", "value": "bare"},
        {"op": "replace", "path": "/os_hidden", "value": False},
        {"op": "replace", "path": "/owner", "value": made["owner"]},
    )
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["name"], shown["min_ram"], shown["tags"], shown["os_distro"]) == ("renamed", 1, ["t"], "none")
    assert "os_type" not in shown and shown["a.b"] == "c"
    assert world.reader.get(f"/v2/images/{made['id']}").json() == shown
    assert world.member.patch(made["id"]).json()["name"] == "renamed"


def test_patch_of_the_older_media_type(world: ImagePeople) -> None:
    made = world.member.make(os_type="linux")
    steps = [{"add": "/os_distro", "value": "debian"}, {"remove": "/os_type"}, {"replace": "/name", "value": "n"}]
    answer = world.member.call("PATCH", f"/v2/images/{made['id']}", steps, media_type=V2_0)
    assert answer.status_code == 200, answer.content
    assert (answer.json()["os_distro"], answer.json()["name"]) == ("debian", "n")
    assert "os_type" not in answer.json()


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        ({"op": "replace", "path": "/absent", "value": "x"}, 409, "absent"),
        ({"op": "remove", "path": "/absent"}, 409, "absent"),
        ({"op": "remove", "path": "/name"}, 403, "name"),
        ({"op": "remove", "path": "/tags"}, 403, "tags"),
        ({"op": "replace", "path": "/status", "value": "active"}, 403, "read-only"),
        ({"op": "replace", "path": "/id", "value": "x"}, 403, "read-only"),
        ({"op": "add", "path": "/locations", "value": []}, 403, "locations"),
        ({"op": "replace", "path": "/owner", "value": "0" * 32}, 403, "owner"),
        ({"op": "replace", "path": "/owner", "value": None}, 403, "owner"),
        ({"op": "replace", "path": "/visibility", "value": "public"}, 403, "admins"),
        ({"op": "replace", "path": "/os_hidden", "value": True}, 400, "os_hidden"),
        ({"op": "replace", "path": "/container_format", "value": "ovf"}, 400, "ovf"),
        ({"op": "replace", "path": "/min_ram", "value": "1"}, 400, "integer"),
        ({"op": "replace", "path": "/name", "value": None}, 400, "string"),
        ({"op": "add", "path": "/os_distro", "value": 7}, 400, "string"),
        ({"op": "add", "path": "/hw_disk_bus", "value": "nonsense"}, 400, "hw_disk_bus"),
        ({"op": "add", "path": "/a/b", "value": "x"}, 400, "pointer"),
        ({"op": "add", "path": "/", "value": "x"}, 400, "pointer"),
        ({"op": "add", "path": "/a~", "value": "x"}, 400, "pointer"),
        ({"op": "add", "path": "name", "value": "x"}, 400, "name"),
        ({"op": "move", "path": "/name", "value": "x"}, 400, "move"),
        ({"op": "add", "path": "/name"}, 400, "value"),
    ],
)
def test_bad_patch_changes_nothing(world: ImagePeople, step: dict[str, Any], status: int, said: str) -> None:
    made = world.member.make()
    first = {"op": "replace", "path": "/name", "value": "changed"}
    assert said in message(world.member.patch(made["id"], first, step), status)
    assert Image.objects.get().name == "i"


def test_patch_has_so_many_steps(world: ImagePeople) -> None:
    made = world.member.make()
    message(world.member.patch(made["id"], *[{"op": "add", "path": "/name", "value": "n"}] * 501), 400)


def test_patch_of_another_media_type_is_refused(world: ImagePeople) -> None:
    made = world.member.make()
    answer = world.member.call("PATCH", f"/v2/images/{made['id']}", [])
    assert PATCH in message(answer, 415)


def test_format_changes_only_before_there_are_bytes(world: ImagePeople) -> None:
    made = world.member.make()
    step = {"op": "replace", "path": "/disk_format", "value": "qcow2"}
    assert world.member.patch(made["id"], step).json()["disk_format"] == "qcow2"
    Image.objects.update(status="active")
    assert "disk_format" in message(world.member.patch(made["id"], {**step, "value": "raw"}), 403)


def test_protected_image_is_deleted_once_it_is_not(world: ImagePeople) -> None:
    made = world.member.make(protected=True)
    path = f"/v2/images/{made['id']}"
    assert "protected" in message(world.member.call("DELETE", path), 403)
    world.member.patch(made["id"], {"op": "replace", "path": "/protected", "value": False})
    answer = world.member.call("DELETE", path)
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("GET", "DELETE"):
        message(world.member.call(method, path), 404)


def test_deactivate_and_reactivate_are_for_administrators_and_may_be_repeated(world: ImagePeople) -> None:
    made = image("i", project_id=world.who.member.project_id)
    path = f"/v2/images/{made.pk}/actions"
    message(world.member.call("POST", f"{path}/deactivate"), 403)
    for action, status in (("deactivate", "deactivated"), ("reactivate", "active")):
        for _ in range(2):
            assert world.admin.call("POST", f"{path}/{action}").status_code == 204
            assert world.member.get(f"/v2/images/{made.pk}").json()["status"] == status
    queued = world.member.make()["id"]
    for action in ("deactivate", "reactivate"):
        assert "queued" in message(world.admin.call("POST", f"/v2/images/{queued}/actions/{action}"), 403)


@pytest.mark.parametrize("name", ["X-img", "no id", "0" * 40])
def test_a_name_is_no_id(world: ImagePeople, name: str) -> None:
    world.member.make(name=name)
    assert name in message(world.member.get(f"/v2/images/{name}"), 404)
    assert world.member.names(f"?name={name}") == [name]


def test_quota_is_an_entity_too_large(world: ImagePeople, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_IMAGES": 1}
    world.member.make()
    assert "images" in message(world.member.call("POST", "/v2/images", {"name": "more"}), 413)


def test_answers_are_as_the_published_schemas_say(world: ImagePeople) -> None:
    made = world.member.make(os_distro="debian", tags=["t"])
    member = world.member.call(
        "POST", f"/v2/images/{made['id']}/members", {"member": world.who.stranger.project_id.hex}
    ).json()
    answers = {
        "image": made,
        "images": world.member.get("/v2/images?limit=1").json(),
        "member": member,
        "members": world.member.get(f"/v2/images/{made['id']}/members").json(),
    }
    for name, answer in answers.items():
        schema = world.reader.get(f"/v2/schemas/{name}").json()
        Draft7Validator.check_schema(schema)
        assert schema["name"] == name
        assert list(Draft7Validator({**schema, "required": sorted(set(answer))}).iter_errors(answer)) == []
    assert set(made) - set(world.reader.get("/v2/schemas/image").json()["properties"]) == {"os_distro"}
    message(world.reader.get("/v2/schemas/nothing"), 404)


def test_faults_are_json_or_plain_text_and_without_a_token_401(world: ImagePeople) -> None:
    plain = world.member.get("/v2/images/none", Accept="application/octet-stream")
    assert (plain.status_code, plain["Content-Type"]) == (404, "text/plain")
    assert plain.content.startswith(b"404 Not Found\n\nNo image found")
    refused = world.nobody.get("/v2/images")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, 401)
    assert refused["WWW-Authenticate"].startswith("Keystone uri=")
    wrong = world.member.call("PUT", "/v2/images", {})
    assert (wrong.status_code, wrong["Allow"]) == (405, "GET, POST")
    message(world.member.get("/v2/nothing"), 404)
