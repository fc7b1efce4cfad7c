"""Members and tags at the Image API."""

from typing import Any

import pytest

from controlplane.audit_log.models import AuditLogEntry
from servers.models import ImageMember, ImageTag
from tests.worlds.cloud import image
from tests.worlds.image_api import ImagePeople, message


@pytest.fixture
def shared(world: ImagePeople) -> str:
    made: str = world.member.make(visibility="shared")["id"]
    return made


def share(world: ImagePeople, image_id: str) -> Any:
    body = {"member": world.who.stranger.project_id.hex}
    return world.member.call("POST", f"/v2/images/{image_id}/members", body)


def test_image_is_shared_accepted_and_taken_back(world: ImagePeople, shared: str) -> None:
    project = world.who.stranger.project_id.hex
    answer = share(world, shared)
    assert answer.status_code == 200
    made = answer.json()
    assert (made["member_id"], made["image_id"], made["status"]) == (project, shared, "pending")
    assert made["schema"] == "/v2/schemas/member"
    message(share(world, shared), 409)
    path = f"/v2/images/{shared}/members"
    assert world.member.get(path).json() == {"members": [made], "schema": "/v2/schemas/members"}
    for person in (world.member, world.reader, world.stranger, world.admin):
        assert person.get(f"{path}/{project}").json() == made

    accept = {"status": "accepted", "member": project}
    message(world.stranger.call("PUT", f"{path}/{project}", {**accept, "member": "0" * 32}), 400)
    message(world.stranger.call("PUT", f"{path}/{project}", {**accept, "more": 1}), 400)
    message(world.member.call("PUT", f"{path}/{project}", accept), 403)
    assert world.stranger.call("PUT", f"{path}/{project}", accept).json()["status"] == "accepted"
    assert world.stranger.names() == ["i"]
    message(world.stranger.call("PUT", f"{path}/{project}", {"status": "perhaps"}), 400)
    message(world.stranger.call("DELETE", f"{path}/{project}"), 403)
    message(world.stranger.patch(shared, {"op": "replace", "path": "/name", "value": "mine"}), 403)

    assert world.member.call("DELETE", f"{path}/{project}").status_code == 204
    message(world.member.call("DELETE", f"{path}/{project}"), 404)
    message(world.stranger.get(f"/v2/images/{shared}"), 404)
    message(world.stranger.get(path), 404)


def test_members_are_projects_that_exist(world: ImagePeople, shared: str) -> None:
    path = f"/v2/images/{shared}/members"
    for body in ({"member": "name"}, {"member": "0" * 32}, {}, {"member": 1}, {"member": "0" * 32, "more": 1}):
        message(world.member.call("POST", path, body), 400)
    message(world.member.call("POST", path, {"member": world.who.member.project_id.hex}), 409)
    for method, body in (("GET", None), ("PUT", {"status": "accepted"}), ("DELETE", None)):
        message(world.member.call(method, f"{path}/name", body), 404)
        message(world.admin.call(method, f"{path}/{world.who.stranger.project_id.hex}", body), 404)
    assert not ImageMember.objects.exists()


def test_members_of_others_are_not_seen(world: ImagePeople, shared: str) -> None:
    share(world, shared)
    message(world.stranger.get(f"/v2/images/{shared}/members/{world.who.member.project_id.hex}"), 404)


@pytest.mark.parametrize("visibility", ["public", "community", "private"])
def test_only_shared_images_have_members(world: ImagePeople, visibility: str) -> None:
    made = str(image("i", visibility=visibility, project_id=world.who.member.project_id).pk)
    project = world.who.stranger.project_id.hex
    assert "Only shared" in message(world.member.get(f"/v2/images/{made}/members"), 403)
    assert "Only shared" in message(world.member.get(f"/v2/images/{made}/members/{project}"), 403)
    assert "Only shared" in message(share(world, made), 403)


def test_members_have_a_limit(world: ImagePeople, shared: str, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MEMBERS": 0}
    message(share(world, shared), 413)


def test_tags_are_put_on_and_taken_off(world: ImagePeople) -> None:
    made = world.member.make(tags=["old"])["id"]
    for _ in range(2):
        answer = world.member.call("PUT", f"/v2/images/{made}/tags/new one")
        assert (answer.status_code, answer.content) == (204, b"")
    assert world.reader.get(f"/v2/images/{made}").json()["tags"] == ["new one", "old"]
    assert world.member.call("DELETE", f"/v2/images/{made}/tags/old").status_code == 204
    assert "old" in message(world.member.call("DELETE", f"/v2/images/{made}/tags/old"), 404)
    assert world.reader.get(f"/v2/images/{made}").json()["tags"] == ["new one"]
    message(world.member.call("PUT", f"/v2/images/{made}/tags/{'x' * 256}"), 400)


def test_changes_of_tags_are_recorded(world: ImagePeople) -> None:
    made = world.member.make(tags=["a"])["id"]
    world.member.call("PUT", f"/v2/images/{made}/tags/b")
    world.member.patch(made, {"op": "replace", "path": "/tags", "value": ["c"]})
    world.member.call("DELETE", f"/v2/images/{made}/tags/c")
    entries = AuditLogEntry.objects.filter(target_id=made).order_by("number")
    said = [(one.action, one.user_name, one.after.get("tags", one.after.get("tag"))) for one in entries]
    assert said == [
        ("image.create", "mary", ["a"]),
        ("image.tag_add", "mary", "b"),
        ("image.update", "mary", ["c"]),
        ("image.tag_remove", "mary", "c"),
    ]


def test_tags_of_others_and_too_many(world: ImagePeople) -> None:
    made = str(image("i", project_id=world.who.member.project_id).pk)
    for method in ("PUT", "DELETE"):
        message(world.stranger.call(method, f"/v2/images/{made}/tags/x"), 403)
        message(world.reader.call(method, f"/v2/images/{made}/tags/x"), 403)
    words = [f"t{number}" for number in range(128)]
    assert world.member.patch(made, {"op": "add", "path": "/tags", "value": words}).status_code == 200
    assert world.member.call("PUT", f"/v2/images/{made}/tags/t5").status_code == 204
    message(world.member.call("PUT", f"/v2/images/{made}/tags/more"), 413)
    message(world.member.patch(made, {"op": "add", "path": "/tags", "value": [*words, "more"]}), 400)
    assert ImageTag.objects.count() == 128
