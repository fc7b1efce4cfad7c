"""Server group rules: hard affinity and anti-affinity (the soft ones are weighers)."""

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class ServerGroupAffinityFilter(Filter):
    """Policy `affinity`: all members on the group's hosts; a group without hosts yet may start anywhere."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are not among the group's."""
        group = spec.instance_group
        if group is None or group.policy != "affinity" or not group.hosts:
            return []
        inside = hosts.mask(hosts.table.rows_of_hosts(group.hosts))
        return hosts.refuse(~inside, RefusalReason.GROUP_AFFINITY, wanted=", ".join(group.hosts))


class ServerGroupAntiAffinityFilter(Filter):
    """Policy `anti-affinity`: fewer than `max_server_per_host` members on the host (1 unless a rule says more).

    A host that already holds this very instance passes, so that a move may end where it began.
    """

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are full for this group, with how many members they hold."""
        group = spec.instance_group
        if group is None or group.policy != "anti-affinity":
            return []
        members = hosts.of(hosts.table.counts_of_instances(group.members))
        own = hosts.mask(hosts.table.rows_of_instances((spec.instance_uuid,)))
        maximum = group.max_server_per_host
        full = np.logical_and(members >= maximum, ~own)
        return hosts.refuse(full, RefusalReason.GROUP_ANTI_AFFINITY, wanted=maximum, available=members)
