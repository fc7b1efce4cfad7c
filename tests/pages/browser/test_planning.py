"""What only a browser shows of the policy editor, of trials and of the capacity matrix: focus, order, live parts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from scheduling.policies.selectors.policies import policy_get
from scheduling.policies.services.policies import policy_create
from tests.worlds.cloud import People

pytestmark = [pytest.mark.browser, pytest.mark.long]
OpenPage = Callable[..., Page]


def test_filters_are_ordered_added_and_saved_by_keyboard_alone(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    draft = policy_create(body={"filters": ["ComputeFilter", "RamFilter"], "weighers": []})
    page = open_page("root")
    page.goto(f"/policies/{draft.pk}/edit/")

    page.locator("#up-RamFilter").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#announce")).to_have_text("RamFilter is number 1 of 2.")
    expect(page.locator("#up-RamFilter")).to_be_focused()
    page.get_by_label("Add a filter").focus()
    page.keyboard.type("CoreFilter")
    page.keyboard.press("Enter")
    expect(page.locator("#announce")).to_have_text("CoreFilter is added at the end.")
    expect(page.get_by_label("Add a filter")).to_be_focused()
    page.get_by_label("What it is for").focus()
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_text("default-v1 is saved.")).to_be_visible()

    row = policy_get(policy_id=draft.pk)
    assert (row.body["filters"], row.comment) == (["RamFilter", "ComputeFilter", "CoreFilter"], "by keyboard")
    assert complaints == []


def test_a_trial_answers_below_the_form_and_keeps_what_was_filled_in(
    open_page: OpenPage, complaints: list[str]
) -> None:
    page = open_page("mary", viewport={"width": 390, "height": 844})
    page.goto("/instances/create/")
    page.get_by_label("How many").fill("2")

    page.locator("#try").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("region", name="What would happen")).to_contain_text("It fits")
    expect(page.locator("#try")).to_be_focused()
    assert page.get_by_label("How many").input_value() == "2"
    page.get_by_label("How many").fill("0")
    page.locator("#try").press("Enter")
    expect(page.get_by_label("How many")).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was tried.")
    assert complaints == []


def test_no_page_is_wider_than_a_phone(open_page: OpenPage, people: People) -> None:
    policy = policy_create(body={"filters": ["RamFilter"]}, comment="x" * 300)
    page = open_page("root", viewport={"width": 390, "height": 844})

    wide = []
    own = f"/policies/{policy.pk}/"
    for path in ("/capacity/", "/simulate/?run=1", "/policies/", own, f"{own}edit/"):
        page.goto(path)
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(path)

    assert wide == []
