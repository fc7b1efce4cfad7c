"""Whoever chose no time zone is offered the browser's, and the line about a lost connection is in the chosen one."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from controlplane.identity.models import User
from tests.worlds.cloud import People

pytestmark = [pytest.mark.browser, pytest.mark.long]
OpenPage = Callable[..., Page]


def test_zone_of_the_browser_is_offered_and_taken_by_keyboard(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    page = open_page(timezone_id="Asia/Tokyo")
    page.goto("/account/")
    offer = page.get_by_role("button", name="Use Asia/Tokyo, as this browser does")
    expect(offer).to_be_visible()
    offer.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your time zone was changed.")).to_be_visible()
    expect(page.locator("#id_time_zone")).to_have_value("Asia/Tokyo")
    expect(offer).to_be_hidden()
    assert User.objects.get(username="mary").time_zone == "Asia/Tokyo"
    assert complaints == []


def test_lost_connection_is_told_in_the_readers_zone(open_page: OpenPage, people: People) -> None:
    User.objects.filter(username="mary").update(time_zone="Asia/Kolkata")
    page = open_page(timezone_id="America/New_York")
    page.goto("/instances/")
    page.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#connection")).to_have_text(re.compile(r"^Connection lost, as of \d\d:\d\d UTC\+5:30$"))
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_have_text("")


def test_zone_is_chosen_without_a_script(open_page: OpenPage, people: People) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/account/")
    assert page.locator("#browser-zone").is_hidden()
    page.locator("#id_time_zone").select_option("Europe/Berlin")
    page.get_by_role("button", name="Change the time zone").click()
    page.get_by_text("Your time zone was changed.").wait_for()
    assert User.objects.get(username="mary").time_zone == "Europe/Berlin"
