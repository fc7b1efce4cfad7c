"""A real Chromium against the live server, which shares the test's database."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.worlds.cloud import PASSWORD, People, cloud

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module. Playwright's loop then lives in this thread, so Django must be told that the database
    is used between its calls and never inside one; both end with the module, or later tests would suffer.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def reads_past_locks(transactional_db: None) -> Iterator[None]:
    """A page that asks again while a test writes: a database in memory refuses the read ("table is locked") where one
    in a file would answer it from before.
    """

    def relax(sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA read_uncommitted = ON")

    relax(None, connections[DEFAULT_DB_ALIAS])
    connection_created.connect(relax)
    yield
    connection_created.disconnect(relax)


@pytest.fixture
def people(chromium: Browser, reads_past_locks: None) -> People:
    return cloud("h1", "h2")


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console complained of, Content-Security-Policy included."""
    return []


@pytest.fixture
def open_page(chromium: Browser, live_server: Any, people: People, complaints: list[str]) -> Iterator[OpenPage]:
    """A page on which a person is logged in; keywords are Playwright's for a context."""
    contexts: list[BrowserContext] = []

    def opened(username: str = "mary", **options: Any) -> Page:
        contexts.append(chromium.new_context(base_url=live_server.url, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        _log_in(page, username)
        return page

    yield opened
    for context in contexts:
        context.close()


def _log_in(page: Page, username: str) -> None:
    page.goto("/login/")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Overview").wait_for()
