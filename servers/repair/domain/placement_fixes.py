"""What healing would do about findings of Placement's own audit, in words; or why it can do nothing."""

from collections.abc import Callable

from placement.domain import FindingKind, ProviderFinding
from servers.repair.domain.placement_findings import Fix

FixOrReason = tuple[Fix | None, str]


def answer_to(one: ProviderFinding, provider: str) -> FixOrReason:
    """(the fix, "") or (None, what stands in the way and what an operator can do). `provider` is its name."""
    return _ANSWERS[one.kind](one, provider)


def _recount(one: ProviderFinding, provider: str) -> FixOrReason:
    over = one.allocated > one.capacity
    reason = "Claims go by this counter: too high it wastes room, too low it gives out room that is taken."
    after = f"used {one.allocated}, the sum of the allocations"
    after += f"; above the capacity of {one.capacity}, so it may only fall until it fits" if over else ""
    action = f"Count {one.resource_class} of provider {provider} anew."
    return Fix(action, reason, f"used {one.used}", after), ""


def _end_consumer(one: ProviderFinding, _: str) -> FixOrReason:
    reason = "A consumer exists exactly while it holds something; an empty one keeps its uuid from claiming."
    return Fix(f"Remove consumer {one.consumer_uuid}.", reason, "a consumer that holds nothing", "no such consumer"), ""


def _root(one: ProviderFinding, provider: str) -> FixOrReason:
    reason = "Searches and claims find the providers of a tree by their root."
    action = f"Let provider {provider} name its root."
    return Fix(action, reason, f"root {one.root_uuid or 'none'}", f"root {one.right_root_uuid}"), ""


def _stamp(_: ProviderFinding, provider: str) -> FixOrReason:
    reason = "Schedulers reload what has a newer stamp than they saw; one from another server's dump misleads them."
    action = f"Stamp provider {provider} as changed now."
    return Fix(action, reason, "a stamp from the future", "this server's stamp of now"), ""


def _generation(one: ProviderFinding, provider: str) -> FixOrReason:
    whose = f"consumer {one.consumer_uuid}" if one.consumer_uuid else f"provider {provider}"
    reason = "Clients compare generations and can send none below 0, so every change of theirs would be refused."
    after = f"generation {1 if one.consumer_uuid else 0}, as that of a new one"
    return Fix(f"Begin the generation of {whose} anew.", reason, f"generation {one.generation}", after), ""


def _no_inventory(one: ProviderFinding, _: str) -> FixOrReason:
    return None, (
        f"Nobody knows how much {one.resource_class} there is. State the inventory again (a host's agent does when it"
        " starts), then run the audit once more to count what is used of it."
    )


def _overcommitted(one: ProviderFinding, _: str) -> FixOrReason:
    excess = one.allocated - one.capacity
    return None, (
        f"This is allowed: no new claims until {excess} are given back. To end it, move or delete instances, or state"
        " a larger total or ratio, or less reserved."
    )


def _loop(_: ProviderFinding, provider: str) -> FixOrReason:
    return None, f"Only you know which provider is on top. State one of the circle of {provider} as a root."


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
