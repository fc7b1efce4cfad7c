# ruff: noqa: RUF001 - Chinese has punctuation of its own
"""Pages of images: for the admin, a member, a reader and a stranger."""

import pytest
from django.test import Client

from controlplane.identity.models import Project
from servers.models import Image, ImageMember, ImageTask
from tests.worlds import cloud

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path}


@pytest.fixture
def who() -> cloud.People:
    return cloud.people()


def browser(caller) -> Client:
    client = Client()
    client.login(username=caller.username, password=cloud.PASSWORD)
    return client


def text(response, status: int = 200) -> str:
    assert response.status_code == status, response.content.decode()[:3000]
    return response.content.decode()


def test_empty_list_says_what_to_do(who):
    assert "Copy a well-known one" in text(browser(who.member).get("/images/"))
    assert "Members of project demo can add one" in text(browser(who.reader).get("/images/"))


def test_image_is_added_edited_and_deleted(who):
    member = browser(who.member)
    assert "hw_disk_bus" in text(member.get("/images/new/"))
    form = {"name": "mine", "visibility": "private", "disk_format": "raw", "min_disk_gib": 1, "min_ram_mib": 64}
    rows = {"spec_key": ["hw_disk_bus", ""], "spec_value": ["pata", ""]}
    wrong = text(member.post("/images/new/", {**form, **rows}))
    assert "Nothing was saved" in wrong
    assert "hw_disk_bus: " in wrong
    assert not Image.objects.exists()
    added = member.post("/images/new/", {**form, **rows, "spec_value": ["scsi", ""]})
    made = Image.objects.get()
    assert added["Location"] == f"/images/{made.pk}/"
    shown = text(member.get(f"/images/{made.pk}/"))
    assert "Send the bytes" in shown
    assert "How disks are attached" in shown
    edited = {**form, "name": "yours", "protected": "on", "spec_key": [""], "spec_value": [""]}
    assert member.post(f"/images/{made.pk}/edit/", edited).status_code == 302
    made.refresh_from_db()
    assert (made.name, made.protected, made.properties) == ("yours", True, {})
    assert "is protected" in text(member.post(f"/images/{made.pk}/delete/"), 409)
    Image.objects.update(protected=False)
    assert member.post(f"/images/{made.pk}/delete/")["Location"] == "/images/"
    assert Image.objects.get().status == "deleted"


def test_property_that_no_guest_can_be_given_is_saved_and_the_page_says_so(who):
    member = browser(who.member)
    refused = "hw_disk_bus=xen of the image cannot be given to a guest: disks are attached by one of"
    assert refused in text(member.get("/images/property/", {"spec_key": "hw_disk_bus", "spec_value": "xen"}))
    form = {"name": "mine", "visibility": "private", "disk_format": "raw", "min_disk_gib": 1, "min_ram_mib": 64}
    member.post("/images/new/", {**form, "spec_key": ["hw_disk_bus"], "spec_value": ["xen"]})
    made = Image.objects.get()
    assert made.properties == {"hw_disk_bus": "xen"}
    assert refused in text(member.get(f"/images/{made.pk}/"))
    chinese = text(member.get(f"/images/{made.pk}/", headers={"accept-language": "zh-CN"}))
    assert "镜像的 hw_disk_bus=xen 无法给虚拟机：磁盘只能通过 virtio, sata, ide, scsi, usb 之一连接。" in chinese


def test_image_is_added_by_an_import_whose_progress_is_shown(who):
    member = browser(who.member)
    form = {"name": "i", "visibility": "private", "disk_format": "raw", "min_disk_gib": 0, "min_ram_mib": 0}
    wrong = text(member.post("/images/new/", {**form, "import_url": "ftp://x.org/a", "import_checksum": "1"}))
    assert "URLs of https and http are allowed" in wrong
    assert "sha256: and 64" in wrong
    member.post("/images/new/", {**form, "import_url": "https://example.org/a.raw?sig=secret"})
    made = Image.objects.get()
    ImageTask.objects.update(state="processing", done_bytes=50 * 2**20, total_bytes=200 * 2**20)
    shown = text(browser(who.reader).get(f"/images/{made.pk}/"))
    assert 'max="209715200" value="52428800"' in shown
    assert "secret" not in shown
    live = text(member.get(f"/images/{made.pk}/", headers={"HX-Request": "true"}))
    assert live.startswith('<div id="image-live"')
    assert 'data-live="2"' in live
    member.post(f"/images/{made.pk}/act/", {"act": "cancel"})
    assert "Cancelled by mary" in text(member.get(f"/images/{made.pk}/"))


