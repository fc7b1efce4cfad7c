"""What the services refuse, as this API's clients read it: statuses, codes and sentences of the original."""

from collections.abc import Callable
from typing import Any

from controlplane.kernel.errors import Conflict, Invalid, KilonovaError, NoCapacity
from controlplane.openstack.faults import ApiFault, bad_request, conflict
from placement.domain import AmountRule, ConsumerChanged, InventoryInUse, ProviderChanged
from placement.openstack.faults import CONCURRENT_UPDATE, INVENTORY_INUSE, RESOURCE_PROVIDER_NOT_FOUND


def written(write: Callable[[], None], *, subject: str = "") -> None:
    """Do it; a refusal becomes a Fault. `subject` says whose allocations these are, where it is one consumer."""
    try:
        write()
    except Invalid as error:
        raise _invalid(error, subject) from error
    except (Conflict, NoCapacity) as error:
        raise _conflict(error) from error


def _conflict(error: KilonovaError) -> ApiFault:
    if isinstance(error, InventoryInUse):
        return conflict(_in_use(error), INVENTORY_INUSE)
    if isinstance(error, NoCapacity):
        shortages = error.extra.get("shortages")
        text = " ".join(map(_shortage, shortages)) if shortages else error.message
        return conflict(f"Unable to allocate inventory: {text}")
    return conflict(_changed(error), CONCURRENT_UPDATE)


def _changed(error: KilonovaError) -> str:
    if isinstance(error, ConsumerChanged):
        actual, sent = error.extra["actual"], error.extra["expected"]
        return f"consumer generation conflict - expected {_or_null(actual)} but got {_or_null(sent)}"
    if isinstance(error, ProviderChanged):
        uuid, actual, given = (error.extra[name] for name in ("provider_uuid", "generation", "expected"))
        return f"resource provider generation conflict for provider {uuid}: actual: {actual}, given: {given}"
    return f"Inventory and/or allocations changed while attempting to allocate: {error.message}"


def _or_null(generation: int | None) -> str:
    return "null" if generation is None else str(generation)


def _in_use(error: InventoryInUse) -> str:
    names = ", ".join(error.extra["in_use"])
    return f"update conflict: Inventory for '{names}' on resource provider '{error.extra['provider_uuid']}' in use."


def _shortage(shortage: dict[str, Any]) -> str:
    where = f"'{shortage['resource_class']}' on resource provider '{shortage['provider_uuid']}'"
    wanted, rule = shortage["wanted"], shortage["rule"]
    if rule == AmountRule.NO_INVENTORY:
        return f"Inventory for {where} invalid: there is none."
    if rule == AmountRule.CAPACITY:
        numbers = f"wanted {wanted}, free {shortage['free']}"
        return f"No allocation of {where}. The requested amount would exceed the capacity ({numbers})."
    numbers = f"{rule} {shortage['limit']}, wanted {wanted}"
    return f"No allocation of {where}. The requested amount would violate inventory constraints ({numbers})."


def _invalid(error: Invalid, subject: str) -> ApiFault:
    unknown = ", ".join(error.extra.get("unknown", ()))
    if error.field == "resource_provider":
        if error.extra.get("where") == "inventories":
            return bad_request(f"Resource provider {unknown} in inventories not found.", RESOURCE_PROVIDER_NOT_FOUND)
        return bad_request(f"Allocation for resource provider '{unknown}' that does not exist.")
    if error.field == "resource_class":
        return bad_request(f"Unable to allocate inventory{subject}: No such resource class {unknown}.")
    if error.field == "resources":
        # An amount above any max_unit. The original finds that where it compares, so it is a conflict there.
        return conflict(f"Unable to allocate inventory: {error.message} This would violate inventory constraints.")
    return bad_request(error.message)
