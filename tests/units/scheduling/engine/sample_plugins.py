"""Filters and weighers as other people write them, in Nova's per-host form."""

from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters import BaseHostFilter
from scheduling.weighers import BaseHostWeigher, Weigher


class OnlyEven(BaseHostFilter):
    """Hosts whose name ends in an even digit."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        return int(host_state.host[-1]) % 2 == 0


class Unrelated:
    """Inherits from nothing of ours."""

    run_filter_once_per_request = True

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return bool(host_state.free_ram_mb >= spec_obj.memory_mb and host_state.host != "h0")


class WithNumbers(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool | Refusal:
        return Refusal(RefusalReason.NUM_INSTANCES, wanted=1, available=2)


class Raising(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        raise KeyError("no such key")


class Babbling(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        return "yes"  # type: ignore[return-value]


class Limiting(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        host_state.limits["vcpu"] = host_state.vcpus_total
        return True


class Scribbling(BaseHostFilter):
    """Writes where it must not matter."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        host_state.free_ram_mb = 0
        host_state.stats["x"] = 1
        host_state.aggregates.clear()
        return True


class ByName(BaseHostWeigher):
    def _weigh_object(self, host_state: HostState, weight_properties: RequestSpecView) -> float:
        return float(host_state.host[-1])


class ByNameDoubled(ByName):
    def weight_multiplier(self, host_state: HostState) -> float:
        return 2.0


class Stranger:
    """A weigher that inherits from nothing of ours, with bounds."""

    minval = 0
    maxval = 4

    def weight_multiplier(self, host_state: Any) -> float:
        return -1.0

    def _weigh_object(self, host_state: Any, weight_properties: Any) -> int:
        return int(host_state.host[-1])


class NotANumber(BaseHostWeigher):
    def _weigh_object(self, host_state: HostState, weight_properties: RequestSpecView) -> float:
        return float("nan")


class WrongLength(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        return np.zeros(1)


class RaisingWeigher(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        raise ZeroDivisionError


class NeitherNor:
    """No plug-in at all."""


class Unmakeable:
    def __init__(self, needed: int) -> None:
        self.needed = needed