NEW = {"name": "i", "visibility": "private", "disk_format": "raw", "min_disk_gib": 0, "min_ram_mib": 0}
SOURCE, SUMS = "https://example.org/a.raw", "https://example.org/SHA256SUMS"


@pytest.mark.parametrize(
    ("asked", "field", "reason"),
    [
        ({"import_checksum_url": SUMS}, "import_url", "Name the URL that the checksum is of."),
        (
            {"import_url": SOURCE, "import_checksum_url": "ftp://x.org/S"},
            "",
            "URLs of https and http are allowed",
        ),
        ({"import_url": SOURCE, "import_checksum_url": "https://me:pw@example.org/S"}, "", "no user name"),
        ({"import_url": SOURCE, "import_checksum_url": "SHA256SUMS"}, "", "URLs of https and http are allowed"),
        ({"import_url": SOURCE, "import_checksum_url": "https://x.org/" + "x" * 2000}, "", "at most 2000 characters"),
        (
            {"import_url": SOURCE, "import_checksum_url": SUMS, "import_checksum": "sha256:" + "0" * 64},
            "",
            "Give the checksum, or the list that it stands in.",
        ),
    ],
)
def test_what_is_wrong_with_a_list_of_checksums_stands_at_its_field(who, asked, field, reason):
    answer = browser(who.member).post("/images/new/", NEW | asked)

    errors = answer.context["form"].errors
    assert list(errors) == [field or "import_checksum_url"]
    assert reason in errors[field or "import_checksum_url"][0]
    assert not Image.objects.exists()


def test_image_is_imported_with_a_list_of_checksums(who):
    assert browser(who.reader).post("/images/new/", NEW).status_code == 403
    member = browser(who.member)

    member.post("/images/new/", NEW | {"import_url": SOURCE, "import_checksum_url": SUMS})

    task = ImageTask.objects.get()
    assert (task.source_url, task.checksum, task.checksum_url) == (SOURCE, "", SUMS)
    assert "import_checksum_url" in text(member.get("/images/new/"))
    assert "import_checksum_url" not in text(member.get(f"/images/{task.image_id}/edit/"))


def test_sharing_and_its_answer(who):
    member, stranger = browser(who.member), browser(who.stranger)
    made = cloud.image("offer", visibility="shared", project_id=who.member.project_id)
    text(stranger.get(f"/images/{made.pk}/"), 404)
    project = str(who.stranger.project_id)
    refused = member.post(f"/images/{made.pk}/act/", {"act": "member-add", "project": "x"}, follow=True)
    assert "A project is named by its id" in text(refused)
    member.post(f"/images/{made.pk}/act/", {"act": "member-add", "project": project})
    assert "pending" in text(member.get(f"/images/{made.pk}/"))
    assert "Project demo shares" in text(stranger.get("/images/"))
    stranger.post(f"/images/{made.pk}/act/", {"act": "answer", "status": "accepted"})
    assert ImageMember.objects.get().status == "accepted"
    listed = text(stranger.get("/images/"))
    assert f'href="/images/{made.pk}/"' in listed
    assert "shares" not in listed
    text(stranger.get(f"/images/{made.pk}/edit/"), 200)
    form = {"name": "stolen", "visibility": "shared", "min_disk_gib": 0, "min_ram_mib": 0}
    stranger.post(f"/images/{made.pk}/edit/", form)
    text(stranger.post(f"/images/{made.pk}/delete/"), 403)
    assert Image.objects.get().name == "offer"


