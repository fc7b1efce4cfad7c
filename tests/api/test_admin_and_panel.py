"""The admin and the panel: links both ways, one theme, names for ids, and forms that keep what was typed."""

import uuid

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from controlplane.dashboard.django_admin.panel_pages import OF_ONE_TABLE, PANEL_PAGES, REFERENCES
from controlplane.identity.models import Project, User
from servers.models import Flavor, Image, Instance
from tests.worlds import cloud
from tests.worlds.admin_actions import pairs

pytestmark = pytest.mark.django_db
LIST = "/admin/servers/instance/"
SIZES = {"vcpus": 1, "memory_mib": 64, "root_gib": 0, "ephemeral_gib": 0, "swap_mib": 0, "is_public": "on"}


@pytest.fixture
def people() -> cloud.People:
    return cloud.people()


@pytest.fixture
def browser(people: cloud.People) -> Client:
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=people.admin.user_id))
    return client


def instance(people: cloud.People, name: str = "vm", **more: object) -> Instance:
    return Instance.objects.create(
        name=name,
        project_id=people.member.project_id,
        user_id=people.member.user_id,
        flavor={"name": "m1.tiny"},
        vcpus=1,
        memory_mib=1,
        **more,
    )


def text(client: Client, path: str, **query: str) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200, path
    return answer.content.decode()


@pytest.mark.parametrize("page", PANEL_PAGES, ids=lambda page: page.model)
def test_panel_has_the_pages_that_the_admin_links_to(page) -> None:
    assert resolve(reverse(page.listed)).view_name == page.listed
    if page.route:
        given = "cmp-1" if page.argument == "host" else uuid.uuid4()
        assert resolve(reverse(page.route, kwargs={page.argument: given})).view_name == page.route


def test_references_are_of_models_with_such_a_column() -> None:
    from django.apps import apps

    for one in {*REFERENCES.values(), *OF_ONE_TABLE.values()}:
        model = apps.get_model(one.model)
        assert model._meta.get_field(one.name) or hasattr(model, one.name)


def test_list_shows_names_of_project_user_and_flavor_and_leads_to_the_panel(browser, people) -> None:
    row = instance(people)
    page = text(browser, LIST)
    project = Project.objects.get(pk=row.project_id)
    assert f'<a href="/admin/identity/project/{project.pk}/change/" title="{project.pk}">{project.name}</a>' in page
    assert "m1.tiny" in page
    assert f'href="/instances/{row.pk}/"' in page
    shown = text(browser, f"{LIST}{row.pk}/change/")
    assert f">{project.name}</a>" in shown
    assert f'<a href="/instances/{row.pk}/" class="panellink">Open in the panel</a>' in shown


