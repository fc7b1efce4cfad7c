"""The aggregates of a provider."""

from collections.abc import Iterable
from uuid import UUID

from controlplane.openstack.answers import JsonAnswer
from placement.openstack.call import PlacementCall
from placement.openstack.lookups import no_provider, provider_faults, provider_first, provider_uuid
from placement.openstack.schema_providers import AGGREGATES
from placement.openstack.shapes import AggregatesShown
from placement.selectors.providers import provider_aggregates
from placement.services.aggregates import provider_aggregates_set

GENERATION_SINCE = 19


def aggregate_list(call: PlacementCall, uuid: str) -> JsonAnswer[AggregatesShown]:
    found = provider_aggregates(provider_uuid(uuid))
    if found is None:
        raise no_provider(uuid)
    return _answered(call, found.aggregates, found.generation)


def aggregate_replace(call: PlacementCall, uuid: str) -> JsonAnswer[AggregatesShown]:
    """Make these its aggregates. From 1.19 on this is a change like others: it names a generation, and moves it."""
    has_generation = call.minor >= GENERATION_SINCE
    with provider_first(uuid):
        data = call.body(AGGREGATES.at(call.minor))
    wanted = [UUID(text) for text in (data["aggregates"] if has_generation else data)]
    with provider_faults(uuid):
        provider = provider_aggregates_set(
            provider_uuid(uuid),
            wanted,
            expected_generation=data["resource_provider_generation"] if has_generation else None,
            keep_generation=not has_generation,
        )
    return _answered(call, wanted, provider.generation)


def _answered(call: PlacementCall, aggregates: Iterable[UUID], generation: int) -> JsonAnswer[AggregatesShown]:
    """When a provider joined an aggregate is recorded nowhere, so the answer is as new as can be."""
    data: AggregatesShown = {"aggregates": [str(uuid) for uuid in aggregates]}
    if call.minor >= GENERATION_SINCE:
        data["resource_provider_generation"] = generation
    return call.answer(data)
