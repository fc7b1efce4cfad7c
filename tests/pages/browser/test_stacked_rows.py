"""Rows of tables that are stacked where they would not fit, and what else is put together at the width of a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from servers.catalog.services.keypair import keypair_create
from tests.worlds.cloud import People

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
PHONE = {"width": 390, "height": 844}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqvRHHuZeWHgkrmIgRfE1YQqpGvJo1x3sXzYzG6T0sT test"
LABELS = """() => [...document.querySelectorAll(".worklist tbody td")].map(cell => {
  const label = getComputedStyle(cell, "::before");
  return [cell.dataset.label, label.content, label.fontFamily === getComputedStyle(document.body).fontFamily];
})"""


def test_name_of_a_stacked_row_stands_alone_and_all_labels_are_of_one_face(open_page: OpenPage, people: People) -> None:
    keypair_create(user_id=people.member.user_id, name="laptop", public_key=KEY)
    page = open_page(viewport=PHONE)
    page.goto("/keypairs/")
    drawn = {label: (content, is_of_page) for label, content, is_of_page in page.evaluate(LABELS) if label}
    assert drawn["Name"][0] == "none"
    assert drawn["Fingerprint"] == ('"Fingerprint"', True)


def test_fingerprint_of_a_new_pair_stays_in_its_card(open_page: OpenPage, people: People) -> None:
    page = open_page(viewport=PHONE)
    page.goto("/keypairs/new/")
    page.locator("#id_name").fill("laptop")
    page.get_by_role("main").get_by_role("button", name="Add").click()
    card = page.locator("section.card", has=page.get_by_role("heading", name="Public key"))
    card.wait_for()
    assert card.evaluate("one => one.scrollWidth <= one.clientWidth")
    ends = card.evaluate(
        "one => parseFloat(getComputedStyle(one).paddingRight) + [...one.querySelectorAll('.mono')]"
        ".map(each => each.getBoundingClientRect().right).reduce((a, b) => Math.max(a, b))"
    )
    assert ends <= card.evaluate("one => one.getBoundingClientRect().right") + 1


def test_buttons_stand_apart_from_the_room_of_what_is_filled_in(open_page: OpenPage, people: People) -> None:
    page = open_page("root", viewport=PHONE)
    page.goto("/flavors/new/")
    page.locator("#id_name").fill("odd")
    page.get_by_role("button", name="Show the room").click()
    room = page.locator("#room")
    room.wait_for()
    below = (
        page.get_by_role("main").get_by_role("button", name="Create").evaluate("one => one.getBoundingClientRect().top")
    )
    assert below - room.evaluate("one => one.getBoundingClientRect().bottom") >= 8
