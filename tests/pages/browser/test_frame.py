"""What every page has, by keyboard alone: the palette, keys, the menu, toasts, and the call of a form."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from controlplane.identity.models import Project
from tests.worlds.cloud import People, active
from tests.worlds.volumes import volume_row

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
PHONE = {"viewport": {"width": 390, "height": 844}}


def test_palette_finds_and_opens_by_keyboard(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    instance = active(people.member, "web-1")
    page = open_page()
    page.goto("/images/")

    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    expect(page.locator("#palette-q")).to_be_focused()
    page.keyboard.type("web-1")
    expect(page.locator("#palette-found a").first).to_contain_text("web-1")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#palette-found a").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#palette-q")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type(str(instance.pk))
    expect(page.locator("#palette-found a").first).to_contain_text("web-1")
    assert complaints == []  # what a page that is left had asked for is cut off, and htmx says so
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/instances/{instance.pk}/")


@pytest.mark.long
def test_keys_go_to_pages_and_can_be_switched_off(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    page = open_page()
    page.goto("/")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("Go to")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/instances/")
    page.keyboard.press("/")
    expect(page.locator("#f-q")).to_be_focused()
    page.keyboard.type("gm")
    expect(page.locator("#f-q")).to_have_value("gm")

    page.goto("/keyboard/")
    page.get_by_role("button", name="switch single keys off").last.click()
    page.get_by_text("They are switched off in this browser.").first.wait_for()
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    assert page.url.endswith("/keyboard/")
    assert complaints == []


@pytest.mark.long
def test_a_toast_takes_back_and_goes(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    instance = active(people.member, "web-1")
    page = open_page()
    page.goto(f"/instances/{instance.pk}/act/lock/")
    page.locator("main form button").first.click()
    page.get_by_role("button", name="Undo: unlock").click()
    page.get_by_text("Unlock: done for web-1.").wait_for()
    page.get_by_role("button", name="Close this message").click()
    expect(page.locator(".toast")).to_have_count(0)
    instance.refresh_from_db()
    assert not instance.locked
    assert complaints == []


@pytest.mark.long
def test_a_forms_call_follows_what_is_typed(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    page = open_page("root")
    page.goto("/users/new/")
    page.locator("#id_username").fill("nina")
    page.locator("#id_password").fill("correct horse")
    page.get_by_text("Show as curl").click()
    expect(page.locator("#as-curl-text")).to_contain_text('"username": "nina"')
    expect(page.locator("#as-curl-text")).to_contain_text('"password": "..."')
    expect(page.locator("#as-curl-text")).not_to_contain_text("correct horse")
    assert complaints == []


def test_menu_opens_on_a_phone_and_nothing_is_wider_than_it(open_page: OpenPage, people: People) -> None:
    page = open_page(**PHONE)
    page.goto("/")
    expect(page.locator("#menu")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    page.locator("#menu").get_by_role("link", name="Volumes").click()
    page.wait_for_url("**/volumes/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_search_menu_and_undo_need_no_script(open_page: OpenPage, people: People) -> None:
    instance = active(people.member, "web-1")
    page = open_page(java_script_enabled=False)
    page.goto("/")
    page.locator("#search-open").click()
    page.locator("#search-q").fill("web-1")
    page.get_by_role("button", name="Search").click()
    page.locator(".hits a").first.click()
    page.wait_for_url(f"**/instances/{instance.pk}/")
    page.goto(f"/instances/{instance.pk}/act/lock/")
    page.locator("main form button").first.click()
    page.get_by_role("button", name="Undo: unlock").click()
    page.get_by_text("Unlock: done for web-1.").wait_for()


def test_boxes_of_questions_open_inside_the_page_wherever_their_buttons_stand(
    open_page: OpenPage, people: People
) -> None:
    volume = volume_row(Project.objects.get(pk=people.member.project_id), name="data")
    page = open_page(viewport={"width": 700, "height": 900})
    page.goto(f"/volumes/{volume.pk}/")

    questions = page.locator(".head details.confirm").all()
    assert len(questions) > 4
    for question in questions:
        question.locator("summary").press("Enter")
        box = question.locator(".confirm-box").element_handle()
        page.wait_for_function("box => box.getBoundingClientRect().left >= 0", arg=box)
        page.keyboard.press("Escape")
        expect(question.locator("summary")).to_be_focused()
