"""AllHostsFilter: lets every host pass."""

from typing import ClassVar

from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class AllHostsFilter(Filter):
    """For policies that want a chain without rules."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        return []
