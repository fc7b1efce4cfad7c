"""Decisions and hosts in numbers, for /metrics. Hosts are counts, never names."""

from collections import Counter
from collections.abc import Iterator

from django.db.models import Avg, Count, Max, Min, Q, Sum
from django.db.models.functions import Abs, Now

from controlplane.infra.db import now_plus
from controlplane.kernel.exposition import Family, Sample, gauge
from scheduling.models import ComputeNode, DecisionOutcome, SchedulingDecision
from scheduling.models.clock import clock_off_condition, fresh_metrics_condition
from scheduling.models.liveness import up_condition

MAX_VERSIONS = 20


def scheduling_families(*, window_s: float) -> list[Family]:
    """Decisions of the last `window_s` seconds, and the hosts as they are now. Four queries."""
    return [*_decision_families(window_s), _host_family(), _version_family(), *_measure_families()]


def _decision_families(window_s: float) -> Iterator[Family]:
    rows = SchedulingDecision.objects.filter(created_at__gte=now_plus(-window_s)).values("outcome").order_by()
    found = {
        row["outcome"]: row
        for row in rows.annotate(
            many=Count("pk"), mean=Avg("duration_us"), longest=Max("duration_us"), lost=Sum("claims_lost")
        )
    }
    yield gauge(
        "kilonova_decisions",
        "Scheduling decisions made within the window, by outcome; a batch is one.",
        (Sample(found[one]["many"] if one in found else 0, {"outcome": one}) for one in DecisionOutcome.values),
    )
    yield gauge(
        "kilonova_claims_lost",
        "Shortages that claims of those decisions met because others took the room first.",
        [Sample(sum(row["lost"] for row in found.values()))],
    )
    yield gauge(
        "kilonova_decision_mean_seconds",
        "Mean time that those decisions took, claims included; missing where there were none.",
        (Sample(row["mean"] / 1e6, {"outcome": outcome}) for outcome, row in sorted(found.items())),
    )
    yield gauge(
        "kilonova_decision_longest_seconds",
        "Longest time that one of those decisions took; missing where there were none.",
        (Sample(row["longest"] / 1e6, {"outcome": outcome}) for outcome, row in sorted(found.items())),
    )


def _host_family() -> Family:
    up = up_condition("service__")
    counts = ComputeNode.objects.aggregate(
        up=Count("pk", filter=up & Q(service__disabled=False)),
        up_disabled=Count("pk", filter=up & Q(service__disabled=True)),
        all=Count("pk"),
    )
    down = counts["all"] - counts["up"] - counts["up_disabled"]
    return gauge(
        "kilonova_hosts",
        "Compute nodes: enabled and up, disabled by an operator and up, or down.",
        (
            Sample(counts["up"], {"state": "up"}),
            Sample(counts["up_disabled"], {"state": "disabled"}),
            Sample(down, {"state": "down"}),
        ),
    )


def _version_family() -> Family:
    rows = ComputeNode.objects.order_by().values_list("agent_version").annotate(many=Count("pk"))
    frequent = rows.order_by("-many", "agent_version")
    counts = Counter[str]()
    for place, (version, many) in enumerate(frequent):
        counts[version or "unknown" if place < MAX_VERSIONS else "other"] += many
    return gauge(
        "kilonova_hosts_by_agent_version",
        f"Compute nodes by the version of their agent, up or down; beyond {MAX_VERSIONS} of them the rest is other.",
        (Sample(many, {"version": version}) for version, many in sorted(counts.items())),
    )


def _measure_families() -> Iterator[Family]:
    """Of hosts that are up: what a silent one said last is not true for ever."""
    up = ComputeNode.objects.filter(up_condition("service__"))
    found = up.aggregate(
        skew=Max(Abs("clock_skew_s")),
        off=Count("pk", filter=clock_off_condition()),
        oldest=Min("metrics_at"),
        fresh=Count("pk", filter=fresh_metrics_condition()),
        all=Count("pk"),
        now=Max(Now()),
    )
    yield gauge(
        "kilonova_host_clock_skew_max_seconds",
        "By how much the clock differs most among hosts that are up; missing where none told.",
        [] if found["skew"] is None else [Sample(found["skew"])],
    )
    yield gauge(
        "kilonova_hosts_clock_off",
        "Hosts that are up and whose clocks differ by more than CLOCK_SKEW_WARNING_S.",
        [Sample(found["off"])],
    )
    yield gauge(
        "kilonova_host_metrics_oldest_seconds",
        "Age of the oldest metrics of a host that is up; missing where none told.",
        [] if found["oldest"] is None else [Sample((found["now"] - found["oldest"]).total_seconds())],
    )
    yield gauge(
        "kilonova_hosts_without_fresh_metrics",
        "Hosts that are up and have told no metrics within METRICS_MAX_AGE_S.",
        [Sample(found["all"] - found["fresh"])],
    )
