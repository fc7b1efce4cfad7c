"""Real hypervisors: `qemu:///system`, `qemu:///session` and embedded ones."""

import logging
import os
import platform
from pathlib import Path
from typing import Any

from computeagent.drivers.base import DriverError, ImageSource
from computeagent.drivers.host_cells import MachineCells
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.binding import LibvirtError, libvirt, translated
from computeagent.drivers.libvirt.capabilities import Capabilities, capabilities_parse, traits_of
from computeagent.drivers.libvirt.embedded import EmbeddedRoot, embedded_root_prepare, is_embedded
from computeagent.drivers.libvirt.files import host_errors
from computeagent.drivers.libvirt.guest_hardware import machine_type, ports_of, video_model, vif_model
from computeagent.drivers.libvirt.guest_options import guest_options
from computeagent.drivers.libvirt.guest_xml import (
    GuestDefinition,
    GuestMetadata,
    InterfaceDevice,
    domain_name,
    guest_metadata,
)
from computeagent.drivers.libvirt.host_profile import HypervisorFacts
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.image_upkeep import ImageUpkeep
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.networks import lease_addresses, nat_network_ensure, network_ready
from computeagent.drivers.libvirt.virtualization import virt_type_choose
from computeagent.protocol.guests import GuestSpec
from controlplane.kernel.units import GIB, MIB, bytes_to_gib_up

logger = logging.getLogger(__name__)


