"""The report of this host: what the driver finds, and what the instances take of it."""

from dataclasses import replace

from computeagent.agent.resource_tracker import Usage
from computeagent.drivers.base import Driver
from computeagent.protocol.guests import GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostMeasures, HostReport, HostUsage
from computeagent.protocol.power import PowerState

ACCELERATORS = "COMPUTE_ACCELERATORS"


class HostReports:
    """What the driver says of the host. Reading it can be slow, so each reading is kept for what changes with the
    machine alone: how large it is.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._last: HostReport | None = None

    def fresh(self) -> HostReport:
        """As it is now. Raises DriverError."""
        self._last = self._driver.host_report()
        return self._last

    def is_known_for(self, guest: GuestSpec) -> bool:
        """Whether the last reading does for a claim of `guest`: not for cells or devices, which can vanish."""
        return self._last is not None and guest.numa_topology is None and not guest.pci_devices

    def for_claim(self, guest: GuestSpec) -> HostReport:
        """What a claim of `guest` is checked against. Raises DriverError."""
        return self._last if self._last is not None and self.is_known_for(guest) else self.fresh()


def with_accelerators(report: HostReport) -> HostReport:
    """The report with the trait by which Placement finds hosts that have devices to give."""
    if not report.pci_devices and not report.vgpus:
        return report
    return replace(report, traits=tuple(sorted({*report.traits, ACCELERATORS})))


def usage_of_host(used: Usage, guests: list[GuestOnHypervisor]) -> HostUsage:
    """Usage as the control plane counts it: by what was asked for, whether a guest runs or not."""
    return HostUsage(
        vcpus=used.vcpus,
        memory_mib=used.memory_mib,
        disk_gib=used.disk_gib,
        running_guests=sum(guest.power_state is PowerState.RUNNING for guest in guests),
    )


def with_usage(report: HostReport, usage: HostUsage) -> HostReport:
    """The report with this usage in place of the driver's own count."""
    return replace(
        report,
        vcpus_used=usage.vcpus,
        memory_used_mib=usage.memory_mib,
        disk_used_gib=usage.disk_gib,
        running_guests=usage.running_guests,
    )


def without_measures(report: HostReport) -> HostReport:
    """The report but for all that is another value each minute: two of a host that did not change are equal."""
    none = with_usage(report, HostUsage(0, 0, 0, 0))
    pools = tuple(replace(pool, free_bytes=0) for pool in report.pools)
    return replace(none, metrics={}, clock_skew=None, disk_available_least_gib=0, pools=pools)


def measures_of(report: HostReport, usage: HostUsage) -> HostMeasures:
    """What `without_measures` leaves out."""
    return HostMeasures(
        usage=usage,
        metrics=report.metrics,
        disk_available_least_gib=report.disk_available_least_gib,
        clock_skew=report.clock_skew,
        pools=report.pools,
    )
