"""A decision in a browser: filters that answer while one types, answers beside their buttons, all of it by keyboard."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from servers.models import Instance
from tests.worlds.cloud import People, active, create, flavor, host, pump

pytestmark = [pytest.mark.browser, pytest.mark.long]
OpenPage = Callable[..., Page]
PHONE = {"width": 390, "height": 844}


def unplaced(people: People) -> str:
    flavor("huge", root_gib=5000)
    made = create(people.member, flavor="huge")[0]
    pump()
    return f"/decisions/{Instance.objects.get(pk=made.pk).decision_id}/"


def test_refused_hosts_are_filtered_while_one_types_and_the_address_keeps_it(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    host("other")
    page = open_page("root")
    page.goto(unplaced(people))
    page.locator("#r-name").press_sequentially("oth")
    expect(page.locator("#refused td.host")).to_have_text(["other"])

    assert page.evaluate("document.activeElement.id") == "r-name"
    assert "name=oth" in page.url
    page.reload()
    expect(page.locator("#refused td.host")).to_have_text(["other"])
    assert complaints == []


def test_help_and_replay_answer_by_keyboard_on_a_phone(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    page = open_page("root", viewport=PHONE)
    page.goto(unplaced(people))
    page.locator("#help-go").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#help-answer")).to_contain_text("It does not fit now")
    page.locator("#replay-go").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#replay-answer")).to_contain_text("Replay identical.")

    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert complaints == []


def test_scores_are_sorted_in_place_and_found_again_by_going_back(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    host("large", memory_mib=16384)
    instance = active(people.member)
    page = open_page("root")
    page.goto(f"/decisions/{instance.decision_id}/")
    first = page.locator("#scores td.host").first
    expect(first).to_have_text("large")
    page.locator("#s-host").click()
    expect(first).to_have_text("h1")
    page.go_back()

    expect(first).to_have_text("large")
    assert complaints == []
