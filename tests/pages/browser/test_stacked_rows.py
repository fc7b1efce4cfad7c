"""Rows of tables that are stacked where they would not fit, and what else is put together at the width of a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from servers.catalog.services.keypair import keypair_create
from tests.worlds.cloud import People
from tests.worlds.routing import inside

pytestmark = [pytest.mark.browser, pytest.mark.long]
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
    page.set_viewport_size({"width": 1280, "height": 844})
    faces = page.evaluate("[...document.querySelectorAll('th')].map(one => getComputedStyle(one).fontFamily)")
    assert len(set(faces)) == 1


CUT_OFF = """() => [...document.querySelectorAll("main table details.confirm")].map(each => {
  each.open = true;
  const button = each.querySelector(".confirm-box button"), box = button.getBoundingClientRect();
  let isWhole = true;
  for (let around = button.parentElement; around.matches("main *"); around = around.parentElement) {
    if (getComputedStyle(around).overflowY === "visible") continue;
    const edge = around.getBoundingClientRect();
    isWhole &&= box.bottom <= edge.bottom + 1 && box.right <= edge.right + 1 && box.left >= edge.left - 1;
  }
  each.open = false;
  return [button.textContent.trim(), isWhole];
})"""


@pytest.mark.parametrize("width", [390, 1000, 1280, 1600])
def test_what_a_button_of_a_row_asks_is_not_cut_off_by_its_table(
    open_page: OpenPage, people: People, width: int
) -> None:
    keypair_create(user_id=people.admin.user_id, name="laptop", public_key=KEY)
    network = inside(people.admin, "10.1.0.0/24", "blue").network
    page = open_page("root", viewport={"width": width, "height": 844})
    page.goto("/keypairs/")
    assert page.evaluate(CUT_OFF) == [["Delete laptop", True]]
    page.goto(f"/networks/{network.pk}/")
    found = page.evaluate(CUT_OFF)
    assert found
    assert all(seen for _, seen in found), found


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
