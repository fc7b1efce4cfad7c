"""Real hypervisors: `qemu:///system`, `qemu:///session`, private and embedded ones."""

import logging
import os
import platform
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from computeagent.drivers.base import CopyProgress, DriverError, ImageSource
from computeagent.drivers.cpu_options import CpuMode
from computeagent.drivers.device_traits import VIOMMU_MODELS
from computeagent.drivers.host_cells import MachineCells
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.binding import LibvirtError, libvirt, translated
from computeagent.drivers.libvirt.capabilities import Capabilities, capabilities_parse, traits_of
from computeagent.drivers.libvirt.config_disc import drive_format_check
from computeagent.drivers.libvirt.embedded import EmbeddedRoot, embedded_root_prepare, is_embedded
from computeagent.drivers.libvirt.files import host_errors
from computeagent.drivers.libvirt.firmware import GuestFirmware, firmware_choose
from computeagent.drivers.libvirt.freezing import FROZEN, frozen_thaw
from computeagent.drivers.libvirt.guest_cpu import HostCpus, features_of_guests, guest_cpu_report
from computeagent.drivers.libvirt.guest_definition import HostParts, guest_definition
from computeagent.drivers.libvirt.guest_hardware import machine_type
from computeagent.drivers.libvirt.guest_machines import MachinesKnown
from computeagent.drivers.libvirt.guest_options import GuestOptions, guest_options
from computeagent.drivers.libvirt.guest_xml import (
    GuestDefinition,
    GuestMetadata,
    domain_name,
)
from computeagent.drivers.libvirt.host_abilities import HostAbilities, host_abilities
from computeagent.drivers.libvirt.host_cpus import host_cpus
from computeagent.drivers.libvirt.host_profile import HypervisorFacts
from computeagent.drivers.libvirt.hypervisor_root import root_of
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.image_upkeep import ImageUpkeep
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.mediated_devices import KernelMediatedDevices
from computeagent.drivers.libvirt.networks import interfaces_of, lease_addresses, nat_network_ensure
from computeagent.drivers.libvirt.private.daemon import PrivateDaemon, is_private
from computeagent.drivers.libvirt.process_limits import kernel_shapes, process_traits
from computeagent.drivers.libvirt.snapshots import disk_snapshot
from computeagent.drivers.libvirt.virtualization import virt_type_choose
from computeagent.drivers.libvirt.volume_cache import volume_cache
from computeagent.networks.places.place import HypervisorPlace
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guest_machine import has_uefi, is_stateless, secure_boot
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.images import CachedImage, WantedImage
from controlplane.kernel.units import GIB, MIB, bytes_to_gib_up

RECEIVES_MIGRATIONS = "CUSTOM_LIVE_MIGRATION_TARGET"
HAS_BRIDGES = "CUSTOM_BRIDGED_NETWORKS"

logger = logging.getLogger(__name__)


