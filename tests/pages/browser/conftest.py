"""A real Chromium against the live server, which shares the test's database."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.fixtures.browser import started_chromium
from tests.fixtures.patience import PATIENCE_S
from tests.pages.browser.barriers import barriers
from tests.worlds.cloud import PASSWORD, People, cloud

OpenPage = Callable[..., Page]
TIMEOUT_MS = PATIENCE_S * 1000
"""How long whatever a page is to show may take."""
expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module. Playwright's loop then lives in this thread, so Django must be told that the database
    is used between its calls and never inside one; both end with the module, or later tests would suffer.
    """
    with pytest.MonkeyPatch.context() as patch, started_chromium() as browser:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser


@pytest.fixture
def people(chromium: Browser, live_server: LiveServer) -> People:
    return cloud("h1", "h2")


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console complained of, Content-Security-Policy included."""
    return []


@pytest.fixture
def met_on_the_way() -> list[str]:
    """The barriers of pages that a test has left."""
    return []


@pytest.fixture
def open_page(
    chromium: Browser, live_server: Any, people: People, complaints: list[str], met_on_the_way: list[str]
) -> Iterator[OpenPage]:
    """A page on which a person is logged in; keywords are Playwright's for a context. Each page that a test leaves by
    its address, or ends on, is looked at for barriers.
    """
    contexts: list[BrowserContext] = []

    def opened(username: str = "mary", **options: Any) -> Page:
        contexts.append(chromium.new_context(base_url=live_server.url, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        log_in(page, username)
        if options.get("java_script_enabled", True):  # axe is a script
            _looked_at(page, met_on_the_way)
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            met_on_the_way += getattr(page, "last_look", list)()
        context.close()
    assert not met_on_the_way, "\n".join(met_on_the_way)


def _is_complaint(said: ConsoleMessage) -> bool:
    """A request that a newer one replaces (`hx-sync`) is none: on a slow machine its answer did not come in time. What
    fails has a name of its own.
    """
    is_replaced = said.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
    return said.type in {"error", "warning"} and not is_replaced


def _looked_at(page: Page, met: list[str]) -> None:
    goto = page.goto

    def leave(url: str, **options: Any) -> Any:
        met.extend(barriers(page))
        return goto(url, **options)

    page.goto = leave  # type: ignore[method-assign]
    page.last_look = lambda: barriers(page)  # type: ignore[attr-defined]


def log_in(page: Page, username: str) -> None:
    page.goto("/login/")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Overview").wait_for()
