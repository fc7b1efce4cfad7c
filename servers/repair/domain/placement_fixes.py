"""What healing would do about findings of Placement's own audit, in words; or why it can do nothing."""

from collections.abc import Callable

from controlplane.kernel.texts import phrase as _
from placement.domain import FindingKind, ProviderFinding
from servers.repair.domain.placement_findings import Fix

FixOrReason = tuple[Fix | None, str]


def answer_to(one: ProviderFinding, provider: str) -> FixOrReason:
    """(the fix, "") or (None, what stands in the way and what an operator can do). `provider` is its name."""
    return _ANSWERS[one.kind](one, provider)


def _recount(one: ProviderFinding, provider: str) -> FixOrReason:
    over = one.allocated > one.capacity
    reason = _("Claims go by this counter: too high it wastes room, too low it gives out room that is taken.")
    after = _("used {allocated}, the sum of the allocations", allocated=one.allocated)
    after += f"; above the capacity of {one.capacity}, so it may only fall until it fits" if over else ""
    action = _(
        "Count {resource_class} of provider {provider} anew.", resource_class=one.resource_class, provider=provider
    )
    return Fix(action, reason, _("used {used}", used=one.used), after), ""


def _end_consumer(one: ProviderFinding, _provider: str) -> FixOrReason:
    reason = _("A consumer exists exactly while it holds something; an empty one keeps its uuid from claiming.")
    return Fix(
        _("Remove consumer {consumer_uuid}.", consumer_uuid=one.consumer_uuid),
        reason,
        _("a consumer that holds nothing"),
        _("no such consumer"),
    ), ""


def _root(one: ProviderFinding, provider: str) -> FixOrReason:
    reason = _("Searches and claims find the providers of a tree by their root.")
    action = _("Let provider {provider} name its root.", provider=provider)
    return Fix(
        action,
        reason,
        _("root {root_uuid}", root_uuid=one.root_uuid or "none"),
        _("root {right_root_uuid}", right_root_uuid=one.right_root_uuid),
    ), ""


def _stamp(_one: ProviderFinding, provider: str) -> FixOrReason:
    reason = _("Schedulers reload what has a newer stamp than they saw; one from another server's dump misleads them.")
    action = _("Stamp provider {provider} as changed now.", provider=provider)
    return Fix(action, reason, _("a stamp from the future"), _("this server's stamp of now")), ""


def _generation(one: ProviderFinding, provider: str) -> FixOrReason:
    whose = (
        _("consumer {consumer_uuid}", consumer_uuid=one.consumer_uuid)
        if one.consumer_uuid
        else _("provider {provider}", provider=provider)
    )
    reason = _("Clients compare generations and can send none below 0, so every change of theirs would be refused.")
    after = _("generation {generation}, as that of a new one", generation=1 if one.consumer_uuid else 0)
    return Fix(
        _("Begin the generation of {whose} anew.", whose=whose),
        reason,
        _("generation {generation}", generation=one.generation),
        after,
    ), ""


def _no_inventory(one: ProviderFinding, _provider: str) -> FixOrReason:
    return None, (
        _(
            "Nobody knows how much {resource_class} there is. State the inventory again (a "
            "host's agent does when it starts), then run the audit once more to count what is "
            "used of it.",
            resource_class=one.resource_class,
        )
    )


def _overcommitted(one: ProviderFinding, _provider: str) -> FixOrReason:
    excess = one.allocated - one.capacity
    return None, (
        _(
            "This is allowed: no new claims until {excess} are given back. To end it, move or "
            "delete instances, or state a larger total or ratio, or less reserved.",
            excess=excess,
        )
    )


def _loop(_one: ProviderFinding, provider: str) -> FixOrReason:
    return None, _(
        "Only you know which provider is on top. State one of the circle of {provider} as a root.", provider=provider
    )


_ANSWERS: dict[FindingKind, Callable[[ProviderFinding, str], FixOrReason]] = {
    FindingKind.USED_DIFFERS: _recount,
    FindingKind.OVER_ALLOCATED: _recount,
    FindingKind.ALLOCATION_WITHOUT_INVENTORY: _no_inventory,
    FindingKind.CONSUMER_WITHOUT_ALLOCATIONS: _end_consumer,
    FindingKind.OVERCOMMITTED: _overcommitted,
    FindingKind.ROOT_WRONG: _root,
    FindingKind.PARENT_LOOP: _loop,
    FindingKind.STAMP_AHEAD: _stamp,
    FindingKind.GENERATION_NEGATIVE: _generation,
}
