"""What hosts measured of themselves lately, cached for a moment: they measure once a minute.

Metrics of a host that has been silent for METRICS_MAX_AGE_S are not believed: it counts as one that reports none, so
MetricsFilter refuses it, and MetricsWeigher gives it what the policy says of a lacking metric.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from django.db.models.fields.json import KeyTransform

from scheduling.domain.policy import Policy
from scheduling.filters.metrics import MetricsFilter
from scheduling.filters.registry import BUILT_IN as FILTERS
from scheduling.models import ComputeNode
from scheduling.models.clock import fresh_metrics_condition
from scheduling.weighers.metrics import MetricsWeigher
from scheduling.weighers.registry import BUILT_IN as WEIGHERS

CACHED_S = 5.0
Metrics = Mapping[str, Mapping[str, float]]
"""By compute node, then by name of the metric."""
NONE: Metrics = {}
EVERY = None
"""In place of names: all metrics, for whoever may ask for any."""


class HostMetricsCache:
    """One per process (`host_metrics`); safe to share between threads. What it hands out never changes afterwards."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._read: dict[frozenset[str] | None, tuple[float, Metrics]] = {}

    def of(self, names: frozenset[str] | None) -> Metrics:
        """The fresh metrics of these names. One query every CACHED_S seconds."""
        if names is not None and not names:
            return NONE
        with self._lock:
            now = self._clock()
            self._read = {key: entry for key, entry in self._read.items() if now - entry[0] < CACHED_S}
            if names not in self._read:
                self._read[names] = (now, _read(names))
            return self._read[names][1]

    def forget(self) -> None:
        """Read anew next time."""
        with self._lock:
            self._read = {}


def metrics_asked(policies: Iterable[Policy]) -> frozenset[str] | None:
    """The names of the metrics that these policies look at; EVERY where one has a plug-in, which may ask for any."""
    found: set[str] = set()
    for policy in policies:
        weighers = {each.name for each in policy.weighers if each.multiplier != 0}
        if has_plugins(policy):
            return EVERY
        if MetricsFilter.__name__ in policy.filters or MetricsWeigher.__name__ in weighers:
            found.update(policy.options.metrics_weight_setting)
    return frozenset(found)


def has_plugins(policy: Policy) -> bool:
    """Whether filters or weighers of others see the hosts."""
    weighers = (each.name for each in policy.weighers)
    return not FILTERS.keys() >= set(policy.filters) or not WEIGHERS.keys() >= set(weighers)


def _read(names: frozenset[str] | None) -> Metrics:
    """Only what is asked for leaves the database: all metrics of a large fleet are megabytes."""
    rows = ComputeNode.objects.filter(fresh_metrics_condition()).order_by()
    if names is None:
        return {node: _numbers(metrics) for node, metrics in rows.values_list("hypervisor_hostname", "metrics")}
    asked = sorted(names)
    values = rows.values_list("hypervisor_hostname", *(KeyTransform(name, "metrics") for name in asked))
    return {node: _numbers(dict(zip(asked, found, strict=True))) for node, *found in values}


def _numbers(metrics: Mapping[str, object]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}


_CACHE = HostMetricsCache()


def host_metrics() -> HostMetricsCache:
    """Those of this process."""
    return _CACHE
