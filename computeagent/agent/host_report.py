"""The report of this host: what the driver finds, and what the instances take of it."""

from dataclasses import replace

from computeagent.agent.resource_tracker import Usage
from computeagent.conductor import HostReport, PowerState
from computeagent.drivers.base import GuestOnHypervisor


def with_usage(report: HostReport, used: Usage, guests: list[GuestOnHypervisor]) -> HostReport:
    """The report with usage as the control plane counts it: by what was asked for, whether a guest runs or not."""
    return replace(
        report,
        vcpus_used=used.vcpus,
        memory_used_mib=used.memory_mib,
        disk_used_gib=used.disk_gib,
        running_guests=sum(guest.power_state is PowerState.RUNNING for guest in guests),
    )
