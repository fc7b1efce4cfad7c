"""A serial console typed into in a real Chromium: one at a time, found again after a cut, and with a phone's keys."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, WebSocket, expect

from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.processes import Processes
from tests.pages.browser.barriers import barriers

pytestmark = [pytest.mark.processes, pytest.mark.browser, pytest.mark.long]
TIMEOUT_MS = 60_000
TAKEN = "Another console took the serial port."
AWAY = "The console is in a window of its own."
CONNECTED = "Connected."


@pytest.fixture(scope="module")
def running(module_processes: Processes) -> Installation:
    return Installation(module_processes, module_processes.directory / "state", driver="fake", hypervisors=1).start()


@pytest.fixture
def instance(running: Installation) -> Iterator[str]:
    """A guest that says what it hears."""
    made: str = running.create("talker")["id"]
    running.wait_for(lambda: running.call(f"instances/{made}/")["power_state"] == "running")
    yield made
    running.call(f"instances/{made}/", method="DELETE")


def logged_in(running: Installation, page: Page) -> None:
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"http://127.0.0.1:{running.port}/login/")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Overview").wait_for()


def opened(running: Installation, instance: str, page: Page) -> None:
    page.goto(f"http://127.0.0.1:{running.port}/instances/{instance}/console/serial/")
    says(page, CONNECTED)


def says(page: Page, words: str) -> None:
    expect(page.locator("[data-said]")).to_have_text(words, timeout=TIMEOUT_MS)


def typed(page: Page, text: str) -> None:
    page.locator(".xterm-screen").click()
    page.keyboard.type(text)
    expect(page.locator(".xterm-rows")).to_contain_text(text, timeout=TIMEOUT_MS)


def sessions(running: Installation, instance: str) -> list[str]:
    """Why each session of the guest ended, the first one first; empty for one that is open."""
    found = running.call(f"consoles/?instance={instance}")["results"]
    return [one["ended_because"] for one in reversed(found)]


def test_what_is_typed_into_the_terminal_reaches_the_guest(running: Installation, instance: str, page: Page) -> None:
    access: dict[str, Any] = running.call(f"instances/{instance}/consoles/", {"kind": "serial"})
    page.goto(access["url"])
    screen = page.locator(".xterm-rows")
    expect(screen).to_contain_text("serial of talker", timeout=TIMEOUT_MS)
    typed(page, "hello guest")
    page.keyboard.press("Control+Alt+Home")
    expect(page.get_by_role("button", name="Tell the guest its size")).to_be_focused()
    page.set_viewport_size({"width": 700, "height": 480})
    page.get_by_role("button", name="Tell the guest its size").click()
    expect(screen).to_contain_text("stty rows", timeout=TIMEOUT_MS)
    assert access["token"] not in page.content()


def test_second_page_takes_the_port_and_the_first_one_takes_it_back_when_asked(
    running: Installation, instance: str, page: Page
) -> None:
    browser = page.context.browser
    assert browser is not None
    second = browser.new_page()
    for one in (page, second):
        logged_in(running, one)
        opened(running, instance, one)
    says(page, TAKEN)
    typed(second, "from the second")
    assert sessions(running, instance) == [TAKEN, ""]
    page.get_by_role("button", name="Take it back").click()
    says(page, CONNECTED)
    says(second, TAKEN)
    typed(page, "from the first")
    assert sessions(running, instance) == [TAKEN, TAKEN, ""]


def test_page_whose_console_has_a_window_of_its_own_lets_go_of_it(
    running: Installation, instance: str, page: Page
) -> None:
    logged_in(running, page)
    opened(running, instance, page)
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Own window").click()
    says(page, AWAY)
    says(popup.value, CONNECTED)
    typed(popup.value, "in the window")
    page.get_by_role("button", name="Take it back").click()
    says(page, CONNECTED)
    says(popup.value, TAKEN)
    # Which of the two comes first to the control plane, the end or the window, is chance.
    assert sessions(running, instance)[1:] == [TAKEN, ""]


def test_console_comes_back_after_a_cut_whatever_is_away_meanwhile(
    running: Installation, instance: str, page: Page
) -> None:
    logged_in(running, page)
    opened(running, instance, page)
    answers: list[dict[str, Any] | None] = [
        None,  # nobody answers
        {"status": 503, "body": "<h1>Not available now</h1>"},
        {"status": 429, "headers": {"Retry-After": "1"}, "json": {"error": {"message": "Too many."}}},
        {"status": 409, "json": {"error": {"message": "It reboots."}}},
    ]

    def refused(route: Route, _request: Request) -> None:
        if not answers:
            route.continue_()
        elif (answer := answers.pop(0)) is None:
            route.abort("connectionrefused")
        else:
            route.fulfill(**answer)

    page.route("**/console/sessions/", refused)
    running.kill_nine("computeagent")
    says(page, "It reboots. Connecting again…")
    says(page, CONNECTED)
    assert not answers
    typed(page, "here again")


@pytest.mark.parametrize(
    ("status", "words"), [(403, "Not for you."), (404, "It is gone."), (302, "You are logged out.")]
)
def test_page_gives_up_where_asking_again_is_of_no_use(
    status: int, words: str, running: Installation, instance: str, page: Page
) -> None:
    logged_in(running, page)
    asked: list[str] = []

    def refused(route: Route, request: Request) -> None:
        asked.append(request.url)
        if status == 302:
            route.fulfill(status=status, headers={"Location": "/login/"})
        else:
            route.fulfill(status=status, json={"error": {"message": words}})

    page.route("**/console/sessions/", refused)
    page.goto(f"http://127.0.0.1:{running.port}/instances/{instance}/console/serial/")
    says(page, words)
    assert len(asked) == 1
    page.unroute("**/console/sessions/")
    page.get_by_role("button", name="Connect again").click()
    says(page, CONNECTED)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_has_the_keys_that_its_keyboard_lacks(
    scheme: str, running: Installation, instance: str, page: Page
) -> None:
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(
        viewport={"width": 390, "height": 780},
        has_touch=True,
        is_mobile=True,
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    phone = context.new_page()
    sent: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(bytes(frame)))  # type: ignore[arg-type]

    phone.on("websocket", listen)
    logged_in(running, phone)
    opened(running, instance, phone)
    keys = phone.get_by_role("group", name="Keys for the guest").get_by_role("button")
    assert [key.get_attribute("aria-label") or key.inner_text() for key in keys.all()] == [
        *("Esc", "Tab", "Ctrl+C", "Ctrl+D", "Arrow up", "Arrow down")
    ]
    phone.locator(".xterm-helper-textarea").focus()
    for key in keys.all():
        key.tap()
    assert phone.evaluate("document.activeElement.className") == "xterm-helper-textarea"  # so the keyboard stays
    assert b"".join(sent) == b"\x1b\t\x03\x04\x1b[A\x1b[B"
    keys.first.focus()
    phone.keyboard.press("Enter")
    assert sent[-1] == b"\x1b"
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(phone) == []
    context.close()
