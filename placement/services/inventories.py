"""Inventories are stated whole (a driver's report), or one class at a time (an operator)."""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from uuid import UUID

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import InventoryInUse, InventorySpec, ProviderView
from placement.models import Inventory, ResourceProvider
from placement.selectors.providers import provider_get
from placement.services.locks import provider_lock, providers_touch
from placement.services.names import resource_class_ids

SPEC_FIELDS = ["total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"]

Specs = Mapping[str, InventorySpec]


@audited("provider.inventory_set", ResourceProvider, by="provider_uuid", key="uuid")
def inventory_set(
    provider_uuid: UUID,
    inventories: Specs,
    *,
    expected_generation: int | None = None,
    always_touch: bool = False,
    make_custom: bool = True,
) -> ProviderView:
    """Make these the provider's inventories, all of them. Nothing is written, nor locked, when they are so already.

    With `always_touch` even that is a change, as in Placement: the generation moves. Missing CUSTOM_ classes are
    made, if `make_custom`. Shrinking below what is used is allowed; removing a class that is in use raises
    InventoryInUse. Raises Invalid, NotFound, and ProviderChanged when `expected_generation` is not the present one.
    """
    for name, spec in inventories.items():
        spec.check(name)
    wanted = dict(inventories)
    if expected_generation is None and not always_touch and _stated(provider_uuid) == wanted:
        return provider_get(provider_uuid)
    options = ChangeOptions(expected_generation, always_touch=always_touch, make_custom=make_custom)
    return _change(provider_uuid, lambda _: wanted, options)


@audited("provider.inventory_put", ResourceProvider, by="provider_uuid", key="uuid", also=("resource_class",))
def inventory_put(
    provider_uuid: UUID, resource_class: str, spec: InventorySpec, *, expected_generation: int | None = None
) -> ProviderView:
    """State one class, leaving the others. Errors as `inventory_set`."""
    spec.check(resource_class)
    return _change(provider_uuid, lambda present: {**present, resource_class: spec}, ChangeOptions(expected_generation))


@audited("provider.inventory_create", ResourceProvider, by="provider_uuid", key="uuid", also=("resource_class",))
def inventory_create(provider_uuid: UUID, resource_class: str, spec: InventorySpec) -> ProviderView:
    """State a class that the provider lacks and that exists: one it has raises Conflict, an unknown one Invalid."""
    spec.check(resource_class)

    def with_it(present: Specs) -> Specs:
        if resource_class in present:
            raise Conflict(
                _("The provider has an inventory of {resource_class} already.", resource_class=resource_class),
                field="resource_class",
            )
        return {**present, resource_class: spec}

    return _change(provider_uuid, with_it, ChangeOptions(make_custom=False))


@audited("provider.inventory_update", ResourceProvider, by="provider_uuid", key="uuid", also=("resource_class",))
def inventory_update(
    provider_uuid: UUID, resource_class: str, spec: InventorySpec, *, expected_generation: int
) -> ProviderView:
    """State a class anew that the provider has; a lacking one raises Invalid. The generation moves in any case."""
    spec.check(resource_class)

    def with_it(present: Specs) -> Specs:
        if resource_class not in present:
            raise Invalid(
                _("The provider has no inventory of {resource_class}.", resource_class=resource_class),
                field="resource_class",
            )
        return {**present, resource_class: spec}

    return _change(provider_uuid, with_it, ChangeOptions(expected_generation, always_touch=True))


@audited("provider.inventory_remove", ResourceProvider, by="provider_uuid", key="uuid", also=("resource_class",))
def inventory_remove(
    provider_uuid: UUID, resource_class: str, *, expected_generation: int | None = None, must_exist: bool = False
) -> ProviderView:
    """Take one class away, leaving the others. When it is not there nothing happens, or NotFound if it `must_exist`.

    Errors as `inventory_set`.
    """

    def without(present: Specs) -> Specs:
        if must_exist and resource_class not in present:
            raise NotFound(
                _("The provider has no inventory of {resource_class}.", resource_class=resource_class),
                resource_class=resource_class,
            )
        return {name: spec for name, spec in present.items() if name != resource_class}

    return _change(provider_uuid, without, ChangeOptions(expected_generation))


def _stated(provider_uuid: UUID) -> dict[str, InventorySpec]:
    rows = Inventory.objects.filter(provider__uuid=provider_uuid).values_list("resource_class__name", *SPEC_FIELDS)
    return {name: InventorySpec(*numbers) for name, *numbers in rows}


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """How strict a change is; see `inventory_set`."""

    expected_generation: int | None = None
    always_touch: bool = False
    make_custom: bool = True


def _change(provider_uuid: UUID, change: Callable[[Specs], Specs], options: ChangeOptions) -> ProviderView:
    def work() -> None:
        provider = provider_lock(provider_uuid, expected_generation=options.expected_generation)
        rows = {row.resource_class.name: row for row in provider.inventories.select_related("resource_class")}
        present = {name: _spec_of(row) for name, row in rows.items()}
        wanted = change(present)
        if wanted != present:
            _write(provider, rows, wanted, make_custom=options.make_custom)
        if wanted != present or options.always_touch:
            providers_touch([provider.pk])

    in_transaction(work)
    return provider_get(provider_uuid)


def _spec_of(row: Inventory) -> InventorySpec:
    return InventorySpec(
        total=row.total,
        reserved=row.reserved,
        min_unit=row.min_unit,
        max_unit=row.max_unit,
        step_size=row.step_size,
        allocation_ratio=row.allocation_ratio,
    )


def _write(provider: ResourceProvider, rows: Mapping[str, Inventory], wanted: Specs, *, make_custom: bool) -> None:
    _remove(provider, [row for name, row in rows.items() if name not in wanted])
    remaining = [(row, wanted[name]) for name, row in rows.items() if name in wanted]
    changed = [_stated_anew(row, spec) for row, spec in remaining if _spec_of(row) != spec]
    Inventory.objects.bulk_update(changed, [*SPEC_FIELDS, "capacity", "used_when_set"])
    fresh = {name: spec for name, spec in wanted.items() if name not in rows}
    if fresh:
        ids = resource_class_ids(fresh.keys(), make_custom=make_custom)
        Inventory.objects.bulk_create(
            _stated_anew(Inventory(provider=provider, resource_class_id=ids[name]), spec)
            for name, spec in fresh.items()
        )


def _remove(provider: ResourceProvider, rows: list[Inventory]) -> None:
    in_use = {row.resource_class.name: row.used for row in rows if row.used}
    if in_use:
        named = ", ".join(f"{name} ({used} used)" for name, used in sorted(in_use.items()))
        raise InventoryInUse(
            _("Inventory of {provider} is in use: {named}.", provider=provider.name, named=named),
            field="inventories",
            provider_uuid=provider.uuid,
            in_use=in_use,
        )
    if rows:
        Inventory.objects.filter(pk__in=[row.pk for row in rows]).delete()


def _stated_anew(row: Inventory, spec: InventorySpec) -> Inventory:
    """The row with new numbers. What is used now may stay, even above the new capacity; more may not come."""
    for name, value in zip(SPEC_FIELDS, astuple(spec), strict=True):
        setattr(row, name, value)
    row.capacity = spec.capacity
    row.used_when_set = row.used
    return row
