"""MetricsFilter: hosts must report the metrics that the policy weighs by."""

from collections.abc import Mapping
from typing import Any, ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class MetricsFilter(Filter):
    """Every metric named in `metrics_weight_setting` is among those the host reports."""

    judges_hosts_alone: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that lack one, naming all they lack."""
        needed = frozenset(spec.options.metrics_weight_setting)

        def judge(metrics: Mapping[str, Any]) -> Refusal | None:
            missing = sorted(needed.difference(metrics))
            return Refusal(RefusalReason.METRIC_MISSING, wanted=", ".join(missing)) if missing else None

        return hosts.refuse_by(hosts.table.metrics, judge)
