"""Aggregates of providers: plain uuids, whose meaning is known elsewhere."""

from collections.abc import Iterable
from uuid import UUID

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from placement.domain import ProviderView
from placement.models import PlacementAggregate, ProviderAggregate, ResourceProvider
from placement.selectors.providers import aggregate_uuids_of, provider_get
from placement.services.locks import provider_lock, providers_stamp, providers_touch


@audited("provider.aggregates_set", ResourceProvider, by="provider_uuid", key="uuid", also=("aggregate_uuids",))
def provider_aggregates_set(
    provider_uuid: UUID,
    aggregate_uuids: Iterable[UUID],
    *,
    expected_generation: int | None = None,
    keep_generation: bool = False,
) -> ProviderView:
    """Make these the provider's aggregates, all of them. No write when they are so already.

    With an `expected_generation` the generation moves even then, as in Placement; with `keep_generation` it never
    does (clients below microversion 1.19), and the change shows to readers of the fleet all the same.

    Raises NotFound, and ProviderChanged when `expected_generation` is not the present one.
    """
    wanted = frozenset(aggregate_uuids)
    if expected_generation is None and aggregate_uuids_of(provider_uuid) == wanted:
        return provider_get(provider_uuid)

    def work() -> None:
        provider = provider_lock(provider_uuid, expected_generation=expected_generation)
        present = aggregate_uuids_of(provider_uuid)
        if present != wanted:
            _write(provider.pk, present, wanted)
        if keep_generation:
            providers_stamp([provider.pk])
        elif present != wanted or expected_generation is not None:
            providers_touch([provider.pk])

    in_transaction(work)
    return provider_get(provider_uuid)


def _write(provider_id: int, present: frozenset[UUID], wanted: frozenset[UUID]) -> None:
    if present - wanted:
        ProviderAggregate.objects.filter(provider_id=provider_id, aggregate__uuid__in=present - wanted).delete()
    if missing := sorted(wanted - present):
        # Another process may name the same aggregate for the first time right now: that is no conflict.
        PlacementAggregate.objects.bulk_create(
            [PlacementAggregate(uuid=uuid) for uuid in missing], ignore_conflicts=True
        )
        ids = PlacementAggregate.objects.filter(uuid__in=missing).values_list("pk", flat=True)
        ProviderAggregate.objects.bulk_create(ProviderAggregate(provider_id=provider_id, aggregate_id=pk) for pk in ids)
