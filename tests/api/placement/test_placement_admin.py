"""Placement in Django's admin."""

from uuid import UUID, uuid4

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from placement.domain import MAX_INT, Claim, TraitOwner
from placement.models import Inventory, ResourceClass, ResourceProvider, Trait
from placement.selectors import fleet_usage, provider_find, provider_get, provider_traits_by_uuid
from placement.selectors.providers import aggregate_uuids_of, trait_owners
from placement.services import allocations_claim, provider_traits_set
from tests.worlds.admin_actions import ask_and_confirm

pytestmark = pytest.mark.django_db
PROJECT = UUID(int=7)
MODELS = [model for model in django_admin.site._registry if model._meta.app_label == "placement"]
NUMBERS = {"total": 6, "reserved": 1, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1.5}


def url(model: str, page: str, *args: object) -> str:
    return reverse(f"admin:placement_{model}_{page}", args=args)


def inventory_of(world) -> Inventory:
    return Inventory.objects.get(provider__uuid=world.first, resource_class__name="VCPU")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_list_opens_and_can_be_searched(browser, world, model):
    assert browser.get(url(model._meta.model_name, "changelist"), {"q": "host"}).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_row_opens(browser, world, model):
    row = model.objects.first()
    if row is not None:
        assert browser.get(url(model._meta.model_name, "change", row.pk)).status_code == 200


def state(browser, row, numbers=None, **more):
    return browser.post(url("inventory", "change", row.pk), {**NUMBERS, **(numbers or {}), **more})


def vcpu_of(world):
    return fleet_usage([world.first])[world.first]["VCPU"]


def test_valid_numbers_show_their_effect_and_save_nothing(browser, world):
    answer = state(browser, inventory_of(world), total=2, allocation_ratio=1)

    assert (answer.status_code, vcpu_of(world).total) == (200, 4)
    effect = answer.context["effect"]
    assert ("total", "4", "2") in effect.changes
    assert ("capacity", "8", "1") in effect.changes
    assert "over-committed by 2; no new claims of VCPU" in answer.content.decode()


def test_confirmed_numbers_go_through_the_service(browser, world):
    row, generation = inventory_of(world), provider_get(world.first).generation

    answer = state(browser, row, used=0, capacity=99, confirmed_generation=generation)

    assert answer.status_code == 302
    usage = vcpu_of(world)
    assert (usage.total, usage.capacity, usage.used) == (6, 7, 3)
    assert provider_get(world.first).generation == generation + 1


def test_the_page_with_the_effect_carries_all_that_saving_needs(browser, world):
    page = state(browser, inventory_of(world))
    posted = {**dict(page.context["posted"]), page.context["confirmed"]: page.context["effect"].generation}

    browser.post(url("inventory", "change", inventory_of(world).pk), posted)

    assert vcpu_of(world).total == 6


def test_a_change_since_the_effect_was_shown_shows_the_new_effect_instead_of_saving(browser, world):
    row, seen = inventory_of(world), provider_get(world.first).generation
    allocations_claim([Claim(uuid4(), PROJECT, UUID(int=8), {world.first: {"VCPU": 4}})])

    answer = state(browser, row, confirmed_generation=seen)

    assert (answer.status_code, vcpu_of(world).total) == (200, 4)
    assert "Something changed on this provider" in answer.content.decode()
    assert (answer.context["effect"].before.used, answer.context["effect"].generation) == (7, seen + 1)


@pytest.mark.parametrize("generation", ["", "x", "-1", "²"])
def test_a_generation_that_is_none_saves_nothing(generation, browser, world):
    state(browser, inventory_of(world), confirmed_generation=generation)

    assert vcpu_of(world).total == 4


def test_the_same_numbers_need_no_confirmation(browser, world):
    before = provider_get(world.first).generation
    same = {"total": 4, "reserved": 0, "max_unit": MAX_INT, "allocation_ratio": 2.0}

    assert state(browser, inventory_of(world), same).status_code == 302
    assert provider_get(world.first).generation == before