class RealHost:
    """Guests are QEMU processes with disks under `state_dir`; `shared_dir` is common to a machine's drivers."""

    def __init__(
        self,
        uri: str,
        state_dir: Path,
        *,
        shared_dir: Path,
        has_nat_network: bool,
        options: HostOptions,
        place: HypervisorPlace | None = None,
    ) -> None:
        self._uri = uri
        self._state_dir = state_dir
        self._shared_dir = shared_dir
        self._has_nat_network = has_nat_network
        self._place = place
        self._embedded: EmbeddedRoot | None = None
        self._daemon: PrivateDaemon | None = None
        self._virt_type = "qemu"
        self._cpu_options = options.cpu
        self._cpus = HostCpus(CpuMode.MAXIMUM, is_emulated=True)
        self._machines = MachinesKnown()
        self._mediated = KernelMediatedDevices(options.mdev_types)
        self._drive_format = options.config_drive_format
        self._guest_directories = options.guest_directories
        self._files = InstanceFiles(state_dir, options.config_drive_format)
        self._images = ImageCache(shared_dir / "base")
        self._upkeep = ImageUpkeep(shared_dir / "base", self._files.root, unused_s=options.unused_images_s)

    @property
    def uri(self) -> str:
        """The URI to open."""
        if self._daemon:
            return self._daemon.layout.uri
        return self._embedded.uri if self._embedded else self._uri

    @property
    def runs_guests(self) -> bool:
        """Guests are processes."""
        return True

    def before_open(self) -> None:
        """Make the directories, and the configuration of a private or embedded hypervisor."""
        drive_format_check(self._drive_format)
        with host_errors(f"preparing {self._state_dir}"):
            self._state_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._shared_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
            self._files.root.mkdir(mode=0o711, exist_ok=True)
        self._upkeep.register()
        if is_embedded(self._uri):
            self._embedded = embedded_root_prepare(
                self._uri, cache=self._shared_dir / "libvirt", guest_files=self._guest_files()
            )
        elif is_private(self._uri):
            self._daemon = self._daemon or PrivateDaemon(
                root_of(self._uri),
                cache=self._shared_dir / "libvirt",
                guest_files=self._guest_files(),
                place=self._place,
            )
            self._daemon.prepare()

    def _guest_files(self) -> tuple[Path, ...]:
        """What QEMU has to reach. A directory of volumes that is not there now, or that nobody else may enter, keeps no
        hypervisor from being opened.
        """
        volumes = (each for each in self._guest_directories if each.is_dir() and each.stat().st_mode & stat.S_IXOTH)
        return (self._state_dir, self._shared_dir, *volumes)

    def before_connect(self) -> None:
        """A libvirtd of this hypervisor's own is there, whatever became of the one before."""
        if self._daemon:
            self._daemon.ensure_running()

    def after_close(self) -> None:
        """Another agent may have the hypervisor; its libvirtd and its guests go on."""
        if self._daemon:
            self._daemon.release()

    def after_open(self, conn: Any) -> None:
        """Choose between KVM and emulation and the CPUs of guests, and have the NAT network if it is wanted."""
        self._virt_type = virt_type_choose(conn, self._state_dir, self._shared_dir)
        self._cpus = host_cpus(conn, self._cpu_options, arch=platform.machine(), virt_type=self._virt_type)
        frozen_thaw(conn, self._files.root)
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
            traits=(
                *traits_of(
                    capabilities.arch,
                    features_of_guests(self._cpus),
                    capabilities.cells,
                    of_devices=self._abilities(conn).traits,
                ),
                *self._management_traits(),
            ),
            cells=capabilities.cells,
            vgpus=self._mediated.total(),
            guest_cpu=guest_cpu_report(self._cpus),
            machines=self._machines.of(conn, arch=capabilities.arch, virt_type=self._virt_type),
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

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Have the base file, verified; what is in it only the guest's own machine ever reads."""
        self._images.ensure(file, source)

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """Have the base file, verified; it is looked at before a guest is made of it."""
        return self._images.ensure(image, source)

    def cached_images(self) -> list[CachedImage]:
        """Those of all drivers of this machine, with the guests of this one."""
        with host_errors("looking at the base images"):
            return self._upkeep.present()

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Disks and config drive, new."""
        with host_errors(f"making the disks of {guest.uuid}"):
            self._files.make(guest, self._images)

    def make_rescue_disk(self, guest: GuestSpec) -> None:
        """An overlay over the rescue image."""
        with host_errors(f"making the rescue disk of {guest.uuid}"):
            self._files.make_rescue_disk(guest, self._images)

    def definition(self, conn: Any, guest: GuestSpec) -> GuestDefinition:
        """The guest's devices. Only what is off is defined, so the disk of a rescue that is over can go."""
        if not self._files.exists(guest):
            raise DriverError(f"the disks of {guest.uuid} are not on this host")
        if guest.rescue is None:
            self._files.remove_rescue_disk(guest.uuid)
        parts = HostParts(
            virt_type=self._virt_type,
            arch=platform.machine(),
            cpus=self._cpus,
            disks=self._files.devices(guest),
            interfaces=interfaces_of(conn, guest, is_private=self._has_no_default_network),
            serial_path=self._files.console_path(guest.uuid),
            options=self._options(conn, guest),
            firmware=self._firmware(conn, guest),
            boot_paths=self._files.boot_paths(guest),
            mediated=self._mediated.ensure(guest.uuid, guest.vgpus),
            volume_caches={one.volume.id: volume_cache(one) for one in guest.volumes},
        )
        return guest_definition(guest, parts)

    def started(self, guest_uuid: str) -> None:
        """Nothing to note: the guest itself writes its serial log."""

    def undefine(self, domain: Any) -> None:
        """Forget the domain with its snapshots, saved memory, firmware variables and TPM."""
        domain.undefineFlags(
            libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
            | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
        )

    def remove_files(self, guest_uuid: str) -> None:
        """Virtual GPUs, disks, config drive, serial log, and QEMU's log where it is ours alone."""
        self._mediated.release(guest_uuid)
        self._files.remove(guest_uuid)
        name = domain_name(guest_uuid)
        if self._embedded:
            self._embedded.log_path(name).unlink(missing_ok=True)
        if self._daemon:
            self._daemon.layout.domain_log(name).unlink(missing_ok=True)

    def outside_path(self, path: str) -> str:
        """Root's private libvirtd names its files as it sees them."""
        return self._daemon.layout.seen_from_outside(path) if self._daemon else path

    def addresses(self, conn: Any, domain: Any) -> dict[str, tuple[str, ...]]:
        """What libvirt's own DHCP gave out."""
        del conn
        return lease_addresses(domain)

    def snapshot(self, domain: Any | None, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """A qcow2 that stands alone."""
        disk_snapshot(self._files, domain, guest, image_id, progress)

    def snapshot_path(self, guest_uuid: str, image_id: str) -> Path:
        """In the directory of the instance."""
        return self._files.snapshot_path(guest_uuid, image_id)

    def frozen_marker(self, guest_uuid: str) -> Path:
        """In the directory of the instance."""
        return self._files.directory(guest_uuid) / FROZEN

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """The end of the serial log."""
        return self._files.console_tail(guest_uuid, max_bytes)

    def housekeeping(self) -> None:
        """Keep serial logs and base images from filling the disk."""
        self._files.consoles_trim()
        self._upkeep.tick()
        if self._daemon:
            self._daemon.housekeeping()

    @property
    def _has_no_default_network(self) -> bool:
        """Whether the default network may lack: its guests are then on their own."""
        return self._embedded is not None or (self._daemon is not None and not self._has_nat_network)

    def _management_traits(self) -> tuple[str, ...]:
        """What this way to reach QEMU can do: an embedded driver has no networks and receives no guests of others; as
        an ordinary user libvirt makes no bridges and no post-copy.
        """
        is_session = urlsplit(self.uri).path == "/session" or (self._embedded is not None and os.geteuid() != 0)
        is_of_machine = self._embedded is None and self._daemon is None
        # The machine's libvirtd has rights of its own to try it with; an embedded driver gives its cards no device.
        has_cards = (is_of_machine and os.geteuid() != 0) or (not self._embedded and not is_session and kernel_shapes())
        limits = process_traits(is_of_machine=is_of_machine, is_session=is_session, has_cards=has_cards)
        if self._embedded:
            return tuple(limits)
        return (RECEIVES_MIGRATIONS, *limits) if is_session else (RECEIVES_MIGRATIONS, HAS_BRIDGES, *limits)

    def _abilities(self, conn: Any) -> HostAbilities:
        return host_abilities(conn, arch=platform.machine(), virt_type=self._virt_type)

    def _options(self, conn: Any, guest: GuestSpec) -> GuestOptions:
        """The guest's, with the IOMMU that this host has where any will do: virtio's before Intel's, as in Nova."""
        options = guest_options(guest)
        if options.viommu_model != "auto":
            return options
        has_virtio = VIOMMU_MODELS["virtio"] in self._abilities(conn).traits
        return replace(options, viommu_model="virtio" if has_virtio else "intel")

    def _firmware(self, conn: Any, guest: GuestSpec) -> GuestFirmware | None:
        """None: the guest has a BIOS. Raises DriverError where the host has no firmware that fits."""
        specs, properties = guest.extra_specs, guest.image_properties
        if not has_uefi(properties):
            return None
        abilities, wanted = self._abilities(conn), secure_boot(specs, properties)
        return firmware_choose(
            abilities.firmwares,
            arch=abilities.arch,
            machine=machine_type(guest),
            is_secure=wanted == "required" or (wanted == "optional" and abilities.has_secure_boot()),
            variables=None if is_stateless(properties) else self._files.variables_path(guest.uuid),
        )

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
