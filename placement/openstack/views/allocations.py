"""Who holds how much of what, by consumer and by provider; and the writing of it."""

from datetime import datetime
from uuid import UUID

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request, not_found
from placement.openstack.allocation_bodies import GENERATION_SINCE, consumer_state, consumer_states
from placement.openstack.allocation_faults import written
from placement.openstack.allocation_schemas import MANY, ONE
from placement.openstack.call import PlacementCall
from placement.openstack.shapes import (
    ConsumerAllocationsShown,
    HeldByConsumerJson,
    HeldOfProviderJson,
    ProviderAllocationsShown,
)
from placement.selectors.allocations import (
    ConsumerHoldings,
    ProviderHoldings,
    consumer_holdings,
    provider_holdings,
)
from placement.services import allocations_free, allocations_replace

OWNERS_SINCE = 12
CONSUMER_TYPE_SINCE = 38
UNKNOWN_TYPE = "unknown"


def of_provider(call: PlacementCall, *, uuid: str) -> JsonAnswer[ProviderAllocationsShown]:
    provider_uuid = parse_uuid(uuid)
    held = provider_holdings(provider_uuid) if provider_uuid else None
    if held is None:
        raise not_found(f"Resource provider '{uuid}' not found.")
    return call.answer(_by_consumer(held, call.minor), modified=held.modified)


def _by_consumer(held: ProviderHoldings, minor: int) -> ProviderAllocationsShown:
    found: dict[str, HeldByConsumerJson] = {}
    for one in held.rows:
        entry = found.setdefault(str(one.consumer_uuid), {"resources": {}})
        entry["resources"][one.resource_class] = one.used
        if minor >= GENERATION_SINCE:
            entry["consumer_generation"] = one.consumer_generation
    return {"allocations": found, "resource_provider_generation": held.generation}


def of_consumer(call: PlacementCall, *, consumer_uuid: str) -> JsonAnswer[ConsumerAllocationsShown]:
    """GET /allocations/{consumer}. Somebody unknown holds nothing, which is no error."""
    uuid = parse_uuid(consumer_uuid)
    held = consumer_holdings(uuid) if uuid else None
    modified: datetime | None = held.modified if held else None
    return call.answer(_by_provider(held, call.minor) if held else {"allocations": {}}, modified=modified)


def _by_provider(held: ConsumerHoldings, minor: int) -> ConsumerAllocationsShown:
    found: dict[str, HeldOfProviderJson] = {}
    for one in held.rows:
        entry = found.setdefault(str(one.provider_uuid), {"resources": {}, "generation": one.provider_generation})
        entry["resources"][one.resource_class] = one.used
    answer: ConsumerAllocationsShown = {"allocations": found}
    if minor >= OWNERS_SINCE:
        answer["project_id"], answer["user_id"] = held.project_id, held.user_id
    if minor >= GENERATION_SINCE:
        answer["consumer_generation"] = held.generation
    if minor >= CONSUMER_TYPE_SINCE:
        answer["consumer_type"] = held.consumer_type or UNKNOWN_TYPE
    return answer


def replace_one(call: PlacementCall, *, consumer_uuid: str) -> Empty:
    """PUT /allocations/{consumer}: all that it holds from now on."""
    uuid = parse_uuid(consumer_uuid)
    if uuid is None:
        raise bad_request(f"Malformed consumer_uuid: {consumer_uuid}")
    state = consumer_state(uuid, call.body(ONE.at(call.minor)), call.minor)
    written(lambda: allocations_replace([state]), subject=f" for consumer {uuid}")
    return call.empty()


def replace_many(call: PlacementCall) -> Empty:
    """POST /allocations: the same for several consumers, all of them or none."""
    states = consumer_states(call.body(MANY.at(call.minor)), call.minor)
    written(lambda: allocations_replace(states))
    return call.empty()


def delete(call: PlacementCall, *, consumer_uuid: str) -> Empty:
    """DELETE /allocations/{consumer}: it ends. No generation is asked for, as in the original."""
    uuid: UUID | None = parse_uuid(consumer_uuid)
    if uuid is None or not allocations_free([uuid]):
        raise not_found(f"No allocations for consumer '{consumer_uuid}'")
    return call.empty()
