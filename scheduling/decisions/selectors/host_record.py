"""Why a host is always or never chosen: its standing in the decisions that are kept.

How often it was considered, refused, outranked and chosen is counted by the database, over the bitmaps and indexes of
the ledger. Why is read from the blobs of the newest decisions of each kind, as many as a short time allows.
"""

import json
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import TypeVar
from uuid import UUID

from django.db.models import BooleanField, Count, Exists, F, Max, OuterRef, Q, QuerySet, Value

from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import Phrase, gettext_noop, joined
from scheduling.decisions.domain.host_record import RankedOnce, ranked_once, record_without_names, refusing_rule
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.domain.trace.names import places_in_runs
from scheduling.models import DecisionInstance, DecisionOutcome, HostNames, SchedulingDecision
from scheduling.models.host_name_search import decisions_refusing

NEWEST = 10_000
"""Decisions that are looked at, the newest."""
REFUSALS_READ = 200
RANKINGS_READ = 50
READING_S = 0.12
"""Time for reading blobs of one kind; a few are read however long it takes."""
MIN_READ = 5
EXAMPLES = 3

# Of decisions with the annotation of `_considered`.
CHOSEN, NOT_CHOSEN = Q(chosen=True), Q(chosen=False)

Rows = QuerySet[SchedulingDecision]
Found = TypeVar("Found")


class HostOutcome(StrEnum):
    """What became of a host in one decision. `undecided`: it passed, but no host was chosen for the batch at all."""

    CHOSEN = "chosen"
    OUTRANKED = "outranked"
    REFUSED = "refused"
    UNDECIDED = "undecided"

    @property
    def label(self) -> str:
        """In words, which pages translate."""
        return _HOST_OUTCOMES[self]


_HOST_OUTCOMES = {
    HostOutcome.CHOSEN: gettext_noop("Chosen"),
    HostOutcome.OUTRANKED: gettext_noop("Passed, but others ranked higher"),
    HostOutcome.REFUSED: gettext_noop("Refused"),
    HostOutcome.UNDECIDED: gettext_noop("Passed, but the request failed"),
}


@dataclass(frozen=True, slots=True)
class HostOutcomeCount:
    """How many of the decisions ended so for the host; `share` is the part (0 to 1) of those that considered it."""

    host_outcome: HostOutcome
    decisions: int
    share: float
    newest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HostRefusalCount:
    """How often one stage refused the host for one reason, of the refusals that were read, with the newest of them."""

    stage: str
    reason: RefusalReason
    decisions: int
    example: UUID


@dataclass(frozen=True, slots=True)
class WeigherCost:
    """Points by which a weigher put the chosen host ahead of this one, on average over the rankings read.

    `first` counts rankings in which it was the weigher that cost most; `example` is the one where it cost most.
    """

    weigher: str
    points: float
    first: int
    example: UUID


@dataclass(frozen=True, slots=True)
class Outranked:
    """The rankings that were read. Ranks are from 1; None where no place is known (beyond the best that were kept)."""

    read: int
    usual_rank: float | None
    usual_ranked: float
    best_rank: int | None
    weighers: tuple[WeigherCost, ...]
    examples: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class HostRecord:
    """One host in the decisions that are kept: the newest `decisions_read`, `considered` of which looked at it."""

    host: str
    decisions_read: int
    is_bounded: bool
    considered: int
    outcomes: tuple[HostOutcomeCount, ...]
    refusals_read: int
    rules: tuple[HostRefusalCount, ...]
    outranked: Outranked | None
    chosen_examples: tuple[UUID, ...]

    @property
    def win_rate(self) -> float:
        """Part (0 to 1) of the decisions that considered it which chose it."""
        return self.of(HostOutcome.CHOSEN).share

    def of(self, host_outcome: HostOutcome) -> HostOutcomeCount:
        """The count of one outcome."""
        return next(one for one in self.outcomes if one.host_outcome is host_outcome)

    @property
    def refused(self) -> HostOutcomeCount:
        """Decisions that refused it."""
        return self.of(HostOutcome.REFUSED)

    @property
    def lost(self) -> HostOutcomeCount:
        """Decisions that ranked it and chose others."""
        return self.of(HostOutcome.OUTRANKED)

    @property
    def sentence(self) -> Phrase:
        """The record in words, for operators."""
        if not self.considered:
            nothing = gettext_noop("None of the {count} decisions looked at {host}.")
            return Phrase(nothing, count=self.decisions_read, host=self.host)
        parts = [
            Phrase(
                gettext_noop("Chosen in {chosen} of {considered} decisions ({share})"),
                chosen=self.of(HostOutcome.CHOSEN).decisions,
                considered=self.considered,
                share=percent(self.win_rate),
            ),
            *self._refused_words(),
            *self._lost_words(),
        ]
        return Phrase(gettext_noop("{sentence}."), sentence=joined(parts, gettext_noop("{first}; {rest}")))

    def _refused_words(self) -> Iterator[Phrase]:
        for top in self.rules[:1]:
            yield Phrase(
                gettext_noop("refused in {share}, mostly for {reason} ({stage})"),
                share=percent(self.refused.share),
                reason=Phrase(top.reason.label),
                stage=top.stage,
            )

    def _lost_words(self) -> Iterator[Phrase]:
        lost = self.outranked
        if lost is None or lost.usual_rank is None:
            return
        usual = Phrase(
            gettext_noop("where it passed and lost, its usual rank was {rank:g} of {ranked:g}"),
            rank=lost.usual_rank,
            ranked=lost.usual_ranked,
        )
        if not lost.weighers:
            yield usual
            return
        worst = lost.weighers[0]
        cost = gettext_noop("{sentence}, and {weigher} cost it most ({points:.3g} points)")
        yield Phrase(cost, sentence=usual, weigher=worst.weigher, points=worst.points)


