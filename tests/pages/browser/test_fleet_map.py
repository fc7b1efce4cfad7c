"""What only a browser shows of the fleet map: walking by arrow keys, what stands above it, and the room of a host."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.worlds.cloud import People, host

pytestmark = [pytest.mark.browser, pytest.mark.long]
OpenPage = Callable[..., Page]


def test_the_map_is_walked_by_arrow_keys_alone(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    for number in range(3, 100):
        host(f"h{number}")
    page = open_page("root")
    page.goto("/hosts/map/")

    boxes = page.locator("[data-map] a.b")
    assert boxes.count() >= 98
    expect(page.locator('[data-map] a.b[tabindex="0"]')).to_have_count(1)
    boxes.first.focus()
    page.keyboard.press("ArrowRight")
    expect(boxes.nth(1)).to_be_focused()
    expect(page.locator("#map-detail")).to_contain_text("h2: ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(boxes.last).to_be_focused()
    expect(page.locator("#map-detail")).to_contain_text("h99: ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("h99")
    assert complaints == []


def test_the_room_of_a_host_comes_after_its_page(open_page: OpenPage, complaints: list[str]) -> None:
    page = open_page("root", viewport={"width": 390, "height": 844})
    page.goto("/hosts/h1/")

    expect(page.locator("#host-room table")).to_contain_text("m1.tiny")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto("/hosts/map/?flavor=m1.tiny")
    expect(page.locator("[data-map] a.b").first).to_contain_text("h1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert complaints == []
