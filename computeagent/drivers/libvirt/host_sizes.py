"""How large a host says that it is: what was measured, less what its operator sets aside or says instead."""

from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.guest_xml import GuestMetadata
from computeagent.drivers.libvirt.host_profile import HypervisorFacts, SizeOverrides


def shared_vcpus(overrides: SizeOverrides, options: HostOptions, online: frozenset[int], facts: HypervisorFacts) -> int:
    """How many CPUs floating vCPUs share. A share of the machine is at most what its CPU sets leave."""
    if not options.has_cpu_sets:
        return overridden(overrides.vcpus, facts.vcpus)
    shared = len(options.shared_cpus(online))
    return shared if overrides.vcpus is None else min(shared, overrides.vcpus)


def overridden(override: int | None, measured: int) -> int:
    """What the operator says, or else what was measured."""
    return measured if override is None else override


def disk_sizes(
    overrides: SizeOverrides, facts: HypervisorFacts, guests_metadata: list[GuestMetadata]
) -> tuple[int, int, int]:
    """The disk, how much of it is used, and how much is left, in GiB. A share of the machine's disk counts as used
    what the guests' flavors take.
    """
    if overrides.disk_gib is None:
        return facts.disk_gib, facts.disk_used_gib, facts.disk_available_gib
    used = sum(metadata_of_guest.root_gib + metadata_of_guest.ephemeral_gib for metadata_of_guest in guests_metadata)
    return overrides.disk_gib, used, min(overrides.disk_gib - used, facts.disk_available_gib)
