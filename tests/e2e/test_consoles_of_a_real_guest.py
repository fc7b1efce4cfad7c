"""The serial console and the screen of a Linux guest on real QEMU, typed into in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

pytestmark = [
    pytest.mark.processes,
    pytest.mark.browser,
    pytest.mark.libvirt,
    pytest.mark.qemu,
    pytest.mark.long,
]
TIMEOUT_MS = 120_000
PROMPT = "editor:/#"
SHIFTED = ">S"


@pytest.fixture(scope="module")
def running(module_processes: Processes, qemu_answers: Path) -> Iterator[Installation]:
    state = module_processes.directory / "state"
    here = Installation(module_processes, state, driver="qemu", hypervisors=1, qemu_answers=qemu_answers)
    here.start()
    yield here
    here.manage("down", "--grace", "0")


@pytest.fixture(scope="module")
def guest(running: Installation) -> str:
    found: str = running.create("editor")["id"]
    running.wait_for(lambda: PROMPT in console_log(running, found))
    return found


def console_log(running: Installation, guest: str) -> str:
    return str(running.call(f"instances/{guest}/console-log/").get("output", ""))


def opened(running: Installation, guest: str, kind: str, page: Page) -> None:
    access: dict[str, Any] = running.call(f"instances/{guest}/consoles/", {"kind": kind})
    page.goto(access["url"])
    expect(page.get_by_role("status")).to_contain_text("Connected", timeout=TIMEOUT_MS)


def test_an_editor_writes_a_file_and_the_guest_learns_the_size_of_its_window(
    running: Installation, guest: str, page: Page
) -> None:
    opened(running, guest, "serial", page)
    rows = page.locator(".xterm-rows")
    page.locator(".xterm-screen").click()
    page.keyboard.press("Enter")
    expect(rows).to_contain_text(PROMPT, timeout=TIMEOUT_MS)

    page.keyboard.type("vi /tmp/note\n")
    # Its last line, which the command does not have: what is typed before the editor listens is lost.
    expect(rows).to_contain_text("- /tmp/note", timeout=TIMEOUT_MS)
    page.keyboard.type("iwritten in an editor")
    expect(rows).to_contain_text("written in an editor", timeout=TIMEOUT_MS)
    page.keyboard.press("Escape")
    expect(rows).to_contain_text(
        "- /tmp/note [Modified]", timeout=TIMEOUT_MS
    )  # what follows at once is taken for a key
    page.keyboard.type(":wq\n")
    expect(rows).to_contain_text(PROMPT, timeout=TIMEOUT_MS)
    page.keyboard.type("clear; tr a-z A-Z < /tmp/note\n")
    expect(rows).to_contain_text("WRITTEN IN AN EDITOR", timeout=TIMEOUT_MS)

    page.set_viewport_size({"width": 700, "height": 480})
    page.get_by_role("button", name="Tell the guest its size").click()
    expect(rows).to_contain_text("stty rows", timeout=TIMEOUT_MS)
    page.locator(".xterm-screen").click()
    page.keyboard.type("clear; echo size=$(stty size)\n")
    shown = page.locator(".xterm-rows > div").count()
    expect(rows).to_contain_text(f"size={shown} ", timeout=TIMEOUT_MS)


def test_keys_and_a_long_text_typed_into_the_screen_reach_the_guest(
    running: Installation, guest: str, page: Page
) -> None:
    opened(running, guest, "vnc", page)
    page.locator("[data-screen] canvas").click()
    keys_pressed(page, "echo pressed as keys > /dev/ttyS0\n")
    running.wait_for(lambda: "pressed as keys" in console_log(running, guest))

    # More keys than QEMU holds at once.
    text = "".join(f"{number:02}aB" for number in range(50))
    page.get_by_text("Type a text").click()
    page.get_by_label("Text").fill(f"clear\necho {text} > /dev/ttyS0\n")
    page.get_by_role("button", name="Type it").click()
    running.wait_for(lambda: text in console_log(running, guest))


def keys_pressed(page: Page, text: str) -> None:
    """As fingers do it, with Shift held down: what reaches a guest is where a key lies and not what it is called."""
    for sign in text:
        if sign in SHIFTED:
            page.keyboard.press(f"Shift+{sign}")
        else:
            page.keyboard.press("Enter" if sign == "\n" else sign)


def test_who_only_looks_sees_what_another_one_types(running: Installation, guest: str, page: Page) -> None:
    """QEMU offers viewers more than the protocol's first version has, and a viewer's answers to that are let by."""
    access: dict[str, Any] = running.call(f"instances/{guest}/consoles/", {"kind": "vnc", "is_read_only": True})
    page.goto(access["url"])
    expect(page.get_by_role("status")).to_contain_text("You only look", timeout=TIMEOUT_MS)
    shown = page.locator("[data-screen] canvas")
    before = shown.evaluate("canvas => canvas.toDataURL()")
    browser = page.context.browser
    assert browser is not None
    typist = browser.new_page()
    opened(running, guest, "vnc", typist)
    typist.locator("[data-screen] canvas").click()
    keys_pressed(typist, "echo seen by others\n")
    page.wait_for_function(
        "before => document.querySelector('[data-screen] canvas')?.toDataURL() !== before",
        arg=before,
        timeout=TIMEOUT_MS,
    )
    expect(page.get_by_role("status")).to_contain_text("You only look")
    expect(page.get_by_role("button", name="Ctrl-Alt-Del")).to_have_count(0)
    typist.close()
