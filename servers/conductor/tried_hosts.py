"""Hosts that an instance was built on in vain: what the scheduler is told of them."""

from collections.abc import Sequence
from dataclasses import replace

from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.filters.retry import RetryFilter
from scheduling.fleet.selectors.hosts import nodes_of_hosts

RETRY = RetryFilter.__name__


def not_again_on(request: ScheduleRequest, hosts: Sequence[str], policy: Policy) -> ScheduleRequest:
    """The request with these hosts and their nodes as tried in vain.

    Where the policy has RetryFilter, that filter refuses them and says so; else the request asks to ignore them.
    """
    tried = replace(request, retry=tuple(nodes_of_hosts(hosts)))
    return tried if RETRY in policy.filters else replace(tried, ignore_hosts=tuple(hosts))
