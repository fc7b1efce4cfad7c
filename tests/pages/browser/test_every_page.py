"""Every page of the dashboard, as the URL conf has them, over fleets of a demo: small, within few queries, and usable
by everybody at each width. A new page is in this without being named here.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.processes import Processes
from tests.pages.browser.barriers import barriers_but_contrast, barriers_in_both_themes
from tests.pages.browser.conftest import TIMEOUT_MS, log_in
from tests.pages.browser.site import Site, site_of
from tests.worlds.demo_fleet import ADMIN

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.long]
SMALL, LARGE = ("12", "60"), ("60", "600")
MOST_BYTES = 150_000
MOST_QUERIES = 100
SPARE_QUERIES = 3
"""A larger fleet has a kind of trouble more, or another page of it: not one query for each row."""
PHONE, LAPTOP = 390, 1280
WIDTHS = (PHONE, LAPTOP, 1920)
IS_CUT = """() => [...document.querySelectorAll(".table-wrap, .worklist-wrap")]
  .some(table => table.scrollWidth > table.clientWidth)"""
"""Whether a table hides a column or a button until it is scrolled: it may on a phone."""
REDIRECTS = {"login", "login-code", "login-set-up", "menu-counts", "instance-usage"}
"""Somebody is logged in; parts of pages send who asks for them alone to the page."""
Drawn = dict[str, Any]


@pytest.fixture(scope="module")
def large(
    module_processes: Processes, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with site_of(module_processes, migrated, tmp_path_factory.mktemp("large")) as made:
        made.acts("demo", *LARGE)
        made.start()
        yield made


@pytest.fixture(scope="module")
def pages_of_large(large: Site) -> list[Drawn]:
    return list(large.acts("pages", ADMIN))


@pytest.fixture(scope="module")
def pages_of_small(
    module_processes: Processes, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory
) -> list[Drawn]:
    with site_of(module_processes, migrated, tmp_path_factory.mktemp("small")) as made:
        made.acts("demo", *SMALL)
        return list(made.acts("pages", ADMIN))


@pytest.fixture
def page(chromium: Browser, large: Site) -> Iterator[Page]:
    context = chromium.new_context(base_url=large.url)
    context.set_default_timeout(TIMEOUT_MS)
    opened = context.new_page()
    log_in(opened, ADMIN)
    yield opened
    context.close()


def test_every_address_of_a_page_leads_to_something(pages_of_large: list[Drawn]) -> None:
    lost = {one["name"]: (one["path"], one["status"]) for one in pages_of_large if one["status"] not in {200, 302}}

    assert len(pages_of_large) > 90
    assert lost == {}, "tests/pages/every_page.py must know an object for these addresses, or that they are no pages"
    assert {one["name"] for one in pages_of_large if one["status"] == 302} <= REDIRECTS


def test_every_page_is_small_with_the_files_it_names(pages_of_large: list[Drawn]) -> None:
    sizes = {one["name"]: one["page_bytes"] + one["file_bytes"] for one in pages_of_large}

    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def test_no_page_asks_the_database_more_on_a_larger_fleet(
    pages_of_small: list[Drawn], pages_of_large: list[Drawn]
) -> None:
    few = {one["name"]: one["queries"] for one in pages_of_small}
    many = {one["name"]: one["queries"] for one in pages_of_large}

    assert {name: (few[name], count) for name, count in many.items() if count > few[name] + SPARE_QUERIES} == {}
    assert {name: count for name, count in many.items() if count > MOST_QUERIES} == {}


def test_no_page_scrolls_sideways_or_stands_in_anybodys_way(page: Page, pages_of_large: list[Drawn]) -> None:
    wide, cut, met = [], [], []
    for one in pages_of_large:
        if not one["is_whole"]:
            continue
        page.goto(one["path"])
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append((one["path"], width))
            if width == LAPTOP and page.evaluate(IS_CUT):
                cut.append(one["path"])
            if width == WIDTHS[-1]:
                met += barriers_in_both_themes(page)
            elif width == PHONE:
                met += barriers_but_contrast(page)

    assert not wide, f"wider than the window: {wide}"
    assert not cut, f"tables that hide a part: {cut}"
    assert not met, "\n".join(met)
