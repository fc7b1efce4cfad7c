"""SameHostFilter: together with any of the listed servers."""

from typing import ClassVar

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class SameHostFilter(Filter):
    """Hint `same_host`: the host holds at least one of these servers (any, not all). No hint: every host passes."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that hold none of them."""
        wanted = spec.scheduler_hints.get("same_host", ())
        if not wanted:
            return []
        holding = hosts.mask(hosts.table.rows_of_instances(wanted))
        return hosts.refuse(~holding, RefusalReason.NOT_SAME_HOST, wanted=", ".join(wanted))
