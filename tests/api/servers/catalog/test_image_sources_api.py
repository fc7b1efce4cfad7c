"""Imports, members and the catalogue over HTTP: for the admin, a member, a reader and a stranger."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from controlplane.work.long_work import long_work_do_all
from servers.models import Image, ImageTask
from tests.fixtures.file_server import file_server
from tests.worlds import cloud

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with file_server() as found:
        yield found


@pytest.fixture(autouse=True)
def store(settings, tmp_path, server):
    settings.KILONOVA = {
        **settings.KILONOVA,
        "IMAGE_DIR": tmp_path,
        "IMAGE_IMPORT_NETWORKS": ("127.0.0.0/8",),
        "IMAGE_IMPORT_PORTS": (str(server.port), "443"),
    }


@pytest.fixture
def clients():
    who = cloud.people()
    names = ("admin", "member", "reader", "stranger")
    return {name: cloud.client_of(getattr(who, name)) for name in names} | {"who": who}


def error(response, status: int) -> dict:
    assert response.status_code == status, response.content
    return response.json()["error"]


def test_image_is_made_by_an_import_and_its_progress_is_shown(clients, server):
    url = server.file("/a", b"x" * 1000)
    body = {"name": "i", "disk_format": "raw", "import_from": {"url": f"{url}?token=secret"}}
    made = clients["member"].post("/api/images/", body)
    assert made.status_code == 201
    shown = clients["reader"].get(f"/api/images/{made.json()['id']}/").json()
    assert (shown["status"], shown["task"]["state"], shown["task"]["source_url"]) == ("queued", "pending", url)
    long_work_do_all()
    shown = clients["reader"].get("/api/images/").json()["results"][0]
    assert (shown["status"], shown["size_bytes"], shown["task"]["state"]) == ("active", 1000, "success")


def test_import_into_a_record_and_its_end(clients, server):
    made = clients["member"].post("/api/images/", {"name": "i", "disk_format": "raw"}).json()
    address, source = f"/api/images/{made['id']}/import/", {"url": server.file("/a", b"x")}
    assert error(clients["reader"].post(address, source), 403)["needed"] == "member"
    error(clients["stranger"].post(address, source), 404)
    assert error(clients["member"].post(address, {"url": "file:///etc/passwd"}), 400)["field"] == "url"
    assert clients["member"].post(address, source).status_code == 202
    error(clients["member"].post(address, source), 409)
    error(clients["stranger"].delete(address), 404)
    ended = clients["member"].delete(address)
    assert (ended.status_code, ended.json()["status_reason"]) == (200, "Cancelled by mary.")
    error(clients["member"].delete(address), 409)
    long_work_do_all()
    assert server.asked == []


def test_bad_import_makes_no_image(clients):
    body = {"name": "i", "import_from": {"url": "ftp://example.org/x", "checksum": "abc"}}
    refused = error(clients["member"].post("/api/images/", body), 400)
    assert set(refused["reasons"]) == {"url", "checksum"}
    nested = error(clients["member"].post("/api/images/", {"name": "i", "import_from": {"uri": "x"}}), 400)
    assert "uri" in str(nested["reasons"])
    assert not Image.objects.exists()


def test_members_over_http(clients):
    who = clients["who"]
    made = clients["member"].post("/api/images/", {"name": "i", "visibility": "shared"}).json()
    members = f"/api/images/{made['id']}/members/"
    project = str(who.stranger.project_id)
    assert error(clients["reader"].post(members, {"project": project}), 403)["needed"] == "member"
    error(clients["stranger"].get(members), 404)
    assert clients["member"].post(members, {"project": project}).status_code == 201
    assert error(clients["member"].post(members, {"project": "nonsense"}), 400)["field"] == "project"
    (seen,) = clients["stranger"].get(members).json()
    assert (seen["project"], seen["status"]) == (project, "pending")
    assert clients["stranger"].get("/api/images/").json()["count"] == 0
    assert clients["stranger"].get("/api/images/?member_status=pending").json()["count"] == 1
    error(clients["member"].put(f"{members}{project}/", {"status": "accepted"}), 403)
    assert clients["stranger"].put(f"{members}{project}/", {"status": "accepted"}).json()["status"] == "accepted"
    assert clients["stranger"].get("/api/images/").json()["count"] == 1
    error(clients["stranger"].patch(f"/api/images/{made['id']}/", {"name": "mine"}), 403)
    error(clients["stranger"].delete(f"{members}{project}/"), 403)
    assert clients["member"].delete(f"{members}{project}/").status_code == 204
    error(clients["stranger"].get(f"/api/images/{made['id']}/"), 404)


def test_community_images_are_listed_for_those_who_ask(clients):
    made = clients["member"].post("/api/images/", {"name": "i", "visibility": "community"}).json()
    assert clients["stranger"].get("/api/images/").json()["count"] == 0
    assert clients["stranger"].get("/api/images/?visibility=community").json()["results"][0]["id"] == made["id"]
    assert clients["stranger"].get(f"/api/images/{made['id']}/").status_code == 200


def test_catalogue_is_read_by_all_and_copied_by_members(clients, settings, tmp_path, server):
    own = tmp_path / "own.toml"
    own.write_text(
        f'[mine]\nname = "Mine"\nurl = "{server.file("/a", b"x" * 10)}"\ndisk_format = "raw"\nmin_ram_mib = 64\n'
    )
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_CATALOGUE_FILE": str(own)}
    keys = {one["key"] for one in clients["reader"].get("/api/image-catalogue/").json()}
    assert {"mine", "debian-12"} <= keys
    assert error(clients["reader"].post("/api/image-catalogue/mine/copy/"), 403)["needed"] == "member"
    error(clients["member"].post("/api/image-catalogue/none/copy/"), 404)
    error(clients["member"].post("/api/image-catalogue/mine/copy/", {"visibility": "public"}), 403)
    assert clients["member"].post("/api/image-catalogue/mine/copy/").status_code == 202
    long_work_do_all()
    made = Image.objects.get()
    assert (made.name, made.status, made.min_ram_mib, made.visibility) == ("Mine", "active", 64, "private")
    call_command("image_copy", "mine", "--name", "again")
    again = Image.objects.get(name="again")
    assert (again.project_id, again.visibility, again.task.state) == (None, "public", "pending")
    with pytest.raises(CommandError, match="has no image none"):
        call_command("image_copy", "none")
    own.write_text("[broken")
    assert "IMAGE_CATALOGUE_FILE is no TOML" in error(clients["reader"].get("/api/image-catalogue/"), 400)["message"]


def test_lists_of_images_cost_the_same_however_many_there_are(clients, django_assert_max_num_queries):
    for number in range(20):
        made = cloud.image(f"i{number}")
        ImageTask.objects.create(image=made, kind="import")
    clients["member"].get("/api/images/")
    with django_assert_max_num_queries(6):
        assert clients["member"].get("/api/images/").json()["count"] == 20
