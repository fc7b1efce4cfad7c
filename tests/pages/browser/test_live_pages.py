"""Open pages under the real web server: they are told of changes, say when nobody answers, and rest in hidden tabs."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from controlplane.launcher.children import WEB_WORKER
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.races import race_environment
from tests.fixtures.servers import free_port, wait_until
from tests.pages.browser.acts import Acts, acts_on
from tests.worlds.cloud import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@dataclass
class Site:
    """A web server on a database of its own, and what happens there beside it."""

    processes: Processes
    env: dict[str, str]
    acts: Acts
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = self.processes.python(
            "-m", "gunicorn", "controlplane.wsgi:application", "--bind", f"127.0.0.1:{self.port}",
            "--worker-class", WEB_WORKER, "--workers", "1", "--threads", "4", "--graceful-timeout", "2",
            "--no-control-socket", env=self.env,
        )  # fmt: skip
        process = self.process
        wait_until(lambda: "Booting worker" in self.processes.log(process), timeout_s=30, what="the web server starts")

    def stop(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGTERM)
        self.process.wait(10)


@pytest.fixture(scope="module")
def site(module_processes: Processes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    state = tmp_path_factory.mktemp("site")
    env = race_environment(f"sqlite:///{state}/site.sqlite3", state)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=env, cwd=ROOT, check=True)
    with acts_on(env) as acts:
        acts("world")
        made = Site(module_processes, env, acts)
        made.start()
        yield made


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    context = chromium.new_context(base_url=f"http://127.0.0.1:{site.port}")
    opened = context.new_page()
    opened.goto("/login/")
    opened.get_by_label("User name").fill("root")
    opened.get_by_label("Password").fill(PASSWORD)
    opened.get_by_role("button", name="Log in").click()
    opened.get_by_role("heading", name="Overview").wait_for()
    yield opened
    context.close()


def settled(page: Page, path: str) -> list[str]:
    """Open it and wait until it is told of changes and has looked once. What it asks for from then on."""
    with page.expect_request(lambda request: "/events/" in request.url):
        page.goto(path)
    page.wait_for_timeout(1500)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def test_instance_becomes_active_on_its_page_without_a_poll(page: Page, site: Site) -> None:
    instance = site.acts("create", "web")
    asked = settled(page, f"/instances/{instance}/")
    page.evaluate("document.getElementById('live').dataset.quiet = 3600")
    expect(page.locator("#state")).to_contain_text("BUILD")
    page.wait_for_timeout(2500)
    assert [url for url in asked if "seen=BUILD" in url] == []

    began = time.monotonic()
    site.acts("build")

    expect(page.locator("#state")).to_contain_text("ACTIVE", timeout=5000)
    assert time.monotonic() - began < 5.0
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
    instance = site.acts("create", "told")
    expect(instances.locator(f"#i-{instance}")).to_be_visible(timeout=5000)
    expect(work.locator("#n-waiting b")).to_have_text("1", timeout=5000)
    expect(overview.locator("#stat-all b")).to_have_text(str(total + 1), timeout=5000)
    site.acts("build")
    expect(work.locator("#n-waiting b")).to_have_text("0", timeout=5000)


def test_hosts_are_told(page: Page, site: Site) -> None:
    hosts, host = side_by_side(page, "/hosts/", "/hosts/h1/")
    host.get_by_text("Disable…").click()
    made = [site.acts("create", f"on-h1-{number}") for number in range(3)]
    site.acts("build")
    here = host.locator(", ".join(f"#i-{instance}" for instance in made))
    expect(here.first).to_be_visible(timeout=5000)
    expect(host.get_by_label("Reason")).to_be_visible()
    site.acts("disable", "h1")
    expect(hosts.locator("#rows")).to_contain_text("disabled", timeout=5000)
    expect(host.locator("#enable")).to_be_visible(timeout=5000)
    site.acts("enable", "h1")
    expect(hosts.locator("#rows")).not_to_contain_text("disabled", timeout=5000)


@pytest.mark.long
def test_burst_is_one_look_a_second(page: Page, site: Site) -> None:
    asked = settled(page, "/hosts/")
    site.acts("burst", "hosts", "4")
    page.wait_for_timeout(1500)
    assert 2 <= len([url for url in asked if url.endswith("/hosts/")]) <= 7


def test_hidden_page_asks_for_nothing_and_looks_when_it_is_seen(page: Page, site: Site) -> None:
    asked = settled(page, "/hosts/")
    hide = "state => { Object.defineProperty(document, 'hidden', {value: state, configurable: true});"
    hide += " document.dispatchEvent(new Event('visibilitychange')) }"
    page.evaluate(hide, True)
    site.acts("burst", "hosts", "2")
    page.wait_for_timeout(500)
    assert asked == []
    page.evaluate(hide, False)
    page.wait_for_timeout(1500)
    assert {url.rpartition("/hosts/")[1] or "/events/" for url in asked} == {"/hosts/", "/events/"}


@pytest.mark.long
def test_lost_connection_is_said_and_so_is_its_end(page: Page, site: Site) -> None:
    settled(page, "/hosts/")
    line = page.locator("#connection")
    expect(line).to_have_text("")
    site.stop()
    expect(line).to_contain_text("Connection lost, as of ", timeout=10_000)
    if directory := os.environ.get("LIVE_PICTURES"):
        pictures(page, Path(directory))
    site.start()
    expect(line).to_have_text("", timeout=15_000)
    page.wait_for_timeout(2000)
    site.acts("disable", "h1")
    expect(page.locator("#rows")).to_contain_text("disabled", timeout=8000)
    site.acts("enable", "h1")


def pictures(page: Page, directory: Path) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for name, width in (("phone", 390), ("wide", 1280)):
            page.set_viewport_size({"width": width, "height": 844})
            page.screenshot(path=directory / f"lost-{scheme}-{name}.png")
