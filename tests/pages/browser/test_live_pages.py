"""Open pages under the real web server: they are told of changes, say when nobody answers, and rest in hidden tabs."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.processes import Processes
from tests.pages.browser.barriers import barriers
from tests.pages.browser.conftest import TIMEOUT_MS
from tests.pages.browser.site import Site, site_of
from tests.worlds.cloud import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.processes]


SOON_MS = 20_000
"""A page that is told looks within two seconds, on a busy machine within this; one that is not looks after thirty."""
IS_TOLD = """
const Stream = window.EventSource;
window.EventSource = class extends Stream {
  constructor(url) { super(url); this.addEventListener("ready", () => { window.toldAt = Date.now(); }); }
};
"""


@pytest.fixture(scope="module")
def site(
    module_processes: Processes, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with site_of(module_processes, migrated, tmp_path_factory.mktemp("site")) as made:
        made.acts("world", "h1", "h2")
        made.start()
        yield made


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    context = chromium.new_context(base_url=f"http://127.0.0.1:{site.port}")
    context.set_default_timeout(TIMEOUT_MS)
    context.add_init_script(IS_TOLD)
    opened = context.new_page()
    opened.goto("/login/")
    opened.get_by_label("User name").fill("root")
    opened.get_by_label("Password").fill(PASSWORD)
    opened.get_by_role("button", name="Log in").click()
    opened.get_by_role("heading", name="Overview").wait_for()
    yield opened
    met = barriers(opened)
    context.close()
    assert not met, "\n".join(met)


def settled(page: Page, path: str) -> list[str]:
    """Open it and wait until it is told of changes and has looked after that. What it asks for from then on."""
    looks: list[Request] = []
    page.on("requestfinished", lambda request: looks.append(request) if is_look(request) else None)
    page.goto(path)
    soon(page, lambda: page.evaluate("window.toldAt"), "it is told of changes")
    told_at = page.evaluate("window.toldAt")
    soon(page, lambda: any(look.timing["startTime"] >= told_at for look in looks), "it has looked")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def is_look(request: Request) -> bool:
    """Whether a part asks that is told of changes: the counts of the menu and the console log ask at their own pace."""
    return request.resource_type == "xhr" and not any(other in request.url for other in ("/menu/", "/console/"))


def soon(page: Page, condition: Callable[[], object], what: str) -> None:
    """Return once it is true, while the page goes on; fail after a minute."""
    end = time.monotonic() + TIMEOUT_MS / 1000
    while not condition():
        assert time.monotonic() < end, f"not within {TIMEOUT_MS / 1000:g} s: {what}"
        page.wait_for_timeout(100)


def test_instance_becomes_active_on_its_page_without_a_poll(page: Page, site: Site) -> None:
    instance = site.acts("create", "web")
    asked = settled(page, f"/instances/{instance}/")
    page.evaluate("document.getElementById('live').dataset.quiet = 3600")
    expect(page.locator("#state")).to_contain_text("BUILD")
    page.wait_for_timeout(2500)
    assert [url for url in asked if "seen=BUILD" in url] == []

    site.acts("build")
    expect(page.locator("#state")).to_contain_text("ACTIVE")
    expect(page.locator("#announce")).to_have_text("web is now ACTIVE")


def side_by_side(page: Page, *paths: str) -> list[Page]:
    """Browsers open six connections to a server that speaks HTTP/1.1, and each stream holds one."""
    page.goto("about:blank")
    opened = [page.context.new_page() for _ in paths]
    for each, path in zip(opened, paths, strict=True):
        settled(each, path)
    return opened


def test_list_work_and_overview_are_told(page: Page, site: Site) -> None:
    instances, work, overview = side_by_side(page, "/instances/", "/work/", "/")
    total = int(overview.locator("#stat-all b").inner_text())
    waiting = int(work.locator("#n-waiting b").inner_text())
    instance = site.acts("create", "told")
    expect(instances.locator(f"#i-{instance}")).to_be_visible(timeout=SOON_MS)
    expect(work.locator("#n-waiting b")).to_have_text(str(waiting + 1))
    expect(overview.locator("#stat-all b")).to_have_text(str(total + 1))
    site.acts("build")
    expect(work.locator("#n-waiting b")).to_have_text("0")


def test_hosts_are_told(page: Page, site: Site) -> None:
    hosts, host = side_by_side(page, "/hosts/", "/hosts/h1/")
    host.get_by_text("Disable…").click()
    made = [site.acts("create", f"on-h1-{number}") for number in range(3)]
    site.acts("build")
    here = host.locator(", ".join(f"#i-{instance}" for instance in made))
    expect(here.first).to_be_visible(timeout=SOON_MS)
    expect(host.get_by_label("Reason")).to_be_visible()
    site.acts("disable", "h1")
    expect(hosts.locator("#rows")).to_contain_text("disabled")
    expect(host.locator("#enable")).to_be_visible(timeout=SOON_MS)
    site.acts("enable", "h1")
    expect(hosts.locator("#rows")).not_to_contain_text("disabled")


@pytest.mark.long
def test_burst_is_one_look_a_second(page: Page, site: Site) -> None:
    asked = settled(page, "/hosts/")
    began = time.monotonic()
    site.acts("burst", "hosts", "4")
    soon(page, lambda: len([url for url in asked if url.endswith("/hosts/")]) >= 2, "it looks again")
    page.wait_for_timeout(1500)
    looks = [url for url in asked if url.endswith("/hosts/")]
    assert 2 <= len(looks) <= 2 + time.monotonic() - began


def test_hidden_page_asks_for_nothing_and_looks_when_it_is_seen(page: Page, site: Site) -> None:
    asked = settled(page, "/hosts/")
    hide = "state => { Object.defineProperty(document, 'hidden', {value: state, configurable: true});"
    hide += " document.dispatchEvent(new Event('visibilitychange')) }"
    page.evaluate(hide, True)
    site.acts("burst", "hosts", "2")
    page.wait_for_timeout(500)
    assert asked == []
    page.evaluate(hide, False)
    both = {"/hosts/", "/events/"}
    soon(page, lambda: {url.rpartition("/hosts/")[1] or "/events/" for url in asked} == both, "it looks, and is told")


@pytest.mark.long
def test_lost_connection_is_said_and_so_is_its_end(page: Page, site: Site) -> None:
    settled(page, "/hosts/")
    line = page.locator("#connection")
    expect(line).to_have_text("")
    site.stop()
    expect(line).to_contain_text("Connection lost, as of ")
    if directory := os.environ.get("LIVE_PICTURES"):
        pictures(page, Path(directory))
    site.start()
    expect(line).to_have_text("")
    site.acts("disable", "h1")
    expect(page.locator("#rows")).to_contain_text("disabled")
    site.acts("enable", "h1")


@pytest.mark.long
def test_a_filter_that_was_never_heard_of_is_asked_for_again(page: Page, site: Site) -> None:
    settled(page, "/hosts/")
    expect(page.locator("#rows")).to_contain_text("h1")
    site.stop()
    page.locator("#f-q").fill("no-such-host")
    page.locator("#f-q").press("Enter")
    expect(page.locator("#connection")).to_contain_text("Connection lost, as of ")
    expect(page.locator("html[data-lost] #rows")).to_contain_text("h1")
    site.start()
    expect(page.locator("#connection")).to_have_text("")
    expect(page.locator("#rows")).to_contain_text("Nothing matches the filters")
    assert "no-such-host" in page.url


def pictures(page: Page, directory: Path) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for name, width in (("phone", 390), ("wide", 1280)):
            page.set_viewport_size({"width": width, "height": 844})
            page.screenshot(path=directory / f"lost-{scheme}-{name}.png")
