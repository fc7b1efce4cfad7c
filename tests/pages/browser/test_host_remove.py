"""A dead host is forced down and removed by keyboard, in a dark browser on a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from scheduling.fleet.services.service_states import service_disable
from scheduling.models import Service
from tests.worlds import cloud as world
from tests.worlds.cloud import People

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def test_dead_host_is_removed_by_keyboard(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    service_disable(host="h2")
    world.active(people.member, "web-0")
    page = open_page("root", viewport={"width": 390, "height": 800}, color_scheme="dark")
    page.goto("/hosts/h1/")
    page.get_by_text("Force down…").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Force h1 down").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Forced down: an admin")).to_be_visible()
    page.get_by_role("link", name="Remove…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What a removal by force leaves")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Type h1 to confirm").focus()
    page.keyboard.type("h1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Left without a host: web-0 (1)")).to_be_visible()
    assert not Service.objects.filter(host="h1").exists()
    assert complaints == []
