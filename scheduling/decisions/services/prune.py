"""Letting go of old decisions, and of the fleets that they saw."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from controlplane.infra.db import db_now
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.models import FleetSnapshot, HostNames, SchedulingDecision

log = logging.getLogger(__name__)

BATCH = 500
# A transaction that is about to speak of a fleet or of names has ended after this long.
GRACE = timedelta(hours=1)
# Processes build on the fleets that they wrote in the last hours: see ledger.chain.WHOLE_FOR_S.
MIN_SNAPSHOT_AGE = timedelta(days=1)
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went."""

    decisions: int = 0
    snapshots: int = 0
    host_names: int = 0


def decisions_prune(*, batch: int = BATCH) -> Pruned:
    """Delete what is older, or more, than the settings keep. In batches; safe to run twice, also at once."""
    options = scheduling_options()
    decisions = 0
    for ids in _expired(options, batch):
        # With all their rows, each kind in one statement; traces are not loaded.
        _, by_model = SchedulingDecision.objects.filter(id__in=ids).only("id").delete()
        decisions += by_model.get(SchedulingDecision._meta.label, 0)
    pruned = Pruned(decisions, _snapshots_prune(options), _host_names_prune())
    if pruned != Pruned():
        log.info(
            "pruned %d decisions, %d fleets, %d tables of host names",
            pruned.decisions,
            pruned.snapshots,
            pruned.host_names,
        )
    return pruned


def _expired(options: SchedulingOptions, batch: int) -> Iterator[list[UUID]]:
    rows = SchedulingDecision.objects.order_by("created_at", "id").values_list("id", flat=True)
    while options.decision_retention_days:
        oldest = db_now() - timedelta(days=options.decision_retention_days)
        ids = list(rows.filter(created_at__lt=oldest)[:batch])
        if not ids:
            break
        yield ids
    while options.decision_retention_count:
        newest_first = SchedulingDecision.objects.order_by("-created_at", "-id").values_list("id", flat=True)
        count = options.decision_retention_count
        ids = list(newest_first[count : count + batch])
        if not ids:
            break
        yield ids


def _snapshots_prune(options: SchedulingOptions) -> int:
    """Those that no decision speaks of any more and, of any, those that are too old; never the base of another."""
    now = db_now()
    days = timedelta(days=options.decision_snapshot_days)
    gone = 0
    for _ in range(_LEVELS):
        seen = SchedulingDecision.objects.filter(snapshot=OuterRef("digest"))
        gone += _leaves(now - GRACE).filter(~Exists(seen)).delete()[0]
        if days:
            gone += _leaves(now - max(days, MIN_SNAPSHOT_AGE)).delete()[0]
    return gone


def _leaves(oldest: datetime) -> QuerySet[FleetSnapshot]:
    based = FleetSnapshot.objects.filter(base=OuterRef("digest"))
    return FleetSnapshot.objects.filter(~Exists(based), created_at__lt=oldest)


def _host_names_prune() -> int:
    """First a warning, then, if nobody took it back within the grace, the row."""
    spoken_of = SchedulingDecision.objects.filter(host_names=OuterRef("digest"))
    unused = HostNames.objects.filter(~Exists(spoken_of))
    gone, _ = unused.filter(unused_since__lt=db_now() - GRACE).delete()
    unused.filter(unused_since=None, created_at__lt=db_now() - GRACE).update(unused_since=Now())
    return gone
