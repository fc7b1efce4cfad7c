"""Reshape: inventories of several providers and allocations of many consumers, restated in one transaction.

So a class can move to another provider, a device to a child of its host, while it is in use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from uuid import UUID

from controlplane.infra.db import in_transaction, rows_run
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.domain import ConsumerState, InventorySpec, check_states
from placement.domain.errors import InventoryInUse, provider_changed
from placement.models import Inventory
from placement.services.allocation_writer import Locked, allocations_rewrite, class_ids, held_by, names_asked
from placement.services.consumers import consumers_upsert, generations_check
from placement.services.locks import Touched, providers_touch
from placement.services.replace import known_check

Stated = Mapping[UUID, tuple[int, Mapping[str, InventorySpec]]]

# What is used stays, and is excused from the new capacity until it is given back (see the guard).
_STATE = """
INSERT INTO placement_inventory (provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size,
                                 allocation_ratio, capacity, used, used_when_set)
{rows}
ON CONFLICT (provider_id, resource_class_id) DO UPDATE
   SET total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
       max_unit = excluded.max_unit, step_size = excluded.step_size, allocation_ratio = excluded.allocation_ratio,
       capacity = excluded.capacity, used_when_set = placement_inventory.used
"""
_STATE_TYPES = (*("bigint",) * 7, "double precision", *("bigint",) * 3)
_BUMP = """
WITH bump(provider, extra) AS ({rows})
UPDATE placement_resourceprovider SET generation = generation + bump.extra FROM bump WHERE id = bump.provider
"""


def reshape(inventories: Stated, states: Sequence[ConsumerState]) -> None:
    """Give each provider these inventories and no others, each consumer this state, or change nothing at all.

    `inventories`: {provider: (generation that the caller has seen, {class: spec})}. Raises Invalid (as
    `allocations_replace`; extra `where` "inventories" for a provider that is unknown there), ProviderChanged,
    ConsumerChanged, InventoryInUse for a class that goes while consumers keep some of it, NoCapacity.
    """
    check_states(states)
    for _rest, specs in inventories.values():
        for name, spec in specs.items():
            spec.check(name)
    if inventories or states:
        in_transaction(lambda: _reshape(inventories, states))


def _reshape(inventories: Stated, states: Sequence[ConsumerState]) -> None:
    consumers = consumers_upsert(states)
    held = held_by([consumer.id for consumer in consumers.values() if consumer.before is not None])
    asked, names = names_asked(states)
    providers = providers_touch({one.provider_id for one in held}, uuids=asked | set(inventories))
    _providers_check(inventories, providers)
    generations_check(states, consumers)
    known_check("resource_provider", asked, providers)
    names |= {name for _, specs in inventories.values() for name in specs}
    classes = class_ids(names)
    known_check("resource_class", names, classes)
    _state(inventories, providers, classes)
    allocations_rewrite(states, Locked(consumers, providers, classes, held))
    _remove(inventories, providers, classes)
    _bump(inventories, providers, {one.provider_id for one in held} | {providers[uuid].id for uuid in asked})


def _providers_check(inventories: Stated, providers: Mapping[UUID, Touched]) -> None:
    unknown = sorted(str(uuid) for uuid in inventories if uuid not in providers)
    if unknown:
        raise Invalid(
            _("There is no resource provider {unknown}.", unknown=", ".join(unknown)),
            field="resource_provider",
            unknown=unknown,
            where="inventories",
        )
    for uuid, (expected, _rest) in inventories.items():
        if providers[uuid].generation - 1 != expected:
            raise provider_changed(uuid, expected=expected, actual=providers[uuid].generation - 1)


def _state(inventories: Stated, providers: Mapping[UUID, Touched], classes: Mapping[str, int]) -> None:
    """First all that shall be there, beside what shall go: allocations leave the old before it is removed."""
    rows = [
        (providers[uuid].id, classes[name], *astuple(spec), spec.capacity, 0, 0)
        for uuid, (_, specs) in inventories.items()
        for name, spec in specs.items()
    ]
    rows_run(_STATE, rows, types=_STATE_TYPES, has_result=False)


def _remove(inventories: Stated, providers: Mapping[UUID, Touched], classes: Mapping[str, int]) -> None:
    remaining = {(providers[uuid].id, classes[name]) for uuid, (_rest, specs) in inventories.items() for name in specs}
    uuids = {providers[uuid].id: uuid for uuid in inventories}
    rows = Inventory.objects.filter(provider_id__in=uuids).order_by("provider", "resource_class")
    going = [
        row
        for row in rows.select_related("resource_class")
        if (row.provider_id, row.resource_class_id) not in remaining
    ]
    used = [row for row in going if row.used]
    if used:
        provider_id = used[0].provider_id
        in_use = {row.resource_class.name: row.used for row in used if row.provider_id == provider_id}
        named = ", ".join(f"{name} ({amount} used)" for name, amount in in_use.items())
        raise InventoryInUse(
            _("Inventory of provider {uuids} is in use: {named}.", uuids=uuids[provider_id], named=named),
            provider_uuid=uuids[provider_id],
            in_use=in_use,
        )
    if going:
        Inventory.objects.filter(pk__in=[row.pk for row in going]).delete()


def _bump(inventories: Stated, providers: Mapping[UUID, Touched], in_allocations: set[int]) -> None:
    """Clients know Placement's count: 1 for new inventories, 1 for allocations, 1 for the removal that ends it.

    One of them was given when the providers were locked.
    """
    counts = {row.id: int(row.id in in_allocations) for row in providers.values()}
    for uuid, (_rest, specs) in inventories.items():
        counts[providers[uuid].id] += 2 if specs else 1
    bumps = [(pk, count - 1) for pk, count in counts.items() if count > 1]
    rows_run(_BUMP, bumps, types=("bigint", "bigint"), has_result=False)