def test_the_page_with_the_effect_needs_no_inline_code(browser, world):
    answer = state(browser, inventory_of(world))

    text = answer.content.decode()
    assert [bad for bad in (" style=", "<style", "<script>", " onclick=", "javascript:") if bad in text] == []
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_who_may_only_look_gets_no_effect_page(db, world):
    viewer = User.objects.create_user(username="viewer", password="a-long-password", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_inventory"))
    client = Client()
    client.force_login(viewer)

    answer = state(client, inventory_of(world), confirmed_generation=provider_get(world.first).generation)

    assert (answer.status_code, vcpu_of(world).total) == (403, 4)


def test_unused_inventories_are_removed_by_action_and_used_ones_stay(browser, world):
    pks = list(Inventory.objects.values_list("pk", flat=True))

    page = ask_and_confirm(browser, url("inventory", "changelist"), "remove_unused", [str(pk) for pk in pks])

    assert set(fleet_usage()[world.first]) == {"VCPU", "MEMORY_MB"}
    assert fleet_usage()[world.second] == {}
    assert "is in use" in page.content.decode()


def provider_form(browser, world, traits, aggregates, **more):
    page = url("resourceprovider", "change", ResourceProvider.objects.get(uuid=world.first).pk)
    seen = browser.get(page).context["adminform"].form["seen"].value()
    empty = {
        f"{prefix}-{name}": 0
        for prefix in ("inventories", "trait_rows", "allocations")
        for name in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    posted = {**empty, "operator_traits": traits, "aggregates": aggregates, "seen": seen, **more}
    return browser.post(page, posted, follow=True)


def test_operators_traits_and_aggregates_are_edited_and_drivers_stay(browser, world):
    other = uuid4()

    provider_form(browser, world, "CUSTOM_GOLD\r\nHW_CPU_X86_AVX2", str(other))

    assert trait_owners(world.first) == {
        "HW_CPU_X86_AVX": TraitOwner.DRIVER,
        "HW_CPU_X86_AVX2": TraitOwner.OPERATOR,
        "CUSTOM_GOLD": TraitOwner.OPERATOR,
    }
    assert aggregate_uuids_of(world.first) == {other}


@pytest.mark.parametrize(
    ("traits", "aggregates", "reported"),
    [("HW_MADE_UP", "", "No such trait: HW_MADE_UP"), ("", "rack-7", "Not a uuid: rack-7")],
)
def test_traits_and_aggregates_that_cannot_be_are_told_at_the_field(traits, aggregates, reported, browser, world):
    page = provider_form(browser, world, traits, aggregates)

    assert reported in page.content.decode()
    assert aggregate_uuids_of(world.first) == {world.aggregate}


def test_traits_that_somebody_else_set_meanwhile_are_shown_and_kept_until_saved_again(browser, world):
    provider_traits_set(world.first, {"CUSTOM_THEIRS"}, owner=TraitOwner.OPERATOR)

    first = provider_form(browser, world, "CUSTOM_MINE", "", seen=str(world.aggregate))
    assert "CUSTOM_THEIRS" in first.content.decode()
    assert "CUSTOM_MINE" not in trait_owners(world.first)

    provider_form(browser, world, "CUSTOM_MINE", "", seen=first.context["adminform"].form["seen"].value())
    assert "CUSTOM_MINE" in trait_owners(world.first)
    assert "CUSTOM_THEIRS" not in trait_owners(world.first)


@pytest.mark.parametrize("wrong", [{"reserved": 7}, {"total": 0}, {"allocation_ratio": -1}, {"step_size": ""}])
def test_impossible_inventory_is_shown_and_not_saved(browser, world, wrong):
    row = inventory_of(world)

    answer = browser.post(url("inventory", "change", row.pk), {**NUMBERS, **wrong})

    assert answer.status_code == 200
    assert fleet_usage([world.first])[world.first]["VCPU"].total == 4


def test_providers_are_disabled_and_enabled_by_action(browser, world):
    pk = ResourceProvider.objects.get(uuid=world.first).pk
    for action, expected in (("disable", True), ("enable", False)):
        browser.post(url("resourceprovider", "changelist"), {"action": action, "_selected_action": [pk]})
        assert ("COMPUTE_STATUS_DISABLED" in provider_traits_by_uuid([world.first])[world.first]) is expected


def test_provider_in_use_survives_the_delete_action_and_the_other_goes(browser, world):
    pks = list(ResourceProvider.objects.values_list("pk", flat=True))

    answer = ask_and_confirm(browser, url("resourceprovider", "changelist"), "delete_unused", [str(pk) for pk in pks])

    assert "hold allocations" in answer.content.decode()
    assert provider_find(world.first) is not None
    assert provider_find(world.second) is None


@pytest.mark.parametrize("model", ["allocation", "consumer", "inventory", "resourceprovider"])
def test_rows_are_never_added_by_hand(browser, model):
    assert browser.get(url(model, "add")).status_code == 403


def test_custom_names_are_added_and_standard_ones_are_not(browser):
    browser.post(url("resourceclass", "add"), {"name": "CUSTOM_FPGA"})
    browser.post(url("trait", "add"), {"name": "HW_MADE_UP"})

    assert ResourceClass.objects.filter(name="CUSTOM_FPGA").exists()
    assert not Trait.objects.filter(name="HW_MADE_UP").exists()


def test_standard_names_are_not_deleted(browser):
    row = Trait.objects.get(name="HW_CPU_X86_AVX")

    assert browser.post(url("trait", "delete", row.pk), {"post": "yes"}).status_code == 403