def percent(share: float) -> str:
    """A part (0 to 1) in words: '0%', '0.02%', '7.1%', '42%'. What is not nothing never reads as nothing."""
    number = 100 * share
    return f"{number:.0f}%" if number >= 10 or not number else f"{number:.2g}%"


def host_record(*, host: str, newest: int = NEWEST) -> HostRecord:
    """The record of a host by its service's name, over the newest decisions. A constant number of queries."""
    window, is_bounded = _window(newest)
    decisions_by_names = Counter(dict(window.order_by().values_list("host_names").annotate(count=Count("id"))))
    rows = _rows(host, [digest for digest in decisions_by_names if digest])
    considered = _considered(window, host, rows)
    refused = decisions_refusing(considered, host)
    counts = _counts(considered, refused)
    total = sum(count for count, _ in counts.values())
    rules, refusals_read = _rules(refused.filter(NOT_CHOSEN), rows) if counts[HostOutcome.REFUSED][0] else ((), 0)
    return HostRecord(
        host=host,
        decisions_read=sum(decisions_by_names.values()),
        is_bounded=is_bounded,
        considered=total,
        outcomes=tuple(
            HostOutcomeCount(host_outcome, count, count / total if total else 0.0, at)
            for host_outcome, (count, at) in counts.items()
        ),
        refusals_read=refusals_read,
        rules=rules,
        outranked=_outranked(_lost(considered, refused), rows) if counts[HostOutcome.OUTRANKED][0] else None,
        chosen_examples=tuple(
            considered.filter(CHOSEN).order_by("-created_at").values_list("pk", flat=True)[:EXAMPLES]
            if counts[HostOutcome.CHOSEN][0]
            else ()
        ),
    )


def _window(newest: int) -> tuple[Rows, bool]:
    """The newest decisions, and whether there are older ones. Those of one moment stay together."""
    rows = SchedulingDecision.objects.all()
    last = rows.order_by("-created_at").values_list("created_at", flat=True)[newest : newest + 1].first()
    return (rows, False) if last is None else (rows.filter(created_at__gt=last), True)


def _rows(host: str, digests: Sequence[str]) -> dict[str, int]:
    """At which row the host stands, by table of host names. With several nodes, the first: no bit tells them apart by
    name.
    """
    found: dict[str, int] = {}
    contents = HostNames.objects.filter(digest__in=digests).order_by().values_list("digest", "content")
    for digest, content in contents:
        places = places_in_runs(json.loads(zlib.decompress(bytes(content)))["hosts"], host)
        if places:
            found[digest] = places[0]
    return found


def _considered(window: Rows, host: str, rows: dict[str, int]) -> Rows:
    """Decisions that looked at the host, with `chosen`."""
    if not rows:
        return window.none().annotate(chosen=Value(False, output_field=BooleanField()))
    given = DecisionInstance.objects.filter(decision=OuterRef("pk"), host=host)
    return window.filter(host_names__in=list(rows)).annotate(chosen=Exists(given))


