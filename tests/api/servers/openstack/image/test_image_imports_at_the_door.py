"""Imports, their tasks, and what the Image API says of methods and stores."""

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.work.long_work import long_work_do_all
from servers.images.domain.images import ImageTaskState
from servers.models import ImageTask
from tests.fixtures.file_server import FileServer, file_server
from tests.worlds.image_api import ImagePeople, message


@pytest.fixture
def server(settings: Any) -> Iterator[FileServer]:
    with file_server() as found:
        more = {"IMAGE_IMPORT_NETWORKS": ("127.0.0.0/8",), "IMAGE_IMPORT_PORTS": (str(found.port), "443")}
        settings.KILONOVA = {**settings.KILONOVA, **more}
        yield found


def test_image_is_imported_from_a_url_and_its_task_says_how_far_it_is(world: ImagePeople, server: FileServer) -> None:
    made, url = world.member.make()["id"], server.file("/a", b"x" * 1000)
    path, body = f"/v2/images/{made}/import", {"method": {"name": "web-download", "uri": f"{url}?token=secret"}}
    assert world.reader.get(f"/v2/images/{made}/tasks").json() == {"tasks": []}
    message(world.reader.call("POST", path, body), 403)
    message(world.stranger.call("POST", path, body), 404)
    answer = world.member.call("POST", path, body)
    assert (answer.status_code, answer.content) == (202, b"")
    message(world.member.call("POST", path, body), 409)
    (task,) = world.reader.get(f"/v2/images/{made}/tasks").json()["tasks"]
    assert (task["status"], task["type"], task["image_id"]) == ("pending", "api_image_import", made)
    assert task["input"]["import_req"]["method"] == {"name": "web-download", "uri": url}
    shown = world.reader.get("/v2/images").json()["images"][0]
    assert (shown["os_glance_importing_to_stores"], shown["os_glance_failed_import"]) == ("directory", "")
    long_work_do_all()
    shown = world.reader.get(f"/v2/images/{made}").json()
    assert (shown["status"], shown["size"], shown["os_glance_importing_to_stores"]) == ("active", 1000, "")
    assert shown["stores"] == "directory"
    ImageTask.objects.update(state=ImageTaskState.FAILURE)
    assert world.reader.get(f"/v2/images/{made}").json()["os_glance_failed_import"] == "directory"
    ImageTask.objects.update(state=ImageTaskState.SUCCESS)
    (task,) = world.reader.get(f"/v2/images/{made}/tasks").json()["tasks"]
    assert (task["status"], task["message"]) == ("success", "")
    message(world.member.call("POST", path, body), 409)
    message(world.stranger.get(f"/v2/images/{made}/tasks"), 404)
    _all_tasks_show(world, task)


def _all_tasks_show(world: ImagePeople, task: Any) -> None:
    shown = world.admin.get(f"/v2/tasks/{task['id']}").json()
    assert shown == {**task, "self": f"/v2/tasks/{task['id']}", "schema": "/v2/schemas/task"}
    whole = world.admin.get("/v2/tasks").json()
    assert (whole["first"], whole["schema"]) == ("/v2/tasks", "/v2/schemas/tasks")
    assert set(shown) - set(whole["tasks"][0]) == {"image_id", "input", "result", "message"}
    counts = {
        "status=success": 1,
        "status=failure": 0,
        "type=api_image_import&sort_key=status&sort_dir=asc": 1,
        "type=image_convert": 0,
        "type=other": 0,
        f"marker={task['id']}": 0,
        "limit=0": 0,
    }
    assert {query: len(world.admin.get(f"/v2/tasks?{query}").json()["tasks"]) for query in counts} == counts
    for wrong in ("owner=x", "limit=x", "sort_key=x", "sort_dir=x"):
        message(world.admin.get(f"/v2/tasks?{wrong}"), 400)
    message(world.admin.get("/v2/tasks/none"), 404)
    message(world.admin.get("/v2/tasks?marker=none"), 404)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "method"),
        ({"method": {"name": "glance-direct"}}, "glance-direct"),
        ({"method": {"name": "copy-image"}, "stores": ["fast"]}, "copy-image"),
        ({"method": {"name": "web-download"}}, "uri"),
        ({"method": {"name": "web-download", "uri": "file:///etc/passwd"}}, "url"),
        ({"method": {"name": "web-download", "uri": "https://example.org/x", "glance_region": "x"}}, "glance_region"),
        ({"method": {"name": "web-download", "uri": "https://example.org/x"}, "stores": ["fast"]}, "fast"),
        ({"method": {"name": "web-download", "uri": "https://example.org/x"}, "more": 1}, "more"),
    ],
)
def test_import_that_cannot_be_is_refused_with_the_reason(world: ImagePeople, body: Any, said: str) -> None:
    made = world.member.make()["id"]
    assert said in message(world.member.call("POST", f"/v2/images/{made}/import", body), 400)
    assert world.reader.get(f"/v2/images/{made}/tasks").json() == {"tasks": []}


def test_import_may_name_the_only_store(world: ImagePeople, server: FileServer) -> None:
    made = world.member.make()["id"]
    (store,) = world.member.get("/v2/info/stores").json()["stores"]
    body = {
        "method": {"name": "web-download", "uri": server.file("/a", b"x")},
        "stores": [store["id"]],
        "all_stores_must_succeed": True,
    }
    answer = world.member.call("POST", f"/v2/images/{made}/import", body, **{"X-Image-Meta-Store": store["id"]})
    assert answer.status_code == 202


def test_nothing_is_staged(world: ImagePeople) -> None:
    made = world.member.make()["id"]
    octets = "application/octet-stream"
    said = message(world.member.call("PUT", f"/v2/images/{made}/stage", b"x", media_type=octets), 400)
    assert "glance-direct" in said
    message(world.stranger.call("PUT", f"/v2/images/{made}/stage", b"x", media_type=octets), 404)


def test_methods_of_import(world: ImagePeople) -> None:
    assert world.reader.get("/v2/info/import").json()["import-methods"]["value"] == ["web-download"]
