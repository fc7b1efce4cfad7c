"""ComputeFilter: the compute service must be enabled and up."""

from functools import partial
from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class ComputeFilter(Filter):
    """Refuses hosts that are disabled or not up at the time of the snapshot."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Disabled first, then down, with what the operator or the liveness said about it."""
        return refuse_in_turn(hosts, (_disabled, _down))


def _disabled(hosts: Hosts) -> list[RefusalGroup]:
    refused = hosts.where(~hosts.of(hosts.table.enabled))
    return refused.refuse_by(hosts.table.status_detail, partial(_refusal, RefusalReason.DISABLED))


def _down(hosts: Hosts) -> list[RefusalGroup]:
    refused = hosts.where(~hosts.of(hosts.table.up))
    return refused.refuse_by(hosts.table.status_detail, partial(_refusal, RefusalReason.DOWN))


def _refusal(reason: RefusalReason, detail: str) -> Refusal:
    return Refusal(reason, detail=detail)
