"""The admin makes images of the installation: with a file, or by an import."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from controlplane.identity.models import User
from servers.models import Image
from tests.worlds import cloud
from tests.worlds.admin_actions import ask_and_confirm, pairs

pytestmark = pytest.mark.django_db
FORM = {
    "tags-TOTAL_FORMS": "0",
    "tags-INITIAL_FORMS": "0",
    "name": "i",
    "visibility": "public",
    "disk_format": "raw",
    "min_disk_gib": "0",
    "min_ram_mib": "0",
    **pairs("properties", {}),
    "members-TOTAL_FORMS": "0",
    "members-INITIAL_FORMS": "0",
}


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path}


@pytest.fixture
def browser() -> Client:
    who = cloud.people()
    User.objects.filter(username=who.admin.username).update(is_staff=True, is_superuser=True)
    client = Client()
    client.login(username=who.admin.username, password=cloud.PASSWORD)
    return client


def text(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


@pytest.mark.django_db(transaction=True)
def test_file_is_sent_with_the_record(browser):
    sent = browser.post("/admin/servers/image/add/", {**FORM, "file": SimpleUploadedFile("a.raw", b"x" * 1000)})
    assert sent.status_code == 302, text(sent)
    made = Image.objects.get()
    assert (made.status, made.size_bytes, made.project_id) == ("active", 1000, None)
    shown = text(browser.get(f"/admin/servers/image/{made.pk}/change/"))
    assert 'name="file"' not in shown
    assert browser.post(f"/admin/servers/image/{made.pk}/change/", {**FORM, "name": "yours"}).status_code == 302
    assert Image.objects.get().name == "yours"


@pytest.mark.django_db(transaction=True)
def test_refused_file_leaves_the_record_and_says_why(browser):
    wrong = SimpleUploadedFile("a", b"QFI\xfb".ljust(1000, b"\0"))
    said = text(browser.post("/admin/servers/image/add/", {**FORM, "file": wrong}, follow=True))
    assert "was saved without its bytes: The file is qcow2" in said
    made = Image.objects.get()
    assert (made.status, made.status_reason) == ("killed", "The file is qcow2, not raw as the image says.")


def test_import_is_begun_and_mistakes_are_at_their_fields(browser):
    wrong = text(browser.post("/admin/servers/image/add/", {**FORM, "import_url": "file:///etc/passwd"}))
    assert "URLs of https and http are allowed" in wrong
    wrong = text(browser.post("/admin/servers/image/add/", {**FORM, **pairs("properties", {"hw_disk_bus": "pata"})}))
    assert "it must be one of fdc" in wrong
    assert not Image.objects.exists()
    browser.post("/admin/servers/image/add/", {**FORM, "import_url": "https://example.org/a.raw"})
    made = Image.objects.get()
    assert (made.status, made.task.state, made.task.asked_by) == ("queued", "pending", "installation")
    assert "1 done" in text(ask_and_confirm(browser, "/admin/servers/imagetask/", "cancel", [str(made.pk)]))
    assert Image.objects.get().status_reason == "Cancelled by installation."
