"""DifferentHostFilter: apart from all of the listed servers."""

from functools import partial
from typing import ClassVar

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class DifferentHostFilter(Filter):
    """Hint `different_host`: the host holds none of these servers."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that hold one of them, naming it."""
        unwanted = spec.scheduler_hints.get("different_host", ())
        return refuse_in_turn(hosts, [partial(_holding, uuid) for uuid in unwanted])


def _holding(uuid: str, hosts: Hosts) -> list[RefusalGroup]:
    holding = hosts.mask(hosts.table.rows_of_instances((uuid,)))
    return hosts.refuse(holding, RefusalReason.NOT_DIFFERENT_HOST, available=uuid)
