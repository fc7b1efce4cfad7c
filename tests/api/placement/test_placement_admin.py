"""Placement in Django's admin."""

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from placement.models import Inventory, ResourceClass, ResourceProvider, Trait
from placement.selectors import fleet_usage, provider_find, provider_get, provider_traits_by_uuid

pytestmark = pytest.mark.django_db
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


def test_restated_inventory_goes_through_the_service(browser, world):
    row, generation = inventory_of(world), provider_get(world.first).generation

    answer = browser.post(url("inventory", "change", row.pk), {**NUMBERS, "used": 0, "capacity": 99})

    assert answer.status_code == 302
    usage = fleet_usage([world.first])[world.first]["VCPU"]
    assert (usage.total, usage.capacity, usage.used) == (6, 7, 3)
    assert provider_get(world.first).generation == generation + 1


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

    answer = browser.post(
        url("resourceprovider", "changelist"), {"action": "delete_unused", "_selected_action": pks}, follow=True
    )

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
