"""A scheduler that packs small instances on full hosts and spreads large ones, as the policy's weighers say.

How small is an option of the policy: `"options": {"extra": {"small_vcpus": 2}}`.
"""

from dataclasses import replace

from scheduling.domain.policy import Policy, WeigherSetting
from scheduling.domain.trace.trace import Trace
from scheduling.schedulers import FilterScheduler, ScheduleCall

PACKED = ("RAMWeigher", "CPUWeigher")


class PackSmall(FilterScheduler):
    """The filter scheduler; for small flavors the host with the least free memory and vCPUs comes first."""

    def schedule(self, call: ScheduleCall) -> Trace:
        """The engine's plan, under a policy that fits the size of the request."""
        if call.request.flavor.vcpus <= int(call.policy.options.extra.get("small_vcpus", 2)):
            call = replace(call, policy=packing(call.policy))
        return super().schedule(call)


def packing(policy: Policy) -> Policy:
    """The same policy with the weighers of free room turned around."""
    return replace(policy, weighers=tuple(_turned(each) for each in policy.weighers))


def _turned(setting: WeigherSetting) -> WeigherSetting:
    if setting.name not in PACKED:
        return setting
    return WeigherSetting(setting.name, -abs(1.0 if setting.multiplier is None else setting.multiplier))
