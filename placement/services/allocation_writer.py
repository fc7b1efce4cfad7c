"""The allocation writer: it alone rewrites what consumers hold (but for the short way of `single_claim`).

Every writer of allocations locks consumers in the order of their uuids, then keys whose consumers must be together in
the order of their text, then providers in the order of their ids.
The lock of a provider covers all its inventories and allocations: who has it waits for nobody, so the statements after
it need no order. The number of statements does not depend on the size of the batch.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from controlplane.infra.db import in_run, rows_run
from controlplane.kernel.errors import Conflict, KilonovaError
from controlplane.kernel.texts import phrase as _
from placement.domain import ConsumerState, Demand, broken_rule, capacity_error, demands_of
from placement.domain.claim import InventoryKey
from placement.selectors.usage import fleet_usage
from placement.services.consumers import LockedConsumer
from placement.services.counts import counts_claim, counts_leave
from placement.services.guard import Change, used_change
from placement.services.locks import Touched

# These statements are written without the ORM because every PUT of allocations runs them.
_HELD = (
    "SELECT consumer_id, provider_id, resource_class_id, used FROM placement_allocation WHERE consumer_id IN ({values})"
)
_CLASSES = "SELECT name, id FROM placement_resourceclass WHERE name IN ({values})"
_DELETE = "DELETE FROM placement_allocation WHERE consumer_id IN ({values})"
_DELETE_OF = "DELETE FROM placement_allocation WHERE (consumer_id, provider_id, resource_class_id) IN ({rows})"
_END = "DELETE FROM placement_consumer WHERE id IN ({values})"
_INSERT = "INSERT INTO placement_allocation (consumer_id, provider_id, resource_class_id, used) {rows}"


@dataclass(frozen=True, slots=True)
class Held:
    """One allocation as it is in the table, named by ids."""

    consumer_id: int
    provider_id: int
    class_id: int
    used: int


@dataclass(frozen=True, slots=True)
class Locked:
    """What a rewriting needs, read under its locks: rows by uuid, classes by name, and what the consumers hold now."""

    consumers: Mapping[UUID, LockedConsumer]
    providers: Mapping[UUID, Touched]
    classes: Mapping[str, int]
    held: Sequence[Held]


def held_by(consumer_ids: Collection[int]) -> list[Held]:
    """What these consumers hold. Lock the consumers first, so that it stays true."""
    return [Held(*row) for row in in_run(_HELD, consumer_ids)]


def class_ids(names: Collection[str]) -> dict[str, int]:
    """Ids of those resource classes that are there."""
    return dict(in_run(_CLASSES, names))


def names_asked(states: Sequence[ConsumerState]) -> tuple[set[UUID], set[str]]:
    """Providers and resource classes that the states name."""
    asked = [(provider, classes) for state in states for provider, classes in state.resources.items()]
    return {provider for provider, _ in asked}, {name for _, classes in asked for name in classes}


def allocations_rewrite(states: Sequence[ConsumerState], locked: Locked) -> None:
    """Let each consumer hold its state instead of what it holds.

    Raises NoCapacity; the caller's transaction must then be rolled back, for some changes may be made already.
    """
    _take(states, locked)
    _leave(states, locked)
    counts_claim(states, locked.consumers, locked.providers)
    _write(states, locked)


def allocations_widen(state: ConsumerState, locked: Locked) -> None:
    """Let a consumer hold its state instead of `locked.held`, which is what it holds of the same inventories. All else
    it keeps, and it goes on counting where it counts.

    Raises NoCapacity; the caller's transaction must then be rolled back.
    """
    _take([state], locked)
    rows = [(one.consumer_id, one.provider_id, one.class_id) for one in locked.held]
    rows_run(_DELETE_OF, rows, types=("bigint",) * 3, has_result=False)
    _write([state], locked)


def consumers_end(consumer_ids: Collection[int], held: Sequence[Held]) -> None:
    """Give back all that these consumers hold, and delete them. The caller has locked them and the providers."""
    used_change([Change(*ids, demand=None, given_back=amount) for ids, amount in _given_back(held).items()])
    counts_leave(consumer_ids, {})
    in_run(_DELETE, consumer_ids, has_result=False)
    in_run(_END, consumer_ids, has_result=False)


def _take(states: Sequence[ConsumerState], locked: Locked) -> None:
    """Have the inventories give what is more than before, and take back what is less. Raises NoCapacity."""
    demands = demands_of(states)
    gave = used_change(_changes(demands, locked).values())
    lost = [key for key in demands if _ids(key, locked) not in gave]
    if lost:
        raise _lost(lost, demands, locked)


def _ids(key: InventoryKey, locked: Locked) -> tuple[int, int] | None:
    provider, name = key
    if provider not in locked.providers or name not in locked.classes:
        return None
    return locked.providers[provider].id, locked.classes[name]


def _given_back(held: Sequence[Held]) -> dict[tuple[int, int], int]:
    sums: dict[tuple[int, int], int] = {}
    for one in held:
        sums[one.provider_id, one.class_id] = sums.get((one.provider_id, one.class_id), 0) + one.used
    return sums


def _changes(demands: Mapping[InventoryKey, Demand], locked: Locked) -> dict[tuple[int, int], Change]:
    """What the batch does to each inventory: given back and asked for in one, so that only the difference must fit."""
    sums = _given_back(locked.held)
    changes = {ids: Change(*ids, demand=None, given_back=amount) for ids, amount in sums.items()}
    for key, demand in demands.items():
        ids = _ids(key, locked)
        if ids is not None:
            changes[ids] = Change(*ids, demand=demand, given_back=sums.get(ids, 0))
    return changes


def _lost(keys: Sequence[InventoryKey], demands: Mapping[InventoryKey, Demand], locked: Locked) -> KilonovaError:
    """Make the error for the loser. The refused rows are unchanged and locked: it names the guard's own numbers."""
    usage, sums = fleet_usage({provider for provider, _rest in keys}), _given_back(locked.held)
    shortages = [
        broken_rule(
            provider,
            name,
            demands[provider, name],
            usage.get(provider, {}).get(name),
            given_back=sums.get(_ids((provider, name), locked) or (0, 0), 0),
        )
        for provider, name in keys
    ]
    named = [shortage for shortage in shortages if shortage is not None]
    return (
        capacity_error(named) if named else Conflict(_("The inventories were changed without their provider's lock."))
    )


def _leave(states: Sequence[ConsumerState], locked: Locked) -> None:
    """Delete what the consumers hold now. Where a consumer stays it goes on counting, so no limit sees it leave."""
    former = {one.consumer_id for one in locked.held}
    if not former:
        return
    stays = {
        locked.consumers[state.consumer_uuid].id: {locked.providers[uuid].id for uuid in state.resources}
        for state in states
    }
    counts_leave(former, stays)
    in_run(_DELETE, former, has_result=False)


def _write(states: Sequence[ConsumerState], locked: Locked) -> None:
    rows = [
        (locked.consumers[state.consumer_uuid].id, locked.providers[provider].id, locked.classes[name], amount)
        for state in states
        for provider, classes in state.resources.items()
        for name, amount in classes.items()
    ]
    rows_run(_INSERT, rows, types=("bigint",) * 4, has_result=False)
    ended = [locked.consumers[state.consumer_uuid].id for state in states if not any(state.resources.values())]
    in_run(_END, ended, has_result=False)
