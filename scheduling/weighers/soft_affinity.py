"""The soft server group rules: members together, or apart, where there is a choice."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class ServerGroupSoftAffinityWeigher(Weigher):
    """Raw value: members of the group on the host; 0 unless the policy is `soft-affinity`."""

    multiplier_key = "soft_affinity_weight_multiplier"
    min_multiplier = 0.0

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...] | None:
        """Who is where, and nothing at all without such a group."""
        return None if _applies(spec, "soft-affinity") else ()

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Members on the host."""
        return _members(hosts, spec, "soft-affinity")


class ServerGroupSoftAntiAffinityWeigher(Weigher):
    """Raw value: minus the members of the group on the host; 0 unless the policy is `soft-anti-affinity`."""

    multiplier_key = "soft_anti_affinity_weight_multiplier"
    min_multiplier = 0.0

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...] | None:
        """Who is where, and nothing at all without such a group."""
        return None if _applies(spec, "soft-anti-affinity") else ()

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Members on the host, negated (and never -0)."""
        return 0.0 - _members(hosts, spec, "soft-anti-affinity")


def _members(hosts: Hosts, spec: RequestSpecView, policy: str) -> FloatArray:
    group = spec.instance_group
    if group is None or not _applies(spec, policy):
        return np.zeros(len(hosts), dtype=np.float64)
    return hosts.of(hosts.table.counts_of_instances(group.members)).astype(np.float64)


def _applies(spec: RequestSpecView, policy: str) -> bool:
    return spec.instance_group is not None and spec.instance_group.policy == policy
