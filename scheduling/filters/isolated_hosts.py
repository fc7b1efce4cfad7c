"""IsolatedHostsFilter: some images on some hosts only."""

from typing import ClassVar

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import BoolArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class IsolatedHostsFilter(Filter):
    """Images in `isolated_images` (by id) run on hosts in `isolated_hosts` (by service host, to the letter) only.

    Other images stay away from those hosts, unless `restrict_isolated_hosts_to_isolated_images` is off.
    """

    run_filter_once_per_request: ClassVar[bool] = True
    RUN_ON_REBUILD: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """For an isolated image the hosts that are not; for another one, if restricted, those that are."""
        image, options = spec.image.id, spec.options
        inside = _isolated(hosts, frozenset(options.isolated_hosts))
        if image in options.isolated_images:
            return hosts.refuse(~inside, RefusalReason.HOST_NOT_ISOLATED, wanted=image)
        if options.restrict_isolated_hosts_to_isolated_images:
            return hosts.refuse(inside, RefusalReason.HOST_ISOLATED, wanted=image)
        return []


def _isolated(hosts: Hosts, names: frozenset[str]) -> BoolArray:
    table = hosts.table
    rows = [row for row in table.rows_of_hosts(names).tolist() if table.hosts[row] in names]
    return hosts.mask(np.array(rows, dtype=np.int64))
