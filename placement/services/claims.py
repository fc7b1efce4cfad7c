"""Claim, free, reduce and move: what the scheduler and the pipeline do with allocations.

`allocation_writer` describes the locks that all of them take.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import F
from django.db.models.functions import Now

from controlplane.infra.db import in_transaction, placeholders, uuid_value
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import Claim, check_claims
from placement.domain.claim import Amounts, state_of
from placement.models import Allocation, Consumer
from placement.services.allocation_writer import class_ids, consumers_end, held_by
from placement.services.consumers import consumer_touch, consumers_lock
from placement.services.counts import counts_leave
from placement.services.guard import Change, used_change
from placement.services.locks import providers_touch
from placement.services.replace import states_set

_KNOWN = "SELECT id FROM placement_consumer WHERE uuid IN ({values}) LIMIT 1"


def allocations_claim(claims: Sequence[Claim]) -> None:
    """Give every consumer of the batch all that it asks for, or nobody anything.

    The guard is in the UPDATE of the inventories, so no inventory can go over its capacity whatever runs beside it;
    count limits are checked under the lock of their provider. Raises NoCapacity when an inventory cannot give its
    part or a limit is reached (see `domain.capacity_error` for the extra), ProviderChanged when all could, but one of
    them is not at the generation that a claim has seen, ConsumerChanged when a consumer holds allocations already,
    Invalid for a claim that makes no sense.
    """
    check_claims(claims)
    if claims:
        states_set([state_of(claim) for claim in claims], must_exist=False)


def allocations_free(consumer_uuids: Iterable[UUID]) -> int:
    """Give back all that these consumers hold. Returns how many of them held something (or existed at all).

    Freeing twice, at once or later, gives back once: the second call finds no consumer. Unknown ones are no error.
    """
    uuids = set(consumer_uuids)
    # Mostly there is nothing to free, and to see that needs no transaction. Inside the caller's there
    # is nothing to save.
    if not uuids or not (connection.in_atomic_block or _are_known(uuids)):
        return 0
    return in_transaction(lambda: _free(uuids))


def _are_known(uuids: set[UUID]) -> bool:
    asked = [uuid_value(uuid) for uuid in uuids]
    text = _KNOWN.format(values=placeholders(asked))
    with connection.cursor() as cursor:
        cursor.execute(text, asked)
        return cursor.fetchone() is not None


def _free(uuids: set[UUID]) -> int:
    consumer_ids = consumers_lock(uuids)
    if consumer_ids:
        held = held_by(consumer_ids)
        # The generation stays (step 0), as in Placement: giving back disturbs nobody who is about to write by the
        # generation it has seen. The change stamp moves, so readers of the fleet see what became free.
        providers_touch({one.provider_id for one in held}, step=0)
        consumers_end(consumer_ids, held)
    return len(consumer_ids)


def allocations_reduce(consumer_uuid: UUID, amounts: Amounts) -> None:
    """Give back so much of what the consumer holds, and let it hold the rest. No more than it holds is given back, and
    nothing for a consumer that is unknown, so this refuses nobody: it asks for nothing. One that holds nothing then
    ends. Doing it twice gives back twice: the caller does it in the transaction that ends what the amounts were for.
    """
    in_transaction(lambda: _reduce(consumer_uuid, amounts))


def _reduce(consumer_uuid: UUID, amounts: Amounts) -> None:
    consumer_ids = consumers_lock({consumer_uuid})
    if not consumer_ids:
        return
    held = held_by(consumer_ids)
    providers = providers_touch({one.provider_id for one in held})
    classes = class_ids({name for each in amounts.values() for name in each})
    wanted = {
        (providers[uuid].id, classes[name]): amount
        for uuid, each in amounts.items()
        for name, amount in each.items()
        if uuid in providers and name in classes
    }
    given = {one: min(one.used, wanted.get((one.provider_id, one.class_id), 0)) for one in held}
    if all(given[one] == one.used for one in held):
        consumers_end(consumer_ids, held)
        return
    used_change([Change(one.provider_id, one.class_id, None, amount) for one, amount in given.items() if amount])
    for one, amount in given.items():
        row = Allocation.objects.filter(
            consumer_id=one.consumer_id, provider_id=one.provider_id, resource_class_id=one.class_id
        )
        if amount == one.used:
            row.delete()
        elif amount:
            row.update(used=one.used - amount)
    stays = {one.provider_id for one, amount in given.items() if amount < one.used}
    counts_leave(consumer_ids, dict.fromkeys(consumer_ids, stays))
    consumer_touch(consumer_ids[0])


def allocations_move(from_consumer: UUID, to_consumer: UUID, *, consumer_type: str = "MIGRATION") -> int:
    """Hand all that one consumer holds to another, which must hold nothing. Returns how many allocations moved.

    Usage stays as it is. The new consumer has the old one's project and user and the given type; the old one is gone,
    so that it can claim anew. Raises NotFound, or Conflict when the new consumer holds allocations already.
    """
    if from_consumer == to_consumer:
        raise Conflict(
            _("Consumer {to_consumer} holds these allocations already.", to_consumer=to_consumer),
            consumer_uuid=to_consumer,
        )
    return in_transaction(lambda: _move(from_consumer, to_consumer, consumer_type))


def _move(from_consumer: UUID, to_consumer: UUID, consumer_type: str) -> int:
    if not consumers_lock({from_consumer}):
        raise NotFound(
            _("Consumer {from_consumer} holds no allocations.", from_consumer=from_consumer),
            consumer_uuid=from_consumer,
        )
    held = Allocation.objects.filter(consumer__uuid=from_consumer)
    providers = set(held.values_list("provider_id", flat=True))
    try:
        # The row stays and takes the new name: the allocations come along, and the unique uuid guards the target.
        Consumer.objects.filter(uuid=from_consumer).update(
            uuid=to_consumer,
            consumer_type=consumer_type,
            generation=F("generation") + 1,
            created_at=Now(),
            updated_at=Now(),
        )
    except IntegrityError as error:
        raise Conflict(
            _("Consumer {to_consumer} holds allocations already.", to_consumer=to_consumer), consumer_uuid=to_consumer
        ) from error
    providers_touch(providers)
    return Allocation.objects.filter(consumer__uuid=to_consumer).count()
