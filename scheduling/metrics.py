"""Decisions and hosts in numbers, for /metrics. Hosts are counts, never names."""

from collections.abc import Iterator

from django.db.models import Avg, Count, Max, Q, Sum

from controlplane.infra.db import now_plus
from controlplane.kernel.exposition import Family, Sample, gauge
from scheduling.models import ComputeNode, DecisionOutcome, SchedulingDecision
from scheduling.models.liveness import up_condition


def scheduling_families(*, window_s: float) -> list[Family]:
    """Decisions of the last `window_s` seconds, and the hosts as they are now. Two queries."""
    return [*_decision_families(window_s), _host_family()]


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
