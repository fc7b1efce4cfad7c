"""What a hypervisor tells about itself when it registers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HypervisorReport:
    """One hypervisor as its driver sees it. Memory MiB, disk GiB; traits by their standard names.

    `vcpus` are the CPUs that guests share, `dedicated_vcpus` those they get pinned. `numa_topology` has the form of
    `scheduling.topology.domain.numa.codec.host_to_dict`, without usage. Each of `pci_devices` has address, vendor_id,
    product_id, dev_type, numa_node, parent_address and, where the device spec says more, label and tags.
    """

    hypervisor_hostname: str
    hypervisor_type: str
    hypervisor_version: int
    vcpus: int
    memory_mib: int
    disk_gib: int
    vcpus_used: int = 0
    memory_used_mib: int = 0
    disk_used_gib: int = 0
    disk_available_least_gib: int = 0
    running_guests: int = 0
    host_ip: str = "127.0.0.1"
    virt_type: str = "qemu"
    arch: str = "x86_64"
    cpu_info: dict[str, object] = field(default_factory=dict)
    supported_instances: tuple[tuple[str, str, str], ...] = ()
    traits: tuple[str, ...] = ()
    stats: dict[str, object] = field(default_factory=dict)
    metrics: dict[str, object] = field(default_factory=dict)
    numa_topology: dict[str, object] | None = None
    pci_devices: tuple[dict[str, object], ...] = ()
    dedicated_vcpus: int = 0


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What a host's instances take of it, as its agent counts them. Memory MiB, disk GiB."""

    vcpus: int
    memory_mib: int
    disk_gib: int
    running_guests: int


@dataclass(frozen=True, slots=True)
class HostRegistration:
    """The answer to a registration or heartbeat."""

    service_id: str
    host: str
    compute_node_uuid: str
    disabled: bool
    disabled_reason: str
    report_interval_s: float
