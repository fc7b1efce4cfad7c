"""Keep some memory of every host free. One rule in both forms: host by host, and over all hosts at once.

How much is an option of the policy: `"options": {"extra": {"spare_memory_mib": 4096}}`.
"""

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters import BaseHostFilter, Filter


def min_free_mib(spec: RequestSpecView) -> int:
    """Memory in MiB that must be free before the instance comes: what it wants, and what is to stay free."""
    return spec.memory_mb + int(spec.options.extra.get("spare_memory_mib", 0))


class SpareMemoryHostFilter(BaseHostFilter):
    """Host by host, as filters for Nova are written."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool | Refusal:
        """True, or a refusal with the numbers."""
        wanted, free = min_free_mib(spec_obj), host_state.free_ram_mb
        if free >= wanted:
            return True
        return Refusal(RefusalReason.RAM_SHORT, wanted=wanted, available=free, unit="MB", detail="spare memory")


class SpareMemoryFilter(Filter):
    """Over columns: one comparison for the whole fleet."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """The hosts with less, in one group."""
        wanted, free = min_free_mib(spec), hosts.of(hosts.table.free_ram_mb)
        return hosts.refuse(
            free < wanted, RefusalReason.RAM_SHORT, wanted=wanted, available=free, unit="MB", detail="spare memory"
        )
