"""Providers, inventories and names as clients of the HTTP API change them: stricter than what drivers report."""

from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from placement.domain import InventorySpec, ProviderChanged, ProviderKind
from placement.domain.provider_errors import ParentRefused, ParentRule, ProviderTaken
from placement.selectors import provider_get
from placement.selectors.names import trait_names, unknown_resource_classes, unknown_traits
from placement.services import inventory_set, provider_aggregates_set, provider_traits_set
from placement.services.inventories import inventory_create, inventory_remove, inventory_update
from placement.services.names import (
    resource_class_delete,
    resource_class_ensure,
    resource_class_rename,
    trait_delete,
    trait_ensure,
)
from placement.services.providers import provider_create, provider_update

pytestmark = pytest.mark.django_db
VCPU = InventorySpec(4)


def made(parent: UUID | None = None) -> UUID:
    uuid = uuid4()
    provider_create(uuid, str(uuid), parent)
    return uuid


def test_provider_of_a_client_is_of_the_other_kind() -> None:
    assert provider_get(made()).kind is ProviderKind.OTHER


def test_taken_name_and_uuid_are_both_told() -> None:
    uuid = made()
    with pytest.raises(ProviderTaken) as caught:
        provider_create(uuid, str(uuid))
    assert caught.value.taken == {"uuid": str(uuid), "name": str(uuid)}


@pytest.mark.parametrize("name", ["create", "update"])
def test_provider_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        provider_create(uuid4(), "") if name == "create" else provider_update(made(), name="")


def test_refused_move_changes_nothing() -> None:
    root = made()
    child = made(root)
    with pytest.raises(ParentRefused) as caught:
        provider_update(root, name="renamed", parent_uuid=child)
    assert caught.value.rule is ParentRule.LOOP
    assert (provider_get(root).name, provider_get(root).parent_uuid) == (str(root), None)


def test_provider_that_is_not_there_cannot_change() -> None:
    with pytest.raises(NotFound):
        provider_update(uuid4(), name="a")
    with pytest.raises(NotFound):
        provider_update(uuid4(), name="a", parent_uuid=None)


def test_first_parent_may_be_set_by_clients_that_cannot_move() -> None:
    root, child = made(), made()
    provider_update(child, name="child", parent_uuid=root, may_move=False)
    assert provider_get(child).root_uuid == root


def test_stated_inventory_that_is_the_same_moves_the_generation_only_when_asked() -> None:
    uuid = made()
    assert inventory_set(uuid, {"VCPU": VCPU}).generation == 1
    assert inventory_set(uuid, {"VCPU": VCPU}).generation == 1
    assert inventory_set(uuid, {"VCPU": VCPU}, always_touch=True).generation == 2


def test_unknown_custom_class_is_made_only_for_drivers() -> None:
    uuid = made()
    with pytest.raises(Invalid) as caught:
        inventory_set(uuid, {"CUSTOM_A": VCPU}, make_custom=False)
    assert caught.value.extra["unknown"] == ["CUSTOM_A"]
    assert unknown_resource_classes(["CUSTOM_A", "VCPU"]) == {"CUSTOM_A"}


def test_inventory_is_created_once_and_updated_where_it_is() -> None:
    uuid = made()
    with pytest.raises(Invalid):
        inventory_update(uuid, "VCPU", VCPU, expected_generation=0)
    assert inventory_create(uuid, "VCPU", VCPU).generation == 1
    with pytest.raises(Conflict):
        inventory_create(uuid, "VCPU", VCPU)
    assert inventory_update(uuid, "VCPU", VCPU, expected_generation=1).generation == 2


def test_missing_inventory_is_removed_unless_it_must_be_there() -> None:
    uuid = made()
    assert inventory_remove(uuid, "VCPU").generation == 0
    with pytest.raises(NotFound):
        inventory_remove(uuid, "VCPU", must_exist=True)


def test_unknown_custom_trait_is_made_only_for_drivers() -> None:
    with pytest.raises(Invalid):
        provider_traits_set(made(), {"CUSTOM_A"}, make_custom=False)
    assert unknown_traits(["CUSTOM_A"]) == {"CUSTOM_A"}


def test_aggregates_keep_the_generation_for_old_clients_and_move_it_for_new_ones() -> None:
    uuid, aggregate = made(), uuid4()
    assert provider_aggregates_set(uuid, {aggregate}, keep_generation=True).generation == 0
    assert provider_aggregates_set(uuid, {aggregate}, expected_generation=0).generation == 1
    with pytest.raises(ProviderChanged):
        provider_aggregates_set(uuid, {aggregate}, expected_generation=0)


def test_custom_names_come_once_and_go() -> None:
    assert [resource_class_ensure("CUSTOM_A"), resource_class_ensure("CUSTOM_A")] == [True, False]
    assert [trait_ensure("CUSTOM_A"), trait_ensure("CUSTOM_A")] == [True, False]
    resource_class_rename("CUSTOM_A", "CUSTOM_B")
    resource_class_delete("CUSTOM_B")
    trait_delete("CUSTOM_A")
    assert unknown_resource_classes(["CUSTOM_A", "CUSTOM_B"]) == {"CUSTOM_A", "CUSTOM_B"}
    assert trait_names(prefix="CUSTOM_") == []


def test_standard_names_stay() -> None:
    for change in (
        lambda: resource_class_delete("VCPU"),
        lambda: resource_class_rename("VCPU", "CUSTOM_A"),
        lambda: resource_class_ensure("VCPU"),
        lambda: trait_delete("HW_CPU_X86_AVX"),
        lambda: trait_ensure("HW_CPU_X86_AVX"),
    ):
        with pytest.raises(Invalid):
            change()