def _counts(considered: Rows, refused: Rows) -> dict[HostOutcome, tuple[int, datetime | None]]:
    """Two queries: what passes can be told from the difference."""
    every, gone = _grouped(considered), _grouped(refused)
    chosen = [entry for (is_chosen, _), entry in every.items() if is_chosen]
    refusals = [entry for (is_chosen, _), entry in gone.items() if not is_chosen]
    selected = (False, DecisionOutcome.SELECTED.value)
    failed = [key for key in every if not key[0] and key != selected]
    return {
        HostOutcome.CHOSEN: (sum(count for count, _ in chosen), max((at for _, at in chosen), default=None)),
        HostOutcome.OUTRANKED: (_count(every, selected) - _count(gone, selected), None),
        HostOutcome.REFUSED: (sum(count for count, _ in refusals), max((at for _, at in refusals), default=None)),
        HostOutcome.UNDECIDED: (sum(_count(every, key) - _count(gone, key) for key in failed), None),
    }


Group = dict[tuple[bool, str], tuple[int, datetime]]


def _grouped(rows: Rows) -> Group:
    groups = rows.order_by().annotate(given=F("chosen")).values_list("given", "outcome")
    found = groups.annotate(count=Count("id"), newest=Max("created_at"))
    return {(bool(chosen), outcome): (count, newest) for chosen, outcome, count, newest in found}


def _count(group: Group, key: tuple[bool, str]) -> int:
    return group[key][0] if key in group else 0


def _lost(considered: Rows, refused: Rows) -> Rows:
    passed = considered.filter(NOT_CHOSEN, outcome=DecisionOutcome.SELECTED)
    return passed.exclude(pk__in=refused.order_by().values("pk"))


def _rules(refused: Rows, rows: dict[str, int]) -> tuple[tuple[HostRefusalCount, ...], int]:
    """Who refused it, the most frequent first, and how many refusals were read."""
    read = list(_read(refused, REFUSALS_READ, lambda one: refusing_rule(bytes(one.trace), rows[one.host_names])))
    counts = Counter(rule for _, rule in read if rule is not None)
    newest = {rule: pk for pk, rule in reversed(read) if rule is not None}
    return tuple(HostRefusalCount(*rule, count, newest[rule]) for rule, count in counts.most_common()), len(read)


def _read(rows: Rows, maximum: int, reading: Callable[[SchedulingDecision], Found]) -> Iterator[tuple[UUID, Found]]:
    """What each of the newest says, until time is up. What another version wrote says nothing to this one."""
    until = time.monotonic() + READING_S
    shown = rows.only("id", "host_names", "host_count", "trace").order_by("-created_at")[:maximum]
    for number, one in enumerate(shown, 1):
        with suppress(OtherVersion):
            yield one.pk, reading(one)
        if number >= MIN_READ and time.monotonic() > until:
            return


def _ranked(one: SchedulingDecision, row: int) -> RankedOnce | None:
    record = record_without_names(bytes(one.trace), one.host_count)
    return None if record.trace is None else ranked_once(record.trace, row, record.ranked)


def _outranked(lost: Rows, rows: dict[str, int]) -> Outranked:
    read = list(_read(lost, RANKINGS_READ, lambda one: _ranked(one, rows[one.host_names])))
    ranked = [(pk, one) for pk, one in read if one is not None]
    places = [one.rank for _, one in ranked if one.rank is not None]
    return Outranked(
        read=len(read),
        usual_rank=median(places) if places else None,
        usual_ranked=median([one.ranked for _, one in ranked]) if ranked else 0,
        best_rank=min(places, default=None),
        weighers=_costs(ranked),
        examples=tuple(pk for pk, _ in read[:EXAMPLES]),
    )


def _costs(ranked: Sequence[tuple[UUID, RankedOnce]]) -> tuple[WeigherCost, ...]:
    """Weighers that cost the host points, the most expensive first."""
    behind_by = [(pk, dict(one.behind)) for pk, one in ranked if one.behind]
    sums: Counter[str] = Counter()
    firsts: Counter[str] = Counter()
    examples: dict[str, tuple[float, UUID]] = {}
    for pk, behind in behind_by:
        worst = max(behind, key=lambda name: behind[name])
        firsts[worst] += behind[worst] > 0
        for name, points in behind.items():
            sums[name] += points  # type: ignore[assignment]  # a Counter of floats
            examples[name] = max(examples.get(name, (0.0, pk)), (points, pk), key=lambda one: one[0])
    costs = [
        WeigherCost(name, points / len(behind_by), firsts[name], examples[name][1]) for name, points in sums.items()
    ]
    return tuple(sorted((one for one in costs if one.points > 0), key=lambda one: -one.points))