def test_who_sees_all_projects_shares_with_one_by_its_name(who):
    admin = browser(who.admin)
    made = cloud.image("offer", visibility="shared", project_id=who.member.project_id)
    name = Project.objects.get(pk=who.stranger.project_id).name
    for unknown in ("nobody", str(made.pk)):
        refused = admin.post(f"/images/{made.pk}/act/", {"act": "member-add", "project": unknown}, follow=True)
        assert f"There is no project {unknown}." in text(refused)
    admin.post(f"/images/{made.pk}/act/", {"act": "member-add", "project": name})
    assert ImageMember.objects.get().project_id == who.stranger.project_id
    admin.post(f"/images/{made.pk}/act/", {"act": "member-remove", "project": name})
    assert not ImageMember.objects.exists()


def test_only_admins_deactivate_and_publish(who):
    made = cloud.image("mine", visibility="private", project_id=who.member.project_id)
    member, admin = browser(who.member), browser(who.admin)
    assert "images:publish needs the role admin" in text(
        member.post(f"/images/{made.pk}/act/", {"act": "deactivate"}, follow=True)
    )
    assert "public: everybody" not in text(member.get(f"/images/{made.pk}/edit/"))
    admin.post(f"/images/{made.pk}/act/", {"act": "deactivate"})
    assert "deactivated" in text(member.get(f"/images/{made.pk}/"))
    admin.post(f"/images/{made.pk}/act/", {"act": "reactivate"})
    assert Image.objects.get().status == "active"


def test_reader_reads_and_does_nothing(who):
    made = cloud.image("mine", project_id=who.member.project_id, status="queued")
    reader = browser(who.reader)
    shown = text(reader.get(f"/images/{made.pk}/"))
    assert "Send the bytes" not in shown
    assert "Delete…" not in shown
    for path in ("new/", f"{made.pk}/edit/", "property/"):
        text(reader.get(f"/images/{path}"), 403)
    for path in (f"{made.pk}/act/", f"{made.pk}/delete/", "catalogue/copy/"):
        text(reader.post(f"/images/{path}", {"act": "cancel", "key": "debian-12"}), 403)
    assert "Debian 12" in text(reader.get("/images/catalogue/"))


def test_well_known_image_is_copied_by_one_click(who):
    copied = browser(who.member).post("/images/catalogue/copy/", {"key": "debian-12"})
    made = Image.objects.get()
    assert copied["Location"] == f"/images/{made.pk}/"
    assert (made.name, made.visibility, made.task.state) == ("Debian 12 (bookworm)", "private", "pending")
    text(browser(who.member).post("/images/catalogue/copy/", {"key": "debian-12", "public": "1"}), 403)
    browser(who.admin).post("/images/catalogue/copy/", {"key": "debian-13", "public": "1"})
    assert Image.objects.get(name__startswith="Debian 13").visibility == "public"


def test_image_names_the_instances_made_of_it(who):
    everyone = who
    cloud.flavor()
    made = cloud.image()
    cloud.host("h1")
    cloud.create(everyone.member, "web-1")
    cloud.pump()
    assert "web-1" in text(browser(who.member).get(f"/images/{made.pk}/"))
    assert "web-1" not in text(browser(who.stranger).get(f"/images/{made.pk}/"))
    assert "web-1" in text(browser(who.admin).get(f"/images/{made.pk}/"))


def test_hostile_names_and_properties_are_text(who):
    made = cloud.image("<script>alert(1)</script>", properties={"<b>": "<i>"}, project_id=who.member.project_id)
    for path in ("/images/", f"/images/{made.pk}/", f"/images/{made.pk}/edit/"):
        shown = text(browser(who.member).get(path))
        assert "<script>alert" not in shown
        assert "<b>" not in shown.replace("<b>mary</b>", "").replace("<b>demo</b>", "")


def test_pages_cost_the_same_however_many_images_there_are(who, django_assert_max_num_queries):
    member = browser(who.member)
    for number in range(20):
        ImageTask.objects.create(image=cloud.image(f"i{number}"), kind="import")
    member.get("/images/")
    with django_assert_max_num_queries(15):
        member.get("/images/")
