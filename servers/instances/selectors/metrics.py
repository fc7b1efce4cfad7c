"""Builds and steps in numbers, for /metrics: two queries, and no name of a host or project in a label."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import ceil

from django.db.models import Count

from controlplane.infra.db import now_plus
from controlplane.kernel.exposition import Family, MetricType, Sample, gauge
from servers.models import AttemptRecord, InstanceActionEvent

BUILD_OUTCOMES = ("active", "rescheduled", "failed", "cancelled")
QUANTILES = (0.5, 0.95, 0.99)
MAX_STEPS = 5000
"""How many of the newest ended steps are read: enough for a quantile, and a bound on what a scrape costs."""

MAX_NAMES = 40
OTHER = "other"

StepSeconds = tuple[str, str, float]
"""Name, result, seconds."""


def server_families(*, window_s: float) -> list[Family]:
    """Attempts to build and steps of actions that ended within the last `window_s` seconds. Two queries."""
    return [_build_family(window_s), *_step_families(_steps(window_s))]


def _build_family(window_s: float) -> Family:
    rows = AttemptRecord.objects.filter(finished_at__gte=now_plus(-window_s)).values("outcome").order_by()
    counts = {row["outcome"]: row["many"] for row in rows.annotate(many=Count("pk"))}
    return gauge(
        "kilonova_builds",
        "Attempts to build an instance on a host that ended within the window, by outcome.",
        (Sample(counts.get(one, 0), {"outcome": one}) for one in BUILD_OUTCOMES),
    )


def _steps(window_s: float) -> list[StepSeconds]:
    rows = InstanceActionEvent.objects.filter(finished_at__gte=now_plus(-window_s)).order_by("-finished_at")
    times = rows.values_list("name", "result", "started_at", "finished_at")[:MAX_STEPS]
    return [(name, result, _seconds(began, ended)) for name, result, began, ended in times if ended is not None]


def _step_families(steps: list[StepSeconds]) -> Iterator[Family]:
    named = _bounded(steps)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    results: Counter[tuple[str, str]] = Counter()
    for name, result, took in named:
        seconds[name].append(took)
        results[name, result or "cut"] += 1
    yield Family(
        "kilonova_step_duration_seconds",
        MetricType.SUMMARY,
        f"How long steps of instance actions took that ended within the window (the newest {MAX_STEPS}); "
        "sum and count are of the window too, and not cumulative.",
        tuple(_summary(seconds)),
    )
    yield gauge(
        "kilonova_steps_ended",
        "Those steps by result.",
        (Sample(many, {"step": name, "result": result}) for (name, result), many in sorted(results.items())),
    )


def _summary(seconds: Mapping[str, list[float]]) -> Iterator[Sample]:
    for name, values in sorted(seconds.items()):
        ranked = sorted(values)
        for quantile in QUANTILES:
            rank = max(0, ceil(quantile * len(ranked)) - 1)
            yield Sample(ranked[rank], {"step": name, "quantile": str(quantile)})
        yield Sample(sum(ranked), {"step": name}, "_sum")
        yield Sample(len(ranked), {"step": name}, "_count")


def _bounded(steps: Iterable[StepSeconds]) -> list[StepSeconds]:
    """Agents name steps: beyond the MAX_NAMES most frequent ones all are `other`."""
    every = list(steps)
    frequent = {name for name, _ in Counter(name for name, _, _ in every).most_common(MAX_NAMES)}
    return [(name if name in frequent else OTHER, result, took) for name, result, took in every]


def _seconds(began: datetime, ended: datetime) -> float:
    return max(0.0, (ended - began).total_seconds())
