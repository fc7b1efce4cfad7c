"""Every route of the Image API, asked by an administrator, a member, a reader, a stranger and by nobody."""

from typing import Any

import pytest

from servers.models import Image
from servers.openstack.image.dispatcher import DOOR
from servers.openstack.image.routes import OPEN_PATHS, ROUTES
from tests.worlds.cloud import image
from tests.worlds.image_api import OCTETS, PATCH, ImageApi, ImagePeople

EVERY = sorted((method, route.template) for route in ROUTES.routes for method in route.methods)
OF_NO_IMAGE = {"/v2/images", "/v2/schemas/{name}", "/v2/info/import", "/v2/info/stores"}
FOR_ADMINISTRATORS = {
    "/v2/images/{image_id}/actions/deactivate",
    "/v2/images/{image_id}/actions/reactivate",
    "/v2/tasks",
    "/v2/tasks/{task_id}",
}
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v2/images"): {"name": "i"},
    ("PATCH", "/v2/images/{image_id}"): [{"op": "add", "path": "/name", "value": "changed"}],
    ("PUT", "/v2/images/{image_id}/file"): b"x",
    ("PUT", "/v2/images/{image_id}/stage"): b"x",
    ("POST", "/v2/images/{image_id}/import"): {"method": {"name": "web-download", "uri": "https://example.org/x"}},
    ("POST", "/v2/images/{image_id}/members"): {"member": "0" * 32},
    ("PUT", "/v2/images/{image_id}/members/{member_id}"): {"status": "accepted"},
}


def ask(person: ImageApi, method: str, template: str, image_id: str, member_id: str) -> int:
    path = template.format(image_id=image_id, member_id=member_id, tag="t", name="image", task_id=image_id)
    body = BODIES.get((method, template))
    media_type = OCTETS if isinstance(body, bytes) else PATCH if method == "PATCH" else "application/json"
    status: int = person.call(method, path, body, media_type=media_type).status_code
    return status


@pytest.mark.parametrize(("method", "template"), EVERY)
def test_each_route_by_each_person(world: ImagePeople, method: str, template: str) -> None:
    """A private image of the members' project: a reader changes nothing, and a stranger does not know of it."""
    own = {"project_id": world.who.member.project_id, "visibility": "private"}
    made = str(image("own", status="queued", **own).pk)
    project = world.who.stranger.project_id.hex

    def status(person: ImageApi) -> int:
        return ask(person, method, template, made, project)

    if template in OPEN_PATHS:
        assert status(world.nobody) in (200, 300)
        return
    assert status(world.nobody) == 401
    assert status(ImageApi("gAAAAno-such-token")) == 401
    before = Image.objects.values().get(pk=made)
    if template in FOR_ADMINISTRATORS:
        assert [status(one) for one in (world.stranger, world.reader, world.member)] == [403, 403, 403]
    elif template in OF_NO_IMAGE:
        allowed = 201 if method == "POST" else 200
        assert status(world.reader) == (403 if method == "POST" else 200)
        assert status(world.stranger) == status(world.member) == allowed
    else:
        assert status(world.stranger) == 404
        assert (status(world.reader) == 403) == (method != "GET" or "/members" in template)
    assert Image.objects.values().get(pk=made) == before
    assert status(world.admin) not in (401, 404, 405, 500) or any(
        part in template for part in ("/members/", "/tags/", "/tasks/")
    )


@pytest.mark.parametrize(("method", "template"), [one for one in EVERY if "{image_id}" in one[1]])
def test_an_image_that_is_not_there(world: ImagePeople, method: str, template: str) -> None:
    for missing in ("00000000-0000-0000-0000-000000000000", "a name"):
        assert ask(world.admin, method, template, missing, world.who.stranger.project_id.hex) == 404


def test_every_route_that_needs_a_token_names_an_action_of_the_policy() -> None:
    from controlplane.identity.policy import DEFAULT_RULES

    for route in ROUTES.routes:
        for endpoint in route.methods.values():
            if route.template in OPEN_PATHS:
                assert endpoint.access is None
            else:
                assert endpoint.access is not None and endpoint.access.value in DEFAULT_RULES
    assert tuple(DOOR.open_paths) == OPEN_PATHS
