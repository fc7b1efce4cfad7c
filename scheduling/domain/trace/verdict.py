"""One sentence that says how a run ended, for operators and, without host names, for tenants."""

from collections.abc import Collection, Iterable, Sequence

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.units import amount_words
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import InstanceSelection, Nearest, Round, reason_counts

NAMES_SHOWN = 5
R = RefusalReason
_IN_WANTED = frozenset({R.TRAIT_MISSING, R.TRAIT_FORBIDDEN, R.WRONG_ZONE, R.FLAVOR_NOT_ALLOWED})
_IN_WANTED_FOR_OPERATORS = frozenset({R.CAPABILITY_MISSING, R.CAPABILITY_MISMATCH, R.IMAGE_PROPERTY_UNSUPPORTED})
_IN_DETAIL = frozenset({R.RESOURCE_SHORT, R.PCI_SHORT})
_TRAITS = frozenset({R.TRAIT_MISSING, R.TRAIT_FORBIDDEN})


def failure_verdict(
    *,
    host_count: int,
    rounds: tuple[Round, ...],
    instance_count: int,
    nearest: Nearest | None,
    redacted: bool,
    own_words: Collection[str] = (),
) -> str:
    """'No host fits: 71 lack vCPUs, 30 are not in zone az-1; closest is cmp-17, 2 vCPU short'.

    What all hosts of a reason are refused for is named: 'all 40 lack trait CUSTOM_GPU'. Redacted, only where it is
    among `own_words`, which are the request's own.
    """
    if not host_count:
        return "No host fits: there are no hosts"
    which = f" instance {len(rounds)} of {instance_count}" if len(rounds) > 1 else ""
    counts = reason_counts(rounds)
    objects = _objects(rounds, own_words if redacted else None)
    causes = ", ".join(
        f"{_how_many(count, host_count, is_only=len(counts) == 1)} {reason.of_hosts(count, objects.get(reason, ''))}"
        for reason, count in counts.items()
    )
    text = f"No host fits{which}: {causes}"
    if nearest is None:
        return text
    lacks = " and ".join(amount_words(lack.amount, lack.resource_class) for lack in nearest.lacks)
    return f"{text}; {'the closest is' if redacted else f'closest is {nearest.host},'} {lacks} short"


def own_words_of(request: ScheduleRequest) -> frozenset[str]:
    """What the request itself names, so that whoever made it may read it: traits, classes, devices, its zone."""
    specs = {**request.image.properties, **request.flavor.extra_specs}
    named = {key.partition(":")[2] for key in specs if key.startswith(("trait", "resources"))}
    aliases = {part.partition(":")[0].strip() for part in str(specs.get("pci_passthrough:alias", "")).split(",")}
    return frozenset({*named, *aliases, request.availability_zone or "", request.flavor.name} - {""})


def _how_many(count: int, host_count: int, *, is_only: bool) -> str:
    if not is_only or count != host_count:
        return f"{count:,}"
    return "the only one" if count == 1 else f"all {count:,}"


def _objects(rounds: Iterable[Round], own_words: Collection[str] | None) -> dict[RefusalReason, str]:
    """What all hosts that were refused for a reason were refused for. `own_words` None: whatever it is."""
    found: dict[RefusalReason, set[str]] = {}
    for each in rounds:
        for group in each.refusals:
            found.setdefault(group.refusal.reason, set()).add(_object(group.refusal, own_words))
    return {reason: texts.pop() for reason, texts in found.items() if len(texts) == 1}


def _object(refusal: Refusal, own_words: Collection[str] | None) -> str:
    reason = refusal.reason
    if reason in _IN_WANTED or (own_words is None and reason in _IN_WANTED_FOR_OPERATORS):
        text = str(refusal.wanted or "")
    elif reason in _IN_DETAIL:
        text = refusal.detail.partition(",")[0]
    else:
        return ""
    parts = [part.strip() for part in text.replace(" or ", ",").split(",")]
    if own_words is not None and not all(part in own_words for part in parts):
        return ""
    return f"{'trait' if len(parts) == 1 else 'traits'} {text}" if reason in _TRAITS and text else text


def success_verdict(
    *, host_count: int, selections: Sequence[InstanceSelection], instance_count: int, redacted: bool
) -> str:
    """'1 of 120 hosts chosen: cmp-03 (score 2.41)'; for a batch the hosts with how many each got."""
    chosen: dict[str, int] = {}
    for each in selections:
        chosen[each.selected.nodename] = chosen.get(each.selected.nodename, 0) + 1
    text = f"{len(chosen)} of {host_count} hosts chosen"
    if instance_count > 1:
        placed = len(selections)
        text += (
            f" for {placed} instances" if placed == instance_count else f" for {placed} of {instance_count} instances"
        )
    return text if redacted else f"{text}: {_names(selections)}"


def _names(selections: Sequence[InstanceSelection]) -> str:
    if len(selections) == 1:
        selected = selections[0].selected
        return f"{selected.host} (score {selected.score:.2f})"
    counts: dict[str, int] = {}
    for each in selections:
        counts[each.selected.host] = counts.get(each.selected.host, 0) + 1
    shown = [name if count == 1 else f"{name} x{count}" for name, count in list(counts.items())[:NAMES_SHOWN]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
