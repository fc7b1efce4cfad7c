"""Traits of providers: a driver's report replaces what drivers put there; an operator's stay, so does the status."""

from collections.abc import Iterable
from uuid import UUID

from os_traits import COMPUTE_STATUS_DISABLED

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from placement.domain import ProviderView, TraitOwner
from placement.models import ProviderTrait, ResourceProvider
from placement.selectors.providers import provider_get, trait_owners
from placement.services.locks import provider_lock, providers_touch
from placement.services.names import reported_traits_forget, trait_ids


@audited("provider.traits_set", ResourceProvider, by="provider_uuid", key="uuid", also=("traits",))
def provider_traits_set(
    provider_uuid: UUID,
    traits: Iterable[str],
    *,
    owner: TraitOwner | None = TraitOwner.DRIVER,
    expected_generation: int | None = None,
    make_custom: bool = True,
) -> ProviderView:
    """Make `traits` what `owner` says of this provider; traits of other owners stay. No write when nothing changes.

    With `owner` None they become the whole set, whoever put what was there (Placement's PUT); new ones are then the
    operator's. Missing CUSTOM_ traits are made, if `make_custom`. Raises Invalid for other unknown names, NotFound,
    and ProviderChanged when `expected_generation` is not the present one.
    """
    wanted = frozenset(traits)
    if expected_generation is None and _is_settled(trait_owners(provider_uuid), wanted, owner):
        return provider_get(provider_uuid)

    def work() -> None:
        provider = provider_lock(provider_uuid, expected_generation=expected_generation)
        present = trait_owners(provider_uuid)
        if not _is_settled(present, wanted, owner):
            _write(provider.pk, present, wanted, owner, make_custom=make_custom)
            providers_touch([provider.pk])

    in_transaction(work)
    return provider_get(provider_uuid)


def _surplus(present: dict[str, TraitOwner], wanted: frozenset[str], owner: TraitOwner | None) -> set[str]:
    return {name for name, holder in present.items() if name not in wanted and owner in (None, holder)}


def _is_settled(present: dict[str, TraitOwner], wanted: frozenset[str], owner: TraitOwner | None) -> bool:
    return wanted <= present.keys() and not _surplus(present, wanted, owner)


def _write(
    provider_id: int,
    present: dict[str, TraitOwner],
    wanted: frozenset[str],
    owner: TraitOwner | None,
    *,
    make_custom: bool,
) -> None:
    surplus = _surplus(present, wanted, owner)
    if surplus:
        ProviderTrait.objects.filter(provider_id=provider_id, trait__name__in=surplus).delete()
        reported_traits_forget(surplus)
    missing = wanted - present.keys()
    if missing:
        ids = trait_ids(missing, make_custom=make_custom, is_reported=owner is TraitOwner.DRIVER)
        ProviderTrait.objects.bulk_create(
            ProviderTrait(provider_id=provider_id, trait_id=ids[name], owner=owner or TraitOwner.OPERATOR)
            for name in sorted(missing)
        )


def provider_status_disabled(provider_uuid: UUID, disabled: bool) -> ProviderView:
    """Put COMPUTE_STATUS_DISABLED on the provider, or take it off: the scheduler then forbids or allows it.

    No report of a driver touches it. Taking it off removes it whoever put it there.
    """
    if disabled:
        return provider_traits_set(provider_uuid, {COMPUTE_STATUS_DISABLED}, owner=TraitOwner.STATUS)

    def work() -> None:
        provider = provider_lock(provider_uuid)
        rows = ProviderTrait.objects.filter(provider=provider, trait__name=COMPUTE_STATUS_DISABLED)
        if rows.delete()[0]:
            providers_touch([provider.pk])

    if COMPUTE_STATUS_DISABLED in trait_owners(provider_uuid):
        in_transaction(work)
    return provider_get(provider_uuid)
