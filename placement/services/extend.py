"""Extend: a consumer holds more than before, as an instance that gets a port with bandwidth."""

from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from placement.domain import UNCHECKED, ConsumerState
from placement.domain.claim import Amounts
from placement.services.allocation_writer import Locked, allocations_widen, class_ids, held_by
from placement.services.consumers import LockedConsumer, consumer_touch, consumers_lock
from placement.services.locks import providers_touch
from placement.services.replace import known_check


def allocations_extend(consumer_uuid: UUID, amounts: Amounts) -> None:
    """Let the consumer hold so much besides what it holds, or change nothing. min_unit, max_unit and step_size count
    for what it then holds of each of these inventories; of the others nothing is judged again.

    Doing it twice takes twice: the caller does it in the transaction that begins what the amounts are for. Raises
    NoCapacity, Conflict for a consumer that holds nothing, Invalid for providers and classes that are not there.
    """
    in_transaction(lambda: _extend(consumer_uuid, amounts))


def _extend(consumer_uuid: UUID, amounts: Amounts) -> None:
    consumer_ids = consumers_lock({consumer_uuid})
    if not consumer_ids:
        raise Conflict(
            _("Consumer {consumer_uuid} holds no allocations.", consumer_uuid=consumer_uuid),
            consumer_uuid=consumer_uuid,
        )
    names = {name for each in amounts.values() for name in each}
    providers, classes = providers_touch(uuids=set(amounts)), class_ids(names)
    known_check("resource_provider", set(amounts), providers)
    known_check("resource_class", names, classes)
    ids = {(uuid, name): (providers[uuid].id, classes[name]) for uuid, each in amounts.items() for name in each}
    wanted = set(ids.values())
    held = [one for one in held_by(consumer_ids) if (one.provider_id, one.class_id) in wanted]
    before = {(one.provider_id, one.class_id): one.used for one in held}
    sums = {
        uuid: {name: amount + before.get(ids[uuid, name], 0) for name, amount in each.items()}
        for uuid, each in amounts.items()
    }
    state = ConsumerState(consumer_uuid, None, None, None, sums, generation=UNCHECKED)
    consumer = LockedConsumer(consumer_ids[0], consumer_uuid, None)
    allocations_widen(state, Locked({consumer_uuid: consumer}, providers, classes, held))
    consumer_touch(consumer_ids[0])
