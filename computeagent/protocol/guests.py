"""A guest: what it is made from, what its hypervisor says of it, and what became of it."""

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from computeagent.protocol.bounds import (
    ADDRESSES_MAX,
    CUT,
    NETWORKS_MAX,
    Amount,
    Counter,
    Name,
    Sentence,
    Uuid,
    Word,
)
from computeagent.protocol.guest_config import NO_FIRST_BOOT, DirectBoot, FirstBoot, GuestConfig
from computeagent.protocol.networks import FixedAddress, NetworkBackendKind, SubnetSpec
from computeagent.protocol.pci import GivenDevice
from computeagent.protocol.power import PowerState
from computeagent.protocol.topology import CpuTopology, GuestTopology
from computeagent.protocol.volumes import GuestVolume, LocalDisk

TAP_VNIC = "normal"
"""The type of a port that is a tap; all others are devices of the host."""


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A network interface of the guest. `kind` HYPERVISOR: `network` is the hypervisor's own network name. Other kinds
    have the port's `id`, the network's id as `network`, and a tap that the host plugs.

    `vnic_type` other than normal: the guest gets a device of its host, the one of `pci_devices` with this request id.
    `subnets` and `addresses` are for the guest's config drive and for what the control plane shows. `tap` and
    `has_offloads` are no part of an order: who plugs the port says what interface of the host it is joined to.
    """

    mac: str
    network: str
    id: str = ""
    kind: NetworkBackendKind = NetworkBackendKind.HYPERVISOR
    network_name: str = ""
    mtu: int = 0
    tag: str = ""
    vnic_type: str = TAP_VNIC
    pci_request_id: str = ""
    addresses: tuple[FixedAddress, ...] = ()
    subnets: tuple[SubnetSpec, ...] = ()
    tap: str = ""
    has_offloads: bool = True

    @property
    def is_device(self) -> bool:
        """Whether the guest gets a device of its host instead of a tap."""
        return self.vnic_type != TAP_VNIC

    @property
    def is_tapped(self) -> bool:
        """Whether it is joined to its network by a tap of the host's."""
        return self.kind is not NetworkBackendKind.HYPERVISOR and not self.is_device


@dataclass(frozen=True, slots=True)
class RescueImage:
    """The image from which a guest in rescue boots. Its properties say how the rescue disk is attached."""

    id: str
    checksum: str
    size_bytes: int
    disk_format: str
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GuestSpec:
    """All a driver needs to make one guest. Strings in it come from users: treat them as hostile.

    `numa_topology` is the guest as it was placed: host cells, pinned CPUs, page sizes. `realtime_vcpus` is a CPU list.
    `fault` says why flavor and image contradict: nothing can be built. `launch_index` is the guest's place in the batch
    that it was asked for with. `has_default_network`: without ports it gets a card in the hypervisor's own default
    network. `first_boot` is no part of an order: who makes a config drive asks for it. `rescue`: it
    is in rescue, and boots from this image with its own disks beside. Without `has_local_root` it boots from one of its
    `volumes`. `local_disks`: its ephemeral and swap disks where they were named one by one; None: one of each size.
    """

    uuid: str
    name: str
    project_id: str
    vcpus: int
    memory_mib: int
    root_gib: int
    ephemeral_gib: int
    swap_mib: int
    image_id: str
    image_checksum: str
    image_size_bytes: int
    image_disk_format: str
    image_properties: dict[str, str] = field(default_factory=dict)
    extra_specs: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    user_data_base64: str = ""
    key_name: str = ""
    public_key: str = ""
    availability_zone: str = ""
    ports: tuple[PortSpec, ...] = ()
    has_default_network: bool = True
    numa_topology: GuestTopology | None = None
    pci_devices: tuple[GivenDevice, ...] = ()
    cpu_topology: CpuTopology | None = None
    realtime_vcpus: str = ""
    has_locked_memory: bool = False
    vgpus: int = 0
    fault: str = ""
    launch_index: int = 0
    config: GuestConfig = field(default_factory=GuestConfig)
    first_boot: FirstBoot = NO_FIRST_BOOT
    direct_boot: DirectBoot | None = None
    rescue: RescueImage | None = None
    volumes: tuple[GuestVolume, ...] = ()
    has_local_root: bool = True
    local_disks: tuple[LocalDisk, ...] | None = None


DISKS_MAX = 512
"""Volumes of one guest."""
Addresses = Annotated[
    dict[Name, Annotated[tuple[Word, ...], Meta(max_length=ADDRESSES_MAX, extra=CUT)]],
    Meta(max_length=NETWORKS_MAX, extra=CUT),
]
"""By network. A guest that takes one address after the other makes a long list of them by itself."""


@dataclass(frozen=True, slots=True)
class GuestFacts:
    """What is known of a guest once it runs. `vnc_socket` is the path of a UNIX socket on its host.

    `reason` is a `StateReason` and `details` what is known beside it, both empty where somebody brought it into its
    state. `watchdog_fired`: how often its watchdog did, since the agent began to count. `volumes`: which ones it really
    has while it is on, by id; None where nobody looked.
    """

    power_state: PowerState
    addresses: Addresses = field(default_factory=dict)
    vnc_socket: Name = ""
    reason: Word = ""
    details: Sentence = ""
    watchdog_fired: Amount = 0
    volumes: Annotated[tuple[Word, ...], Meta(max_length=DISKS_MAX)] | None = None


@dataclass(frozen=True, slots=True)
class GuestOnHypervisor:
    """One guest that the hypervisor knows and that bears our mark, whether an instance explains it or not."""

    uuid: Uuid
    name: Name
    power_state: PowerState


@dataclass(frozen=True, slots=True)
class GuestCounters:
    """What one running guest has used since it was started, all its disks and interfaces together; memory is of now.

    Counters only grow, and begin again at 0 when the guest is started again. `memory_actual_kib` is what the balloon
    leaves it, `memory_rss_kib` what it takes of the host, `memory_unused_kib` what it says that it does not use (0
    where it does not say). A drop is a packet that was lost, an error one that was broken.
    """

    cpu_ns: Counter = 0
    memory_actual_kib: Counter = 0
    memory_rss_kib: Counter = 0
    memory_unused_kib: Counter = 0
    disk_read_bytes: Counter = 0
    disk_read_requests: Counter = 0
    disk_write_bytes: Counter = 0
    disk_write_requests: Counter = 0
    rx_bytes: Counter = 0
    rx_packets: Counter = 0
    rx_errors: Counter = 0
    rx_drops: Counter = 0
    tx_bytes: Counter = 0
    tx_packets: Counter = 0
    tx_errors: Counter = 0
    tx_drops: Counter = 0


@dataclass(frozen=True, slots=True)
class GuestReturn:
    """An instance that should run, what its guest was when the agent started, and the error if it did not come back."""

    uuid: Uuid
    found: PowerState
    error: Sentence = ""


@dataclass(frozen=True, slots=True)
class InstanceOnHost:
    """An instance that the control plane places on the asking host."""

    uuid: str
    name: str
    vm_state: str
    task_state: str
    power_state: PowerState
    has_open_work: bool
    guest: GuestSpec