def test_name_is_no_link_for_who_may_not_open_it(people) -> None:
    row = instance(people)
    staff = User.objects.create_user(username="temp", password="a-long-password", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_instance"))
    client = Client()
    client.force_login(staff)
    page = text(client, LIST)
    assert Project.objects.get(pk=row.project_id).name in page
    assert "/admin/identity/project/" not in page


def test_list_is_filtered_by_part_of_a_projects_name_by_its_id_and_by_host(browser, people) -> None:
    mine, other = instance(people, "mine", host="cmp-1"), instance(people, "other", host="cmp-10")
    Instance.objects.filter(pk=other.pk).update(project_id=people.stranger.project_id)
    name = Project.objects.get(pk=mine.project_id).name

    def found(**query: str) -> set[str]:
        return {row.name for row in browser.get(LIST, query).context["cl"].result_list}

    assert found(project=str(mine.project_id)) == {"mine"}
    assert "mine" in found(project=name[:3].upper())
    assert found(project="no such project") == set()
    assert found(host="cmp-1") == {"mine"}


def test_page_of_the_panel_leads_to_the_admin_for_staff_who_may_see_it_there(browser, people) -> None:
    row = instance(people)
    assert f'href="/admin/servers/instance/{row.pk}/change/"' in text(browser, f"/instances/{row.pk}/")
    assert 'href="/admin/servers/flavor/"' in text(browser, "/flavors/")
    member = Client()
    member.force_login(User.objects.get(pk=people.member.user_id))
    assert "/admin/" not in text(member, f"/instances/{row.pk}/")
    User.objects.filter(pk=people.member.user_id).update(is_staff=True)
    assert "/admin/servers/" not in text(member, f"/instances/{row.pk}/")


@pytest.mark.parametrize(("theme", "sheet"), [("dark", "dark.css"), ("light", "light.css"), ("blue", ""), ("", "")])
def test_theme_of_the_panel_is_that_of_the_admin(browser, theme: str, sheet: str) -> None:
    browser.cookies["theme"] = theme
    page = text(browser, "/admin/")
    assert "palette.css" in page
    assert [one for one in ("dark.css", "light.css") if f"kilonova/{one}" in page] == ([sheet] if sheet else [])


def test_editor_of_extra_specs_says_what_a_key_means_and_what_is_wrong(browser) -> None:
    row = cloud.flavor()
    Flavor.objects.filter(pk=row.pk).update(extra_specs={"hw:cpu_policy": "dedicated", "mine": "1"})
    page = text(browser, f"/admin/servers/flavor/{row.pk}/change/")
    assert 'name="extra_specs_key" value="hw:cpu_policy"' in page
    assert "only host aggregates may look at it" in page
    sent = {"name": "renamed", **SIZES, **pairs("extra_specs", {"hw:cpu_policy": "dedicatd"})}
    refused = browser.post(f"/admin/servers/flavor/{row.pk}/change/", sent).content.decode()
    assert "it must be one of dedicated" in refused
    assert 'value="dedicatd"' in refused
    assert 'value="renamed"' in refused


def test_editor_says_of_a_pair_that_is_taken_why_no_guest_gets_it(browser) -> None:
    row = cloud.flavor()
    Flavor.objects.filter(pk=row.pk).update(extra_specs={"hw:redirected_usb_ports": "2", "hw:sound_model": "ac97"})
    page = text(browser, f"/admin/servers/flavor/{row.pk}/change/")
    why = "cannot be given to a guest: no guest&#x27;s USB ports are redirected here."
    assert f'<p class="pair-wrong">hw:redirected_usb_ports=2 of the flavor {why}</p>' in page
    assert page.count("cannot be given to a guest") == 1
    image = cloud.image()
    Image.objects.filter(pk=image.pk).update(properties={"hw_disk_bus": "xen"})
    page = text(browser, f"/admin/servers/image/{image.pk}/change/")
    assert "hw_disk_bus=xen of the image cannot be given to a guest: disks are attached by one of virtio" in page


@pytest.mark.parametrize(
    ("keys", "values", "said"),
    [
        (["a", "a"], ["1", "2"], "a is there more than once."),
        (["", "b"], ["1", "2"], "The value 1 has no key."),
    ],
)
def test_rows_without_a_key_or_with_one_twice_are_refused_and_kept(browser, keys, values, said: str) -> None:
    sent = {"name": "m1", **SIZES, "extra_specs_key": keys, "extra_specs_value": values}
    answer = browser.post("/admin/servers/flavor/add/", sent)
    assert said in str(answer.context["adminform"].form.errors["extra_specs"])
    assert 'name="extra_specs_value" value="2"' in answer.content.decode()
    assert not Flavor.objects.exists()


def test_form_that_says_nothing_of_its_pairs_takes_none_away(browser) -> None:
    row = cloud.flavor()
    Flavor.objects.filter(pk=row.pk).update(extra_specs={"mine": "1"})
    answer = browser.post(f"/admin/servers/flavor/{row.pk}/change/", {"name": "m1", **SIZES})
    assert "extra_specs" in answer.context["adminform"].form.errors
    row.refresh_from_db()
    assert row.extra_specs == {"mine": "1"}


def test_name_that_is_taken_is_refused_at_its_field_and_what_was_typed_stays(browser) -> None:
    cloud.flavor("taken")
    sent = {"name": "taken", **SIZES, "description": "typed with care", **pairs("extra_specs", {"mine": "7"})}
    answer = browser.post("/admin/servers/flavor/add/", sent)
    assert "name" in answer.context["adminform"].form.errors
    page = answer.content.decode()
    assert "typed with care" in page
    assert 'value="7"' in page


def test_image_that_is_refused_keeps_its_properties(browser) -> None:
    row = cloud.image()
    sent = {
        "name": "typed",
        "visibility": "shared",
        "min_disk_gib": "0",
        "min_ram_mib": "0",
        **pairs("properties", {"hw_disk_bus": "pata", "mine": "yes"}),
        "members-TOTAL_FORMS": "0",
        "members-INITIAL_FORMS": "0",
    }
    answer = browser.post(f"/admin/servers/image/{row.pk}/change/", sent)
    page = answer.content.decode()
    assert "hw_disk_bus" in str(answer.context["adminform"].form.errors["properties"])
    assert 'value="pata"' in page
    assert 'value="typed"' in page
    assert Image.objects.get(pk=row.pk).name == row.name


def test_names_of_a_page_cost_one_query_for_each_kind(browser, people) -> None:
    for number in range(5):
        instance(people, f"vm-{number}")
    browser.get(LIST)
    with CaptureQueriesContext(connection) as seen:
        browser.get(LIST)
    assert len([one for one in seen if 'FROM "identity_project"' in one["sql"]]) == 1
