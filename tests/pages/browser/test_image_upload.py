"""A person adds an image and sends its file from the browser."""

import os
from pathlib import Path

import pytest

from servers.models import Image
from tests.pages.browser.conftest import OpenPage

pytestmark = [pytest.mark.browser]
SHOTS = os.environ.get("SCREENSHOTS")


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}


def shot(page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def test_file_is_sent_with_progress_and_refusals_are_shown(open_page: OpenPage, tmp_path: Path, complaints) -> None:
    good, wrong = tmp_path / "disk.raw", tmp_path / "wrong.qcow2"
    good.write_bytes(os.urandom(3_000_000))
    wrong.write_bytes(b"QFI\xfb" + b"\0" * 2000)
    page = open_page()
    page.goto("/images/")
    shot(page, "list")
    page.get_by_role("link", name="Add image").click()
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_label("Disk format").select_option("raw")
    page.get_by_label("Key 1", exact=True).fill("hw_disk_bus")
    page.get_by_label("Value 1", exact=True).fill("pata")
    page.get_by_label("Value 1", exact=True).blur()
    page.get_by_text("must be one of").first.wait_for()
    shot(page, "form")
    page.get_by_label("Value 1", exact=True).fill("scsi")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("heading", name="Send the bytes").wait_for()
    page.get_by_label("File (raw)").set_input_files(wrong)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("The file is qcow2, not raw").first.wait_for()
    shot(page, "refused")
    page.get_by_label("File (raw)").set_input_files(good)
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("active", exact=True).wait_for()
    shot(page, "detail")
    assert Image.objects.get(name="mine").size_bytes == 3_000_000
    assert [said for said in complaints if "400" not in said] == []
    page.goto("/images/catalogue/")
    shot(page, "catalogue")
