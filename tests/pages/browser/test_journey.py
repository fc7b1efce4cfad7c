"""What people do in a browser, with and without JavaScript, on a screen and on a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from controlplane.identity.models import Project, RoleAssignment, User
from servers.models import Instance
from tests.worlds.cloud import People, active, create, finish_builds, flavor, instance_of, pump

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
PHONE = {"width": 390, "height": 844}


def request_instance(page: Page, name: str) -> None:
    page.goto("/instances/create/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def test_an_instance_is_created_seen_to_become_active_and_its_decision_opened(
    open_page: OpenPage, complaints: list[str]
) -> None:
    page = open_page("root")
    request_instance(page, "web")
    expect(page.locator("#state")).to_contain_text("BUILD")

    pump()
    finish_builds()

    expect(page.locator("#state")).to_contain_text("ACTIVE")
    expect(page.locator("#announce")).to_have_text("web is now ACTIVE")
    page.get_by_role("link", name="Why this host").click()
    expect(page.get_by_role("heading", name="Scores")).to_be_visible()
    assert complaints == []


def test_what_a_person_has_opened_or_focused_survives_the_live_parts(
    open_page: OpenPage, complaints: list[str]
) -> None:
    page = open_page()
    request_instance(page, "web")
    page.get_by_text("More actions").click()
    page.locator("[id^=refused] summary").click()
    with page.expect_response(lambda answer: "seen=" in answer.url and "console" not in answer.url):
        pass
    expect(page.get_by_text("The instance waits to be scheduled.").first).to_be_visible()

    pump()
    finish_builds()
    page.locator("#act-stop").focus()
    page.wait_for_timeout(1500)

    assert page.evaluate("document.activeElement.id") == "act-stop"
    assert complaints == []


def test_the_list_stops_asking_when_nothing_changes_any_more(open_page: OpenPage, people: People) -> None:
    create(people.member, "web")
    page = open_page()
    page.goto("/instances/")
    pump()
    finish_builds()
    expect(page.locator("#rows")).to_contain_text("ACTIVE")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(2600)

    assert asked == []


def test_an_instance_deleted_while_one_looks_says_so(open_page: OpenPage) -> None:
    page = open_page()
    request_instance(page, "web")
    pump()
    made = Instance.objects.get()

    Instance.objects.filter(pk=made.pk).update(deleted_at=made.created_at)

    expect(page.get_by_role("heading", name="It is deleted")).to_be_visible()
    expect(page.get_by_text("Delete…")).to_have_count(0)


@pytest.mark.long
def test_the_chosen_theme_wins_over_the_systems(open_page: OpenPage, complaints: list[str]) -> None:
    page = open_page(color_scheme="light")
    light = background(page)
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_load_state()

    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert background(page) != light
    assert complaints == []


def test_no_page_is_wider_than_a_phone(open_page: OpenPage, people: People, complaints: list[str]) -> None:
    flavor("huge", root_gib=5000)
    create(people.admin, "a-name-without-any-place-to-break-it-" + "x" * 100, flavor="huge")
    running = active(people.admin, "web")
    failed = Instance.objects.exclude(pk=running.pk).get()
    page = open_page("root", viewport=PHONE)
    paths = ["/", "/instances/", "/instances/create/", "/hosts/", "/hosts/h1/", "/decisions/", "/nowhere/"]
    paths += ["/providers/", f"/providers/{running.compute_node_uuid}/", "/drift/", "/heals/"]
    for one in (running, failed):
        paths += [f"/instances/{one.pk}/", f"/instances/{one.pk}/delete/", f"/decisions/{one.decision_id}/"]

    wide = {}
    for path in paths:
        page.goto(path)
        if page.locator("details > summary").count():
            page.locator("details > summary").first.click()
        if (width := page.evaluate("document.documentElement.scrollWidth")) > PHONE["width"]:
            wide[path] = width

    assert wide == {}
    assert [one for one in complaints if "404" not in one] == []


@pytest.mark.long
def test_the_page_of_the_api_is_drawn(open_page: OpenPage, complaints: list[str]) -> None:
    page = open_page()
    page.goto("/api/docs/")
    page.locator(".opblock-summary-control").first.click()
    expect(page.locator(".opblock-body").first).to_be_visible()

    assert complaints == []


def test_without_javascript_an_instance_is_created_filtered_stopped_and_deleted(
    open_page: OpenPage, people: People
) -> None:
    page = open_page(java_script_enabled=False)
    request_instance(page, "web")
    pump()
    finish_builds()
    page.goto("/instances/")
    page.get_by_label("Search", exact=True).fill("we")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="web").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#state")).to_contain_text("powering off")
    page.get_by_text("More actions").click()
    page.get_by_role("link", name="Lock…").click()
    page.get_by_label("Reason").fill("month-end")
    page.get_by_role("button", name="Lock web").click()
    expect(page.locator("#lock-notice")).to_contain_text("month-end")
    page.get_by_text("More actions").click()
    page.get_by_role("button", name="Unlock", exact=True).click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete web").click()

    expect(page.get_by_text("web is being deleted.")).to_be_visible()
    assert instance_of(Instance.objects.get().pk).task_state == "deleting"


@pytest.mark.long
def test_without_javascript_the_project_and_the_theme_are_switched(open_page: OpenPage, people: People) -> None:
    other = Project.objects.get(name="other")
    RoleAssignment.objects.create(user=User.objects.get(username="mary"), project=other, role="member")
    page = open_page(java_script_enabled=False)
    page.get_by_role("button", name="Account").click()
    page.get_by_label("Project").select_option(label="other")
    page.get_by_role("button", name="Switch").click()
    expect(page.get_by_role("heading", name="Quota of project other")).to_be_visible()
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


@pytest.mark.long
def test_an_open_menu_survives_the_live_parts_and_is_used_by_keyboard(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    instance = active(people.member, "web")
    page = open_page()
    page.goto(f"/instances/{instance.pk}/")
    menu = page.locator("details[id^=menu-]").first
    menu.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.evaluate("htmx.trigger('#live', 'look')")
    page.wait_for_timeout(800)
    expect(menu).to_have_attribute("open", "")
    page.locator("#act-pause").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_contain_text("pausing")

    assert instance_of(instance.pk).task_state == "pausing"
    assert complaints == []


def test_escape_closes_a_question_and_gives_the_focus_back(
    open_page: OpenPage, people: People, complaints: list[str]
) -> None:
    page = open_page("root")
    page.goto("/hosts/h1/")
    question = page.locator("details.confirm").first
    opener = question.locator("summary")
    opener.focus()
    page.keyboard.press("Enter")
    expect(question).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    expect(opener).not_to_be_focused()

    page.keyboard.press("Escape")

    expect(question).not_to_have_attribute("open", "")
    expect(opener).to_be_focused()
    assert complaints == []
