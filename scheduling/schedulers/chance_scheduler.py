"""Any host that can take the instance, by lot: for tests of a cloud, and for comparing policies with no policy."""

from dataclasses import replace

from scheduling.domain.policy import Policy
from scheduling.schedulers.filter_scheduler import FilterScheduler

FILTERS = ("ComputeFilter", "NUMATopologyFilter", "PciPassthroughFilter", "ServerGroupAntiAffinityFilter")
"""Is it up and enabled; and what the claim would refuse anyway, so that the lot does not fall on it."""


class ChanceScheduler(FilterScheduler):
    """Of the hosts with room that the request allows (zone, forced or ignored hosts) and that are up, one by lot.

    The policy's own filters and weighers do not count. With no weigher all hosts are equal, and equals are shuffled
    by the seed: the winner, and the alternates after it.
    """

    def rules(self, policy: Policy) -> Policy:
        """No weighers, and no filters but FILTERS."""
        return replace(policy, filters=FILTERS, weighers=(), host_subset_size=1, shuffle_best_same_weighed_hosts=True)
