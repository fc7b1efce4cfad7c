"""A serial console typed into in a real Chromium, from its own window to a guest and back."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.processes, pytest.mark.browser, pytest.mark.long]
TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def running(module_processes: Processes) -> Installation:
    return Installation(module_processes, module_processes.directory / "state", driver="fake", hypervisors=1).start()


def test_what_is_typed_into_the_terminal_reaches_the_guest(running: Installation, page: Page) -> None:
    instance = running.create("talker")["id"]
    running.wait_for(lambda: running.call(f"instances/{instance}/")["power_state"] == "running")
    access: dict[str, Any] = running.call(f"instances/{instance}/consoles/", {"kind": "serial"})
    page.goto(access["url"])
    screen = page.locator(".xterm-rows")
    expect(screen).to_contain_text("serial of talker", timeout=TIMEOUT_MS)
    page.locator(".xterm-screen").click()
    page.keyboard.type("hello guest")
    expect(screen).to_contain_text("hello guest", timeout=TIMEOUT_MS)  # this guest says what it hears
    page.keyboard.press("Control+Alt+Home")
    expect(page.get_by_role("button", name="Tell the guest its size")).to_be_focused()
    page.set_viewport_size({"width": 700, "height": 480})
    page.get_by_role("button", name="Tell the guest its size").click()
    expect(screen).to_contain_text("stty rows", timeout=TIMEOUT_MS)
    assert access["token"] not in page.content()
