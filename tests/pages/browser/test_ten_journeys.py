"""What people come for, from the first page to the end of the matter: each by the mouse and by the keyboard alone, and
wherever they stop to look, nothing stands in anybody's way, in light and dark.

All of them go on in one installation with simulated hosts. Pictures of where they stopped are in `pictures/`.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.processes import ROOT, Processes
from tests.pages.browser.barriers import barriers_in_both_themes
from tests.pages.browser.conftest import TIMEOUT_MS
from tests.pages.browser.hands import HANDS, Hands
from tests.pages.browser.site import Site, site_of
from tests.worlds.cloud import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.long]
PICTURES = ROOT / "pictures"
WIDE = {"width": 1280, "height": 900}
BOTH_WAYS = pytest.mark.parametrize("way", ["mouse", "keyboard"])


@dataclass
class Traveller:
    """A person on their way through pages."""

    page: Page
    hands: Hands
    way: str
    journey: str
    site: Site
    stops: int = 0

    def link(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("main").get_by_role("link", name=name).first

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("main").get_by_role("button", name=name).first

    def field(self, label: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("main").get_by_label(label).first

    def log_in(self, username: str) -> None:
        self.page.goto("/login/")
        self.hands.write(self.page.get_by_label("User name"), username)
        self.hands.write(self.page.get_by_label("Password"), PASSWORD)
        self.hands.press(self.page.get_by_role("button", name="Log in", exact=True))
        self.arrives("Overview")

    def turns_to(self, title: str) -> None:
        """A page of the menu."""
        menu = self.page.get_by_role("navigation", name="Main")
        self.hands.press(menu.get_by_role("link", name=re.compile(rf"^{title}\b")))
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(re.compile(title, re.IGNORECASE))

    def presses(self, name: str | re.Pattern[str]) -> None:
        """A link or a button with this name."""
        main = self.page.get_by_role("main")
        self.hands.press(main.get_by_role("link", name=name).or_(main.get_by_role("button", name=name)).first)

    def opens(self, text: str) -> None:
        """What hides something until its head is pressed."""
        self.hands.press(self.page.get_by_role("main").locator("summary").filter(has_text=text).first)

    def writes(self, label: str | re.Pattern[str], text: str) -> None:
        self.hands.write(self.field(label), text)

    def chooses(self, label: str, option: str) -> None:
        self.hands.choose(self.field(label), option)

    def arrives(self, heading: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_role("heading", name=heading).first).to_be_visible()

    def sees(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_role("main").get_by_text(text).locator("visible=true").first).to_be_visible()

    def looks_around(self) -> None:
        """Stop here: everybody could go on from here, and it is as wide as the window."""
        self.stops += 1
        met = barriers_in_both_themes(self.page)
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{self.journey}-{self.stops}-{self.way}-dark.png")
        self.page.emulate_media(color_scheme="light")
        self.page.screenshot(path=PICTURES / f"{self.journey}-{self.stops}-{self.way}-light.png")
        assert not met, "\n".join(met)
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


Sets = Callable[[str], Traveller]


@pytest.fixture(scope="module")
def site(
    module_processes: Processes, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with site_of(module_processes, migrated, tmp_path_factory.mktemp("site"), NETWORK_KIND="bridge") as made:
        made.acts("living_world", "cmp-1", "cmp-2", "cmp-3")
        made.start()
        yield made


@pytest.fixture
def sets_out(request: pytest.FixtureRequest, chromium: Browser, site: Site, way: str) -> Iterator[Sets]:
    """`sets_out("mary")`: somebody logs in, by what they go on with."""
    contexts: list[BrowserContext] = []
    journey = request.function.__name__.removeprefix("test_")

    def set_out(username: str) -> Traveller:
        contexts.append(chromium.new_context(base_url=site.url, viewport=WIDE))  # type: ignore[arg-type]
        contexts[-1].set_default_timeout(TIMEOUT_MS)
        page = contexts[-1].new_page()
        person = Traveller(page, HANDS[way](page), way, f"{journey}-{username}", site)
        person.log_in(username)
        return person

    yield set_out
    for context in contexts:
        context.close()


@BOTH_WAYS
def test_first_vm(sets_out: Sets, way: str) -> None:
    mary = sets_out("mary")
    mary.presses("Create instance")
    mary.arrives("Create instance")
    mary.looks_around()
    mary.writes(re.compile(r"^Name"), f"first-{way}")
    mary.presses(re.compile("^Create"))
    mary.arrives(f"first-{way}")
    mary.sees("ACTIVE")
    mary.sees(re.compile(r"10\.20\.\d+\.\d+"))
    mary.looks_around()


@BOTH_WAYS
def test_failed_vm_to_fixed_vm(sets_out: Sets, site: Site, way: str) -> None:
    host, zone = f"far-{way}", f"zone-of-{way}"
    site.acts("host", host, zone)
    site.acts("disable", host)
    site.acts("create_in", zone, f"stuck-{way}", "root")
    root = sets_out("root")
    root.turns_to("Instances")
    root.presses(f"stuck-{way}")
    root.arrives(f"stuck-{way}")
    root.sees("ERROR")
    root.arrives("What can be done")
    root.presses(re.compile(f"^Enable .*{host}"))
    root.sees("It fits now")
    root.looks_around()
    steps = root.page.get_by_role("region", name="What can be done")
    root.hands.press(steps.get_by_role("button", name="Schedule again"))
    root.sees("ACTIVE")
    root.looks_around()


@BOTH_WAYS
def test_host_dies_and_is_noticed(sets_out: Sets, site: Site, way: str) -> None:
    host, zone = f"frail-{way}", f"frail-zone-{way}"
    site.acts("host", host, zone)
    site.acts("create_in", zone, f"ledger-{way}", "root")
    root = sets_out("root")
    root.turns_to("Instances")
    root.presses(f"ledger-{way}")
    root.sees("ACTIVE")
    root.turns_to("Overview")
    site.acts("kill", host)
    root.arrives("Needs attention")
    root.sees(host)
    root.looks_around()
    root.presses(host)
    root.sees("Its agent was last seen")
    root.looks_around()
    root.presses(f"ledger-{way}")
    root.sees(re.compile("Unknown since"))
    root.looks_around()
    root.presses("Delete…")
    root.sees(re.compile("waits until it is back"))
    root.looks_around()


@BOTH_WAYS
def test_bulk_delete_with_one_that_fails(sets_out: Sets, site: Site, way: str) -> None:
    made = [site.acts("create_in", "", f"batch-{way}-{number}", "mary") for number in range(3)]
    site.acts("protect", made[1], "mary")
    mary = sets_out("mary")
    mary.turns_to("Instances")
    mary.writes("Search", f"batch-{way}")
    expect(mary.page.get_by_role("main").get_by_role("row")).to_have_count(4)
    for number in range(3):
        mary.hands.tick(mary.field(f"Choose batch-{way}-{number}"))
    mary.chooses("With the chosen", "Delete")
    mary.looks_around()
    mary.presses("Go on")
    mary.arrives("Delete 3 instances?")
    mary.looks_around()
    mary.presses("Delete 3 instances")
    mary.sees("3 of 3 ended")
    mary.sees("partly failed")
    mary.looks_around()
    mary.presses(f"batch-{way}-1")
    mary.opens("More actions")
    mary.presses("Unprotect")
    mary.turns_to("Bulk jobs")
    mary.presses("Delete 3 instances")
    mary.presses("Try the 1 that failed again")
    mary.sees("3 of 3 ended")
    expect(mary.page.get_by_role("main").get_by_text("failed", exact=True)).to_have_count(0)
    mary.looks_around()


@BOTH_WAYS
def test_new_flavor_and_aggregate(sets_out: Sets, way: str) -> None:
    root = sets_out("root")
    root.turns_to("Flavors")
    root.presses("Create flavor")
    root.writes(re.compile(r"^Name"), f"c2.{way}")
    root.writes("vCPUs", "2")
    root.writes("Memory (MiB)", "1024")
    root.writes("Key 1", "hw:cpu_policy")
    root.writes("Value 1", "shared")
    root.looks_around()
    root.presses(re.compile("^Create"))
    root.arrives(f"c2.{way}")
    root.sees("hw:cpu_policy")
    root.looks_around()
    root.turns_to("Aggregates")
    root.presses("Create aggregate")
    root.writes("Name", f"fast-{way}")
    root.hands.tick(root.field("cmp-2"))
    root.presses("Show the effect")
    root.arrives("What saving this does")
    root.looks_around()
    root.presses(re.compile("^Create"))
    root.arrives(f"fast-{way}")
    root.sees("cmp-2")
    root.looks_around()


@BOTH_WAYS
def test_policy_change_with_preview(sets_out: Sets, site: Site, way: str) -> None:
    site.acts("create_in", "", f"seen-by-policies-{way}", "mary")
    root = sets_out("root")
    root.turns_to("Policies")
    root.opens("New draft")
    root.writes("Name", f"stack-{way}")
    root.presses("Make a draft")
    root.arrives(re.compile(f"Edit stack-{way}"))
    root.writes("What it is for", "fill hosts one after the other")
    root.writes("Multiplier of RAMWeigher", "-1")
    root.looks_around()
    root.presses("Save")
    root.arrives(f"stack-{way}")
    root.presses("Preview")
    root.arrives(re.compile(r"\d+ decisions?"))
    root.looks_around()
    root.presses(re.compile(f"^stack-{way}"))
    root.presses("Validate")
    root.opens("Activate")
    root.looks_around()
    root.presses(re.compile("^Activate: "))
    root.turns_to("Policies")
    root.sees(re.compile(f"The scheduler follows stack-{way}"))
    root.looks_around()
    root.opens("Back to the defaults")
    root.presses("Follow the defaults")
    root.sees("the scheduler follows the defaults")


@BOTH_WAYS
def test_image_upload(sets_out: Sets, way: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk.raw"
    disk.write_bytes(os.urandom(2_000_000))
    mary = sets_out("mary")
    mary.turns_to("Images")
    mary.presses("Add image")
    mary.writes(re.compile(r"^Name"), f"mine-{way}")
    mary.chooses("Disk format", "raw")
    mary.looks_around()
    mary.presses(re.compile(r"^Add$"))
    mary.arrives("Send the bytes")
    mary.looks_around()
    mary.hands.give(mary.field(re.compile(r"^File")), disk)
    mary.presses("Upload")
    mary.sees("active")
    mary.looks_around()


@BOTH_WAYS
def test_find_a_vm_by_address(sets_out: Sets, site: Site, way: str) -> None:
    instance = site.acts("create_in", "", f"needle-{way}", "mary")
    mary = sets_out("mary")
    mary.page.goto(f"/instances/{instance}/")
    mary.sees("ACTIVE")
    address = re.search(r"10\.20\.\d+\.\d+", mary.page.get_by_role("main").inner_text())
    assert address is not None
    mary.page.goto("/")
    mary.hands.press(mary.page.get_by_role("link", name="Search"))
    search = mary.page.get_by_role("dialog", name="Search everything")
    mary.hands.write(search.get_by_role("searchbox"), address[0])
    expect(search.get_by_role("link", name=f"needle-{way}")).to_be_visible()
    mary.looks_around()
    mary.hands.press(search.get_by_role("link", name=f"needle-{way}"))
    mary.arrives(f"needle-{way}")


@BOTH_WAYS
def test_first_day_of_a_member(sets_out: Sets, way: str) -> None:
    root = sets_out("root")
    root.turns_to("Users")
    root.presses("Create user")
    root.writes("Username", f"nora-{way}")
    root.writes("Password", PASSWORD)
    root.looks_around()
    root.presses(re.compile("^Create"))
    root.arrives(f"nora-{way}")
    root.chooses("Project", "demo")
    root.chooses("Role", "member")
    root.presses("Give")
    root.sees("Take away")
    root.looks_around()

    nora = sets_out(f"nora-{way}")
    nora.looks_around()
    makes_the_account_hers(nora)
    nora.turns_to("Key pairs")
    nora.presses("Add key pair")
    nora.writes(re.compile(r"^Name"), "laptop")
    nora.presses("Add")
    nora.sees(re.compile("BEGIN OPENSSH PRIVATE KEY"))
    nora.looks_around()
    nora.presses("I have saved it")
    nora.turns_to("Instances")
    nora.presses("Create instance")
    nora.writes(re.compile(r"^Name"), f"hello-{way}")
    nora.opens("More options")
    nora.chooses("Key pair", "laptop")
    nora.presses(re.compile("^Create"))
    nora.arrives(f"hello-{way}")
    nora.sees("ACTIVE")
    nora.sees("laptop")


def makes_the_account_hers(nora: Traveller) -> None:
    """A password of her own, and a token for her programs."""
    nora.hands.press(nora.page.get_by_role("button", name=re.compile("^Account")))
    nora.hands.press(nora.page.get_by_role("link", name="Your account"))
    nora.arrives("Tokens")
    nora.looks_around()
    nora.presses("Make a token")
    nora.arrives("Your new token")
    nora.presses("Change")
    nora.writes("Your password now", PASSWORD)
    nora.writes(re.compile("^New password$"), PASSWORD[::-1])
    nora.writes("New password again", PASSWORD[::-1])
    nora.looks_around()
    nora.presses("Change")
    nora.arrives("Your account")


@BOTH_WAYS
def test_find_why(sets_out: Sets, site: Site, way: str) -> None:
    site.acts("create_in", "", f"puzzle-{way}", "mary")
    root = sets_out("root")
    root.turns_to("Instances")
    root.presses(f"puzzle-{way}")
    root.sees("ACTIVE")
    root.presses("Why this host")
    root.arrives("Scores")
    root.looks_around()
    root.writes("Host or node", "cmp-3")
    root.presses("Ask")
    root.sees(re.compile(r"cmp-3 "))
    root.presses("Replay")
    root.sees(re.compile("Replay identical"))
    root.looks_around()
    root.turns_to("Audit log")
    root.writes("Search", f"puzzle-{way}")
    root.sees(re.compile("mary"))
    root.looks_around()
