"""Work and leases in numbers, for /metrics: a constant number of queries, whatever waits.

Labels are bounded: a queue is told by what serves it, never by its host; a kind is one that an app has registered.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, Count, F, Min, Q, Sum, Value, When
from django.db.models.functions import Now

from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.exposition import Family, Sample, gauge
from controlplane.work.jobs import CANARY_LEASE, KINDS, RECONCILE_LEASE
from controlplane.work.models import Heal, NamedLease, Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import CONDUCTOR_QUEUE, compute_queue

OTHER = "other"
QUEUES = ("conductor", "compute")
ENDED_STATES = (WorkState.DONE, WorkState.FAILED, WorkState.CANCELLED)
NAMED_LEASES = {RECONCILE_LEASE: "reconciler", CANARY_LEASE: "conductor"}
"""Leases that somebody holds as long as the installation is alive, and who that is."""

_UNHELD = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
_QUEUE_KIND = Case(
    When(queue=CONDUCTOR_QUEUE, then=Value("conductor")),
    When(queue__startswith=compute_queue(""), then=Value("compute")),
    default=Value(OTHER),
    output_field=CharField(),
)

Rows = list[dict[str, Any]]


def work_families(*, window_s: float) -> list[Family]:
    """What is open, what ended within the last `window_s` seconds, who leads. Five queries."""
    now = db_now()
    ended = _ended_families(_ended_rows(window_s))
    return [*_open_families(_open_rows(), now), *ended, _heal_family(window_s), _lead_family(now)]


def conductor_queue_age_s() -> float:
    """Seconds for which the oldest work of the conductor that nobody holds has waited; 0 when none does."""
    rows = Work.objects.filter(_UNHELD, queue=CONDUCTOR_QUEUE)
    oldest = rows.aggregate(oldest=Min("created_at"))["oldest"]
    return _age_s(oldest, db_now())


def _open_rows() -> Rows:
    rows = Work.objects.filter(state__in=OPEN_STATES).annotate(served_by=_QUEUE_KIND)
    grouped = rows.values("served_by", "kind", "state").order_by()
    return list(
        grouped.annotate(
            many=Count("pk"),
            oldest=Min("created_at", filter=_UNHELD),
            never_taken=Count("pk", filter=Q(attempt=0)),
            taken_once=Count("pk", filter=Q(attempt=1)),
            taken_twice=Count("pk", filter=Q(attempt=2)),
            expired=Count("pk", filter=Q(state=WorkState.RUNNING, lease_until__lt=Now())),
            overdue=Count("pk", filter=Q(deadline_at__lte=Now())),
        )
    )


def _ended_rows(window_s: float) -> Rows:
    rows = Work.objects.filter(finished_at__gte=now_plus(-window_s), state__in=ENDED_STATES)
    return list(rows.values("kind", "state").order_by().annotate(many=Count("pk"), attempts=Sum(F("attempt"))))


def _open_families(rows: Rows, now: datetime) -> Iterator[Family]:
    queues = dict.fromkeys((*QUEUES, *(row["served_by"] for row in rows)), 0.0)
    for row in rows:
        queues[row["served_by"]] = max(queues[row["served_by"]], _age_s(row["oldest"], now))
    yield gauge(
        "kilonova_queue_age_seconds",
        "Age of the oldest open work that nobody holds, by what serves its queue; 0 when none waits.",
        (Sample(age, {"queue": queue}) for queue, age in queues.items()),
    )
    counts = _summed((_kind_of(row), str(row["state"]), row["many"]) for row in rows)
    kinds = sorted({*KINDS, *(kind for kind, _ in counts)})
    yield gauge(
        "kilonova_work_open",
        "Work that waits or runs, by kind and state.",
        (Sample(counts[kind, str(s)], {"kind": kind, "state": str(s)}) for kind in kinds for s in OPEN_STATES),
    )
    yield from _attempt_families(rows)


def _attempt_families(rows: Rows) -> Iterator[Family]:
    total = {name: sum(row[name] for row in rows) for name in ("many", "never_taken", "taken_once", "taken_twice")}
    often = total["many"] - total["never_taken"] - total["taken_once"] - total["taken_twice"]
    by_attempts = {"0": total["never_taken"], "1": total["taken_once"], "2": total["taken_twice"], "3+": often}
    yield gauge(
        "kilonova_work_open_by_attempts",
        "Open work by how often somebody has taken it; more than once means that an earlier holder failed or died.",
        (Sample(many, {"attempts": attempts}) for attempts, many in by_attempts.items()),
    )
    running = sum(row["many"] for row in rows if row["state"] == WorkState.RUNNING)
    expired = sum(row["expired"] for row in rows)
    yield gauge(
        "kilonova_work_leases",
        "Leases of running work: held, or expired and to be taken over.",
        (Sample(running - expired, {"state": "held"}), Sample(expired, {"state": "expired"})),
    )
    overdue = sum(row["overdue"] for row in rows)
    yield gauge("kilonova_work_overdue", "Open work past its deadline, to be ended.", [Sample(overdue)])


def _ended_families(rows: Rows) -> Iterator[Family]:
    counts = _summed((_kind_of(row), str(row["state"]), row["many"]) for row in rows)
    attempts = _summed((_kind_of(row), "", row["attempts"]) for row in rows)
    kinds = sorted({*KINDS, *(kind for kind, _ in counts)})
    yield gauge(
        "kilonova_work_ended",
        "Work that ended within the window, by kind and outcome.",
        (Sample(counts[kind, str(s)], {"kind": kind, "outcome": str(s)}) for kind in kinds for s in ENDED_STATES),
    )
    yield gauge(
        "kilonova_work_ended_attempts",
        "Attempts of the work that ended within the window, by kind; cancelling and ending overdue work adds one.",
        (Sample(attempts[kind, ""], {"kind": kind}) for kind in kinds),
    )


def _heal_family(window_s: float) -> Family:
    rows = Heal.objects.filter(created_at__gte=now_plus(-window_s)).values("kind").order_by()
    counts = rows.annotate(many=Count("pk")).values_list("kind", "many")
    return gauge(
        "kilonova_heals",
        "What the control plane put right by itself within the window, by kind; a kind without any is missing.",
        (Sample(many, {"kind": kind}) for kind, many in sorted(counts)),
    )


def _lead_family(now: datetime) -> Family:
    rows = NamedLease.objects.filter(name__in=NAMED_LEASES).values_list("name", "until")
    return gauge(
        "kilonova_lead_seconds",
        "Seconds until the lease of the reconciler and of the conductor's canary ends; negative: nobody has held it "
        "for so long. Missing: it was never held.",
        (Sample((until - now).total_seconds(), {"lease": NAMED_LEASES[name]}) for name, until in sorted(rows)),
    )


def _kind_of(row: Mapping[str, Any]) -> str:
    return str(row["kind"]) if row["kind"] in KINDS else OTHER


def _summed(parts: Iterable[tuple[str, str, int]]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for kind, state, many in parts:
        found[kind, state] += many
    return found


def _age_s(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
