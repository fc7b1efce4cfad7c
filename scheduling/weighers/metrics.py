"""MetricsWeigher: weighs what monitors on the host measured, each metric by a ratio of the policy's."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from controlplane.kernel.texts import phrase as _
from scheduling.domain.columns import BoolArray, FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Multiplier, Weigher


class MetricsWeigher(Weigher):
    """Raw value: the sum of metric * ratio over `metrics_weight_setting`.

    A host that lacks a metric has `metrics_weight_of_unavailable` instead of the sum, unless the ratio or the host's
    multiplier is 0. Under `metrics_required` it fails the request: MetricsFilter keeps such hosts out. A metric that
    is no finite number counts as lacking. Source: Nova's metrics weigher.
    """

    multiplier_key = "metrics_weight_multiplier"

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """Metrics, as of the snapshot."""
        return (table.metrics,)

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """The weighted sums at the weigher's own multiplier. Raises PluginFailed for a required metric that lacks."""
        return self._sums(hosts, spec.options, self.default_multiplier)

    def weigh(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> tuple[FloatArray, Multiplier]:
        """Raw values with the multipliers, which say what a lacking metric is worth."""
        multiplier = self.multipliers(hosts, spec, configured)
        return self._sums(hosts, spec.options, multiplier), multiplier

    def _sums(self, hosts: Hosts, options: PolicyOptions, multiplier: Multiplier) -> FloatArray:
        sums = np.zeros(len(hosts), dtype=np.float64)
        lost = np.zeros(len(hosts), dtype=np.bool_)
        matters = np.broadcast_to(np.asarray(multiplier) != 0, len(hosts))
        column = hosts.table.metrics
        codes = hosts.of(column.codes)
        for name, ratio in options.metrics_weight_setting.items():
            values = np.array([_number(one, name) for one in column.values], dtype=np.float64)[codes]
            lacking = np.isnan(values)
            if options.metrics_required:
                self._check(hosts, lacking, name)
            sums += np.where(lacking, 0.0, values) * ratio
            if ratio:
                lost |= lacking & matters
        return np.where(lost, options.metrics_weight_of_unavailable, sums)

    def _check(self, hosts: Hosts, lacking: BoolArray, name: str) -> None:
        if lacking.any():
            host = hosts.table.hosts[int(hosts.rows[lacking][0])]
            message = _(
                "the weigher {name} requires the metric {name_2}, {host} reports none",
                name=self.name,
                name_2=name,
                host=host,
            )
            raise PluginFailed(message, plugin=self.name, host=host)


def _number(metrics: Mapping[str, Any], name: str) -> float:
    """The metric as a number; NaN where it is not reported, or is no finite number."""
    value = metrics.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    return float(value) if value is not None and is_number else float("nan")
