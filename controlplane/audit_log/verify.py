"""Does the chain hold? Every entry is read again, in order, and its hash made anew."""

from dataclasses import dataclass

from django.db.models import QuerySet

from controlplane.audit_log.entry_hash import CONTENT, NO_HASH, entry_hash
from controlplane.audit_log.models import AuditLogChain, AuditLogEntry
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

PAGE_ROWS = 1000
LATE_AFTER_S = 300.0


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What was found. `problem` is the first thing wrong, as a sentence; empty where the chain holds."""

    first: int
    last: int
    head_hash: str
    waiting: int
    problem: str = ""


def chain_verify(*, anchor_number: int | None = None, anchor_hash: str = "") -> ChainReport:
    """Verify the whole chain. With an anchor, an entry's number and hash that were noted elsewhere, also that the entry
    is still that one: only so is it seen that somebody made the whole chain anew.

    Raises Invalid for an anchor that retention removed.
    """
    chain = AuditLogChain.objects.filter(pk=1).first() or AuditLogChain()
    if anchor_number is not None and anchor_number < chain.pruned_number:
        raise Invalid(
            _(
                "Entry {anchor_number} was removed by retention; the first that is left is later.",
                anchor_number=anchor_number,
            )
        )
    waiting = AuditLogEntry.objects.filter(number__isnull=True)
    number, previous = chain.pruned_number, chain.pruned_hash
    problem = _anchor_problem(anchor_number, anchor_hash, number, previous)
    while not problem and (page := _page(number, chain.head_number)):
        for entry in page:
            problem = _problem(entry, number + 1, previous) or _anchor_problem(
                anchor_number, anchor_hash, entry.number or 0, entry.hash
            )
            if problem:
                break
            number, previous = number + 1, entry.hash
    problem = problem or _end_problem(chain, number, previous, anchor_number) or _late(waiting)
    return ChainReport(chain.pruned_number + 1, number, previous, waiting.count(), problem)


def _page(number: int, last: int) -> list[AuditLogEntry]:
    return list(AuditLogEntry.objects.filter(number__gt=number, number__lte=last).order_by("number")[:PAGE_ROWS])


def _problem(entry: AuditLogEntry, number: int, previous: str) -> str:
    if entry.number != number:
        return _(
            "Entry {number} is missing: after {number_2} comes {entry_number}.",
            number=number,
            number_2=number - 1,
            entry_number=entry.number,
        )
    if entry.previous_hash != previous:
        return _(
            "Entry {number} does not follow entry {number_2}: it names another hash before it.",
            number=number,
            number_2=number - 1,
        )
    content = {name: getattr(entry, name) for name in CONTENT}
    if entry.hash != entry_hash(content, number=number, previous=previous):
        return _("Entry {number} was changed: its content does not give its hash.", number=number)
    return ""


def _anchor_problem(anchor_number: int | None, anchor_hash: str, number: int, found: str) -> str:
    if anchor_number is None or number != anchor_number or found == anchor_hash:
        return ""
    return _("Entry {number} is not the one that was noted: its hash is {found}.", number=number, found=found)


def _end_problem(chain: AuditLogChain, number: int, previous: str, anchor_number: int | None) -> str:
    if anchor_number is not None and anchor_number > chain.head_number:
        return _(
            "The chain ends at entry {head_number}; entry {anchor_number} was there when it was noted.",
            head_number=chain.head_number,
            anchor_number=anchor_number,
        )
    if number < chain.head_number:
        return _(
            "The chain ends at entry {number}, but {head_number} were written.",
            number=number,
            head_number=chain.head_number,
        )
    if chain.head_hash not in {previous, NO_HASH}:
        return _("The chain's end does not have the hash of entry {number}.", number=number)
    beyond = AuditLogEntry.objects.filter(number__gt=chain.head_number).order_by("number").first()
    # Whatever was chained while this ran lies beyond the end that was read first.
    if beyond is not None and beyond.previous_hash != previous and beyond.number == number + 1:
        return _("Entry {number} does not follow entry {number_2}.", number=beyond.number, number_2=number)
    return ""


def _late(waiting: QuerySet[AuditLogEntry]) -> str:
    """Entries that nobody took into the chain: no conductor runs, or somebody stops them."""
    oldest = waiting.order_by("occurred_at").first()
    if oldest is None:
        return ""
    age = (db_now() - oldest.occurred_at).total_seconds()
    return _("Entries wait to be chained for {age:.0f} s; a conductor does it.", age=age) if age > LATE_AFTER_S else ""
