"""What a hypervisor says of itself, and what it is told when it registers. Memory is MiB, disk GiB."""

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import (
    CUT,
    DEVICES_MAX,
    POOLS_MAX,
    TRAITS_MAX,
    Amount,
    Count,
    HypervisorName,
    JsonObject,
    Sentence,
    ShortWord,
    Signed,
    TraitName,
    Word,
)
from computeagent.protocol.pci import PciDeviceRecord
from computeagent.protocol.topology import HostTopology
from computeagent.protocol.volumes import PoolReport


@dataclass(frozen=True, slots=True)
class HostVersions:
    """What runs on a host, "" where nobody said. `service` is Nova's number of the compute service's abilities, which
    request filters compare; `protocol` is that of the agents' protocol. The hypervisor's is in the report itself.
    """

    agent: Sentence = ""
    protocol: Signed = 0
    service: Signed = 0
    libvirt: Sentence = ""
    kernel: Sentence = ""
    os: Sentence = ""


Skew = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""A clock may be wrong by any amount."""


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """How many seconds a host's clock is ahead of the control plane's (below 0: behind), give or take `error_s`."""

    ahead_s: Skew
    error_s: Skew


MACHINES_MAX, MACHINE_NAME_MAX, MACHINE_WORDS_MAX = 256, 64, 64
_Name = Annotated[str, Meta(max_length=MACHINE_NAME_MAX)]
_Words = Annotated[tuple[_Name, ...], Meta(max_length=MACHINE_WORDS_MAX)]


@dataclass(frozen=True, slots=True)
class GuestMachines:
    """Machine types that a host's guests can have and that have the same, by libvirt's names: `disk_buses` of disks and
    CD drives, `video_models`.
    """

    names: Annotated[tuple[_Name, ...], Meta(max_length=MACHINES_MAX)]
    disk_buses: _Words = ()
    video_models: _Words = ()


CPU_NAME_MAX, CPU_NAMES_MAX = 65, 64
_CpuNames = Annotated[tuple[Annotated[str, Meta(max_length=CPU_NAME_MAX)], ...], Meta(max_length=CPU_NAMES_MAX)]


@dataclass(frozen=True, slots=True)
class GuestCpuReport:
    """The CPU that a host gives to its guests, in the words of Nova's options: `models` of the mode custom alone, the
    preferred one first; `flags` with their sign.
    """

    mode: ShortWord
    models: _CpuNames = ()
    flags: _CpuNames = ()


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a hypervisor is and has, as its driver sees it.

    `vcpus` counts the CPUs that floating vCPUs share, `dedicated_vcpus` those set aside to be pinned to.
    `vgpus` counts the virtual GPUs of its cards, in use or free; None: it is not meant to have any.
    `numa_topology` has the cells without usage, None for a host that reports none. `pci_devices` are those that guests
    may have. `cpu_info` and `stats` are JSON objects of the driver's own choice, `metrics` numbers by name, measured on
    the host just before. `clock_skew` is None while it was not measured. `safe_mode`: why nothing is destroyed or
    started there now; empty when it is. `networks_lack`: what this host lacks to carry networks that it was meant to
    carry, in a sentence; empty where it lacks nothing. `pools` are those in which its guests may have volumes.
    `machines`: none where the host does not say which machine types it has. `guest_cpu` is None of a host that does not
    say it.
    """

    hypervisor_hostname: HypervisorName
    hypervisor_type: Word
    hypervisor_version: Amount
    vcpus: Count
    memory_mib: Count
    disk_gib: Count
    vcpus_used: Count = 0
    memory_used_mib: Amount = 0
    disk_used_gib: Amount = 0
    disk_available_least_gib: Signed = 0
    running_guests: Count = 0
    host_ip: Word = "127.0.0.1"
    virt_type: ShortWord = "qemu"
    arch: ShortWord = "x86_64"
    cpu_info: JsonObject = field(default_factory=dict)
    supported_instances: Annotated[tuple[tuple[Word, Word, Word], ...], Meta(max_length=500, extra=CUT)] = ()
    traits: Annotated[tuple[TraitName, ...], Meta(max_length=TRAITS_MAX)] = ()
    stats: JsonObject = field(default_factory=dict)
    metrics: JsonObject = field(default_factory=dict)
    numa_topology: HostTopology | None = None
    pci_devices: Annotated[tuple[PciDeviceRecord, ...], Meta(max_length=DEVICES_MAX, extra=CUT)] = ()
    dedicated_vcpus: Count = 0
    vgpus: Count | None = None
    versions: HostVersions = field(default_factory=HostVersions)
    clock_skew: ClockSkew | None = None
    safe_mode: Sentence = ""
    networks_lack: Sentence = ""
    pools: Annotated[tuple[PoolReport, ...], Meta(max_length=POOLS_MAX)] = ()
    machines: Annotated[tuple[GuestMachines, ...], Meta(max_length=32)] = ()
    guest_cpu: GuestCpuReport | None = None


@dataclass(frozen=True, slots=True)
class HostUsage:
    """How much of a host its instances take, as the agent counts them: what was asked for, off or running."""

    vcpus: Count
    memory_mib: Amount
    disk_gib: Amount
    running_guests: Count


@dataclass(frozen=True, slots=True)
class HostMeasures:
    """What a report says that is another value each minute: how busy the host is, and how much of its disks is left."""

    usage: HostUsage
    metrics: JsonObject = field(default_factory=dict)
    disk_available_least_gib: Signed = 0
    clock_skew: ClockSkew | None = None
    pools: Annotated[tuple[PoolReport, ...], Meta(max_length=POOLS_MAX)] = ()


@dataclass(frozen=True, slots=True)
class Registration:
    """The control plane's answer to a registration or a heartbeat. `forced_down`: an admin declared this host dead.

    `time_s` is the database's clock while it was made, in Unix seconds, 0 where it was not asked; `version` is the
    control plane's own. `is_sparing`: it sends wake-ups again until what they are about is done, and a heartbeat renews
    the ownership of the host; so the agent has to ask less.
    """

    service_id: str
    compute_node_uuid: str
    disabled: bool
    report_interval_s: float
    lease_s: float
    disabled_reason: str = ""
    forced_down: bool = False
    time_s: float = 0.0
    version: str = ""
    is_sparing: bool = False
