"""Groups of policy `legacy`, from before server groups had policies of their own. Source: Nova until 2014.2."""

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import BoolArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.group_counts import LEGACY
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.schedule_request import GroupSnapshot
from scheduling.filters.base import Filter

POLICY = LEGACY


class GroupAffinityFilter(Filter):
    """All members of a legacy group on the group's hosts; a group without hosts yet may start anywhere."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that are not among the group's."""
        group = _legacy_group(spec)
        if group is None:
            return []
        return hosts.refuse(~_of_group(hosts, group), RefusalReason.GROUP_AFFINITY, wanted=", ".join(group.hosts))


class GroupAntiAffinityFilter(Filter):
    """Each member of a legacy group on a host of its own: none of those the group has. No `max_server_per_host`."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """The group's hosts, with how many members they hold."""
        group = _legacy_group(spec)
        if group is None:
            return []
        # A host may be known as the group's though the member that made it so cannot be named.
        members = np.maximum(hosts.of(hosts.table.counts_of_instances(group.members)), 1)
        return hosts.refuse(_of_group(hosts, group), RefusalReason.GROUP_ANTI_AFFINITY, wanted=1, available=members)


def _legacy_group(spec: RequestSpecView) -> GroupSnapshot | None:
    group = spec.instance_group
    return group if group is not None and group.policy == POLICY and group.hosts else None


def _of_group(hosts: Hosts, group: GroupSnapshot) -> BoolArray:
    return hosts.mask(hosts.table.rows_of_hosts(group.hosts))
