import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client

from controlplane.identity.models import User
from servers.catalog.domain.public_keys import new_key
from servers.models import Flavor, Image, Instance, KeyPair, Network
from tests.worlds import cloud
from tests.worlds.admin_actions import pairs

pytestmark = pytest.mark.django_db
SIZES = {"vcpus": 1, "memory_mib": 64, "root_gib": 0, "ephemeral_gib": 0, "swap_mib": 0, "is_public": "on"}


@pytest.fixture
def browser(settings, tmp_path) -> Client:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path}
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss", password="x"))
    return client


INLINE = {"ImageTag", "InstanceTag", "InstanceActionEvent", "ServerGroupMember"}
MODELS = [model for model in apps.get_app_config("servers").get_models() if model.__name__ not in INLINE]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_is_listed_and_searched(browser, model):
    assert admin.site.is_registered(model)
    name = model._meta.model_name
    query = "?q=a" if admin.site._registry[model].search_fields else ""
    assert browser.get(f"/admin/servers/{name}/{query}").status_code == 200


def test_instance_is_shown_but_not_saved(browser):
    row = Instance.objects.create(
        name="vm",
        project_id=cloud.people().member.project_id,
        user_id=cloud.uuid.uuid4(),
        flavor={},
        vcpus=1,
        memory_mib=1,
    )
    path = f"/admin/servers/instance/{row.pk}/change/"
    assert browser.get(path).status_code == 200
    assert browser.post(path, {"vm_state": "active"}).status_code == 403
    row.refresh_from_db()
    assert row.vm_state == "building"


def test_flavor_is_added_through_the_service(browser):
    browser.post("/admin/servers/flavor/add/", {"name": "m1", **SIZES, **pairs("extra_specs", {})})
    assert Flavor.objects.get().memory_mib == 64


def test_bad_flavor_is_refused_at_its_field(browser):
    shown = browser.post(
        "/admin/servers/flavor/add/",
        {"name": "m1", **SIZES, "vcpus": 0, **pairs("extra_specs", {"hw:cpu_policy": "x"})},
    )
    errors = shown.context["adminform"].form.errors
    assert "it must be one of dedicated" in str(errors["extra_specs"])
    assert "vcpus" in errors
    assert not Flavor.objects.exists()


def test_contradiction_of_a_flavor_is_told_at_its_extra_specs(browser):
    row = cloud.flavor()
    shown = browser.post(
        f"/admin/servers/flavor/{row.pk}/change/",
        {"name": "m1", **SIZES, **pairs("extra_specs", {"hw:cpu_policy": "mixed"})},
    )
    (reported,) = shown.context["adminform"].form.errors["extra_specs"]
    assert (
        reported
        == "hw:cpu_policy: mixed needs hw:cpu_dedicated_mask or hw:cpu_realtime to say which CPUs are dedicated."
    )
    row.refresh_from_db()
    assert row.extra_specs == {}


def test_flavor_from_before_the_rules_is_renamed(browser):
    row = Flavor.objects.create(name="old", vcpus=1, memory_mib=64, extra_specs={"hw:gone": "1"})
    browser.post(
        f"/admin/servers/flavor/{row.pk}/change/", {"name": "new", **SIZES, **pairs("extra_specs", {"hw:gone": "1"})}
    )
    row.refresh_from_db()
    assert (row.name, row.extra_specs) == ("new", {"hw:gone": "1"})


def test_flavor_is_changed_disabled_and_deleted(browser):
    row = cloud.flavor()
    browser.post(f"/admin/servers/flavor/{row.pk}/change/", {"name": "renamed", **SIZES, **pairs("extra_specs", {})})
    row.refresh_from_db()
    assert (row.name, row.extra_specs) == ("renamed", {})
    browser.post("/admin/servers/flavor/", {"action": "disable", "_selected_action": [str(row.pk)]})
    row.refresh_from_db()
    assert row.disabled
    browser.post(f"/admin/servers/flavor/{row.pk}/delete/", {"post": "yes"})
    assert not Flavor.objects.exists()


def test_protected_image_is_not_deleted(browser):
    row = cloud.image(protected=True)
    answered = browser.post(f"/admin/servers/image/{row.pk}/delete/", {"post": "yes"}, follow=True)
    assert "is protected" in answered.content.decode()
    row.refresh_from_db()
    assert row.status == "active"


def test_images_are_deactivated_by_an_action(browser):
    active, queued = cloud.image("a"), cloud.image("b", status="queued")
    answered = browser.post(
        "/admin/servers/image/",
        {"action": "deactivate", "_selected_action": [str(active.pk), str(queued.pk)]},
        follow=True,
    )
    assert "cannot become deactivated" in answered.content.decode()
    assert set(Image.objects.values_list("name", "status")) == {("a", "deactivated"), ("b", "queued")}


def test_key_pair_is_added_with_its_fingerprint_and_not_changed(browser):
    user = User.objects.get(username="boss")
    line = new_key("x").public.line
    browser.post("/admin/servers/keypair/add/", {"user": str(user.pk), "name": "k", "public_key": line})
    row = KeyPair.objects.get()
    assert len(row.fingerprint) == 47
    assert browser.post(f"/admin/servers/keypair/{row.pk}/change/", {"name": "other"}).status_code == 403


def test_what_only_the_service_refuses_is_a_message(browser, settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_KEY_PAIRS": 0}
    user, line = User.objects.get(username="boss"), new_key("x").public.line
    answered = browser.post(
        "/admin/servers/keypair/add/", {"user": str(user.pk), "name": "k", "public_key": line}, follow=True
    )
    assert "key_pairs: 1 asked for, 0 of 0 in use." in answered.content.decode()
    assert not KeyPair.objects.exists()


def test_bad_public_key_is_refused_in_the_form(browser):
    user = User.objects.get(username="boss")
    shown = browser.post("/admin/servers/keypair/add/", {"user": str(user.pk), "name": "k", "public_key": "x"})
    assert "public_key" in shown.context["adminform"].form.errors


def test_network_is_added_as_the_new_default(browser):
    Network.objects.create(name="old", hypervisor_network="default", is_default=True)
    browser.post(
        "/admin/servers/network/add/",
        {"name": "new", "kind": "hypervisor", "hypervisor_network": "default", "make_default": "on"},
    )
    assert list(Network.objects.filter(is_default=True).values_list("name", flat=True)) == ["new"]


def test_who_may_only_look_changes_no_flavor_and_no_image(browser):
    staff = User.objects.create_user(username="viewer", password="x", is_staff=True)
    staff.user_permissions.set(
        Permission.objects.filter(content_type__app_label="servers", codename__startswith="view")
    )
    viewer = Client()
    viewer.force_login(staff)
    flavor, image = cloud.flavor(), cloud.image()
    viewer.post("/admin/servers/flavor/", {"action": "disable", "_selected_action": [str(flavor.pk)]})
    viewer.post("/admin/servers/image/", {"action": "deactivate", "_selected_action": [str(image.pk)]})
    flavor.refresh_from_db()
    image.refresh_from_db()
    assert (flavor.disabled, image.status) == (False, "active")
