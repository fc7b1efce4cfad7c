"""The report of this host: what the driver finds, what the operator overrides, what the instances take."""

from dataclasses import replace

from computeagent.agent.options import AgentOptions
from computeagent.agent.resource_tracker import Usage
from computeagent.conductor import HostReport, PowerState
from computeagent.drivers.base import GuestOnHypervisor


def with_overrides(report: HostReport, options: AgentOptions) -> HostReport:
    """The totals that count for claims and for Placement."""
    return replace(
        report,
        vcpus=report.vcpus if options.vcpus is None else options.vcpus,
        memory_mib=report.memory_mib if options.memory_mib is None else options.memory_mib,
        disk_gib=report.disk_gib if options.disk_gib is None else options.disk_gib,
    )


def with_usage(report: HostReport, used: Usage, guests: list[GuestOnHypervisor]) -> HostReport:
    """What the control plane keeps on the compute node's row."""
    return replace(
        report,
        vcpus_used=used.vcpus,
        memory_used_mib=used.memory_mib,
        disk_used_gib=used.disk_gib,
        running_guests=sum(guest.power_state is PowerState.RUNNING for guest in guests),
    )