class RealHost:
    """Guests are QEMU processes with disks under `state_dir`; `shared_dir` is common to a machine's drivers."""

    def __init__(
        self, uri: str, state_dir: Path, *, shared_dir: Path, has_nat_network: bool, unused_images_s: float
    ) -> None:
        self._uri = uri
        self._state_dir = state_dir
        self._shared_dir = shared_dir
        self._has_nat_network = has_nat_network
        self._embedded: EmbeddedRoot | None = None
        self._virt_type = "qemu"
        self._files = InstanceFiles(state_dir)
        self._images = ImageCache(shared_dir / "base")
        self._upkeep = ImageUpkeep(shared_dir / "base", self._files.root, unused_s=unused_images_s)

    @property
    def uri(self) -> str:
        """The URI to open."""
        return self._embedded.uri if self._embedded else self._uri

    def before_open(self) -> None:
        """Make the directories, and the configuration of an embedded hypervisor."""
        with host_errors(f"preparing {self._state_dir}"):
            self._state_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._shared_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._files.root.mkdir(mode=0o711, exist_ok=True)
        self._upkeep.register()
        if is_embedded(self._uri):
            self._embedded = embedded_root_prepare(
                self._uri, cache=self._shared_dir / "libvirt", guest_files=(self._state_dir, self._shared_dir)
            )

    def after_open(self, conn: Any) -> None:
        """Choose between KVM and emulation, and have the NAT network if it is wanted."""
        self._virt_type = virt_type_choose(conn, self._state_dir, self._shared_dir)
        if self._has_nat_network:
            nat_network_ensure(conn)

    def host_facts(self, conn: Any, guests_metadata: list[GuestMetadata]) -> HypervisorFacts:
        """Measure the host."""
        with translated("reading the host's capabilities"):
            capabilities = capabilities_parse(conn.getCapabilities())
            vcpus = conn.getInfo()[2]
        disk = self._disk(guests_metadata)
        return HypervisorFacts(
            vcpus=vcpus,
            memory_mib=_memory_mib(conn),
            disk_gib=disk[0],
            disk_used_gib=disk[1],
            disk_available_gib=disk[2],
            arch=capabilities.arch,
            virt_type=self._virt_type,
            cpu_info=capabilities.cpu_info,
            supported_instances=self._supported(capabilities),
            # Under emulation guests see an emulated CPU, not the host's.
            traits=traits_of(
                capabilities.arch, capabilities.cpu_features if self._virt_type == "kvm" else (), capabilities.cells
            ),
            cells=capabilities.cells,
        )

    def machine_cells(self, conn: Any) -> MachineCells:
        """As libvirt's capabilities have them."""
        with translated("reading the host's capabilities"):
            return capabilities_parse(conn.getCapabilities()).cells

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the base file, verified, and look at it before any guest is made of it."""
        path = self._images.ensure(guest, source)
        with host_errors(f"reading image {guest.image_id}"):
            qemu_img.image_inspect(path, guest.image_disk_format)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Disks and config drive, new."""
        with host_errors(f"making the disks of {guest.uuid}"):
            self._files.make(guest, self._images)

    def definition(self, conn: Any, guest: GuestSpec) -> GuestDefinition:
        """The guest's devices."""
        if not self._files.exists(guest.uuid):
            raise DriverError(f"the root disk of {guest.uuid} is not on this host")
        is_kvm = self._virt_type == "kvm"
        model = vif_model(guest)
        interfaces = []
        for port in ports_of(guest):
            network = network_ready(conn, port.network, is_embedded=self._embedded is not None)
            interfaces.append(InterfaceDevice(port.mac, model, network.name, network.is_filtered, network.is_isolated))
        return GuestDefinition(
            metadata_of_guest=guest_metadata(guest),
            virt_type=self._virt_type,
            vcpus=guest.vcpus,
            memory_mib=guest.memory_mib,
            arch=platform.machine(),
            machine=machine_type(guest),
            cpu_mode="host-passthrough" if is_kvm else "maximum",
            # QEMU's emulated 5-level paging makes some kernels hang early.
            cpu_features_off=() if is_kvm else ("la57",),
            disks=self._files.devices(guest),
            interfaces=tuple(interfaces),
            serial_path=self._files.console_path(guest.uuid),
            video_model=video_model(guest),
            has_vnc=True,
            has_rng=True,
            options=guest_options(guest),
        )

    def started(self, guest_uuid: str) -> None:
        """Nothing to note: the guest itself writes its serial log."""

    def undefine(self, domain: Any) -> None:
        """Forget the domain with its snapshots, saved memory and firmware variables."""
        domain.undefineFlags(
            libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
            | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
        )

    def remove_files(self, guest_uuid: str) -> None:
        """Disks, config drive, serial log, and QEMU's log where it is ours alone."""
        self._files.remove(guest_uuid)
        if self._embedded:
            self._embedded.log_path(domain_name(guest_uuid)).unlink(missing_ok=True)

    def addresses(self, conn: Any, domain: Any) -> dict[str, tuple[str, ...]]:
        """What libvirt's own DHCP gave out."""
        del conn
        return lease_addresses(domain)

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """The end of the serial log."""
        return self._files.console_tail(guest_uuid, max_bytes)

    def housekeeping(self) -> None:
        """Keep serial logs and base images from filling the disk."""
        self._files.consoles_trim()
        self._upkeep.tick()

    def _supported(self, capabilities: Capabilities) -> tuple[tuple[str, str, str], ...]:
        """What libvirt offers, without KVM where the trial decided against it."""
        return tuple(kind for kind in capabilities.supported_instances if self._virt_type == "kvm" or kind[1] != "kvm")

    def _disk(self, guests_metadata: list[GuestMetadata]) -> tuple[int, int, int]:
        """Total, used and available GiB; available is less what the disks of the guests may still grow by."""
        with host_errors("measuring the disk"):
            state = os.statvfs(self._state_dir)
        promised = sum(
            (metadata_of_guest.root_gib + metadata_of_guest.ephemeral_gib) * GIB + metadata_of_guest.swap_mib * MIB
            for metadata_of_guest in guests_metadata
        )
        growth = max(0, promised - self._files.used_bytes())
        used = (state.f_blocks - state.f_bfree) * state.f_frsize
        available = state.f_bavail * state.f_frsize - growth
        return state.f_blocks * state.f_frsize // GIB, bytes_to_gib_up(used), available // GIB


def _memory_mib(conn: Any) -> int:
    """The host's memory. The node's own figure counts hot-plugged memory too, which `getInfo` may leave out."""
    try:
        total_kib = int(conn.getMemoryStats(libvirt.VIR_NODE_MEMORY_STATS_ALL_CELLS)["total"])
    except (LibvirtError, KeyError):
        return int(conn.getInfo()[1])
    return total_kib // 1024
