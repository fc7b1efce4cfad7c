"""A scheduler that packs small instances on full hosts and spreads large ones, as the policy's weighers say.

How small is an option of the policy: `"options": {"extra": {"small_vcpus": 2}}`.
"""

from dataclasses import replace
from typing import Any

from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy, WeigherSetting
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler

PACKED = ("RAMWeigher", "CPUWeigher")


class PackSmall(FilterScheduler):
    """The filter scheduler; for small flavors the host with the least free memory and vCPUs comes first."""

    def schedule(self, table: HostTable, request: ScheduleRequest, policy: Policy, seed: int, **more: Any) -> Trace:
        """The engine's plan, under a policy that fits the size of the request."""
        if request.flavor.vcpus <= int(policy.options.extra.get("small_vcpus", 2)):
            policy = packing(policy)
        return super().schedule(table, request, policy, seed, **more)


def packing(policy: Policy) -> Policy:
    """The same policy with the weighers of free room turned around."""
    return replace(policy, weighers=tuple(_turned(each) for each in policy.weighers))


def _turned(setting: WeigherSetting) -> WeigherSetting:
    if setting.name not in PACKED:
        return setting
    return WeigherSetting(setting.name, -abs(1.0 if setting.multiplier is None else setting.multiplier))
