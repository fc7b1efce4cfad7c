"""The inventories of a provider: all, or one class."""

from collections.abc import Mapping

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, conflict, not_found
from placement.domain import InventoryInUse, InventorySpec, capacity_of
from placement.openstack.call import PlacementCall
from placement.openstack.faults import CONCURRENT_UPDATE, INVENTORY_INUSE
from placement.openstack.lookups import no_provider, provider_faults, provider_first, provider_uuid
from placement.openstack.schema_inventories import (
    INVENTORIES,
    INVENTORY_CREATE,
    INVENTORY_UPDATE,
    inventory_answer,
    inventory_spec,
)
from placement.openstack.shapes import InventoriesShown, ProviderInventoryShown
from placement.selectors.names import in_catalogue_order, unknown_resource_classes
from placement.selectors.usage import ProviderInventories, provider_inventories
from placement.services.inventories import (
    inventory_create as inventory_row_create,
)
from placement.services.inventories import (
    inventory_remove,
    inventory_set,
)
from placement.services.inventories import (
    inventory_update as inventory_row_update,
)

ALL_RESERVED_SINCE = 26

_NO_CLASS = "No such resource class"


def _found(uuid: str) -> ProviderInventories:
    found = provider_inventories(provider_uuid(uuid))
    if found is None:
        raise no_provider(uuid)
    return found


def inventory_list(call: PlacementCall, uuid: str) -> JsonAnswer[InventoriesShown]:
    found = _found(uuid)
    specs = {name: inventory.spec for name, inventory in found.inventories.items()}
    return _all(call, specs, found.generation)


def _all(call: PlacementCall, specs: Mapping[str, InventorySpec], generation: int) -> JsonAnswer[InventoriesShown]:
    inventories = {name: inventory_answer(spec) for name, spec in specs.items()}
    return call.answer({"resource_provider_generation": generation, "inventories": inventories})


def inventory_show(call: PlacementCall, uuid: str, resource_class: str) -> JsonAnswer[ProviderInventoryShown]:
    found = _found(uuid)
    inventory = found.inventories.get(resource_class)
    if inventory is None:
        raise not_found(f"No inventory of class {resource_class} for {uuid}")
    return _one(call, inventory.spec, found.generation)


def _one(
    call: PlacementCall,
    spec: InventorySpec,
    generation: int,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> JsonAnswer[ProviderInventoryShown]:
    data: ProviderInventoryShown = {**inventory_answer(spec), "resource_provider_generation": generation}
    return call.answer(data, status=status, headers=headers)


def inventory_create(call: PlacementCall, uuid: str) -> JsonAnswer[ProviderInventoryShown]:
    """A class that the provider has none of yet."""
    prefix = f"Unable to create inventory for resource provider {uuid}"
    with provider_first(uuid):
        data = call.body(INVENTORY_CREATE)
        name, spec = data["resource_class"], inventory_spec(data)
        _check_capacity(call, prefix, uuid, {name: spec})
    try:
        with provider_faults(uuid):
            provider = inventory_row_create(provider_uuid(uuid), name, spec)
    except Conflict as error:
        raise conflict(f"Update conflict: {error.message}", CONCURRENT_UPDATE) from error
    except Invalid as error:
        raise _unknown(prefix, error) from error
    location = call.absolute_url("resource_providers", uuid, "inventories", name)
    return _one(call, spec, provider.generation, status=201, headers={"Location": location})


def _unknown(prefix: str, error: Invalid) -> ApiFault:
    names = error.extra.get("unknown")
    return bad_request(f"{prefix}: {error.message}" if names is None else f"{prefix}: {_NO_CLASS} {', '.join(names)}.")


def _check_capacity(call: PlacementCall, prefix: str, uuid: str, specs: Mapping[str, InventorySpec]) -> None:
    """Below 1.26 something must be left of an inventory; since then all of it may be reserved."""
    minimum, rule = (
        (0, "greater than total") if call.minor >= ALL_RESERVED_SINCE else (1, "greater than or equal to total")
    )
    for name, spec in specs.items():
        if capacity_of(total=spec.total, reserved=spec.reserved, allocation_ratio=spec.allocation_ratio) < minimum:
            raise bad_request(
                f"{prefix}: Invalid inventory for '{name}' on resource provider '{uuid}'. The reserved value is {rule}."
            )


def inventory_replace_all(call: PlacementCall, uuid: str) -> JsonAnswer[InventoriesShown]:
    """Make these its inventories. The generation moves even when nothing changes."""
    with provider_first(uuid):
        data = call.body(INVENTORIES)
    specs = {name: inventory_spec(stated) for name, stated in data["inventories"].items()}
    generation = data["resource_provider_generation"]
    with provider_first(uuid, generation):
        _check_capacity(call, f"Unable to update inventory for resource provider {uuid}", uuid, specs)
    try:
        with provider_faults(uuid):
            provider = inventory_set(
                provider_uuid(uuid),
                specs,
                expected_generation=generation,
                always_touch=True,
                make_custom=False,
            )
    except InventoryInUse as error:
        raise conflict(f"update conflict: {_in_use(uuid, error)}", INVENTORY_INUSE) from error
    except Invalid as error:
        raise _unknown(f"Unknown resource class in inventory for resource provider {uuid}", error) from error
    return _all(call, specs, provider.generation)


def _in_use(uuid: str, error: InventoryInUse) -> str:
    names = ", ".join(in_catalogue_order(error.extra["in_use"]))
    return f"Inventory for '{names}' on resource provider '{uuid}' in use."


def inventory_delete_all(call: PlacementCall, uuid: str) -> Empty:
    """Take all of them away, whatever the generation."""
    try:
        with provider_faults(uuid):
            inventory_set(provider_uuid(uuid), {}, always_touch=True)
    except InventoryInUse as error:
        raise conflict(_in_use(uuid, error), INVENTORY_INUSE) from error
    return call.empty()


def inventory_update(call: PlacementCall, uuid: str, resource_class: str) -> JsonAnswer[ProviderInventoryShown]:
    """A class that the provider has, anew."""
    with provider_first(uuid):
        data = call.body(INVENTORY_UPDATE)
    spec, generation = inventory_spec(data), data["resource_provider_generation"]
    with provider_first(uuid, generation):
        _check_capacity(call, f"Unable to update inventory for resource provider {uuid}", uuid, {resource_class: spec})
    try:
        with provider_faults(uuid):
            provider = inventory_row_update(
                provider_uuid(uuid),
                resource_class,
                spec,
                expected_generation=generation,
            )
    except Invalid as error:
        if unknown_resource_classes([resource_class]):
            raise not_found(f"No such resource class {resource_class}.") from error
        raise bad_request(
            f"No inventory record with resource class for resource provider {uuid}: {error.message}"
        ) from error
    return _one(call, spec, provider.generation)


def inventory_delete(call: PlacementCall, uuid: str, resource_class: str) -> Empty:
    """Take one class away, whatever the generation."""
    provider = provider_uuid(uuid)
    try:
        inventory_remove(provider, resource_class, must_exist=True)
    except InventoryInUse as error:
        raise conflict(
            f"Unable to delete inventory of class {resource_class}: {_in_use(uuid, error)}", CONCURRENT_UPDATE
        ) from error
    except NotFound as error:
        if "resource_class" not in error.extra:
            raise no_provider(uuid) from error
        raise not_found(f"No inventory of class {resource_class} found for delete") from error
    return call.empty()
