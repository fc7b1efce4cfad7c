"""One sentence that says how a run ended, for operators and, without host names, for tenants."""

from collections.abc import Sequence

from scheduling.domain.request.resources import resource_words
from scheduling.domain.trace.trace import InstanceSelection, Nearest, Round, reason_counts

NAMES_SHOWN = 5


def failure_verdict(
    *, host_count: int, rounds: tuple[Round, ...], instance_count: int, nearest: Nearest | None, redacted: bool
) -> str:
    """'0/120 hosts: 71 vcpu short, 30 wrong zone; nearest: cmp-17 lacks 2 vcpu'."""
    if not host_count:
        return "0/0 hosts: there are no hosts"
    where = f" for instance {len(rounds)} of {instance_count}" if len(rounds) > 1 else ""
    counts = ", ".join(f"{count} {reason.label}" for reason, count in reason_counts(rounds).items())
    text = f"0/{host_count} hosts{where}: {counts}"
    if nearest is None:
        return text
    lacks = " and ".join(f"{lack.amount} {resource_words(lack.resource_class).words}" for lack in nearest.lacks)
    return f"{text}; the nearest lacks {lacks}" if redacted else f"{text}; nearest: {nearest.host} lacks {lacks}"


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
