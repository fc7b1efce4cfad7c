"""What differs between a real hypervisor and a simulated one, as a Protocol with two implementations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from computeagent.drivers.base import CopyProgress, ImageSource
from computeagent.drivers.host_cells import MachineCells
from computeagent.drivers.libvirt.guest_xml import GuestDefinition, GuestMetadata
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import GuestCpuReport, GuestMachines
from computeagent.protocol.images import CachedImage, WantedImage


@dataclass(frozen=True, slots=True)
class SizeOverrides:
    """Sizes to report instead of the measured ones: several hypervisors on one machine report a share each."""

    vcpus: int | None = None
    memory_mib: int | None = None
    disk_gib: int | None = None


@dataclass(frozen=True, slots=True)
class HypervisorFacts:
    """What a host is and has, before overrides. Disk figures are of the file system that holds the guests."""

    vcpus: int
    memory_mib: int
    disk_gib: int
    disk_used_gib: int
    disk_available_gib: int
    arch: str
    virt_type: str
    cpu_info: dict[str, object]
    supported_instances: tuple[tuple[str, str, str], ...]
    traits: tuple[str, ...]
    cells: MachineCells = ()
    vgpus: int | None = None
    guest_cpu: GuestCpuReport | None = None
    machines: tuple[GuestMachines, ...] = ()


class HostProfile(Protocol):
    """A kind of host. `conn` is a live libvirt connection, `domain` a libvirt domain."""

    @property
    def uri(self) -> str:
        """The URI to open."""

    @property
    def runs_guests(self) -> bool:
        """Whether anything runs here; what is simulated consists of definitions."""

    def before_open(self) -> None:
        """Prepare what libvirt needs to be able to open the URI."""

    def before_connect(self) -> None:
        """Have somebody to connect to. Called before each connection, the first and those after a loss."""

    def after_close(self) -> None:
        """Let go of what the open driver held."""

    def after_open(self, conn: Any) -> None:
        """Learn from the open connection what later verbs need."""

    def host_facts(self, conn: Any, guests_metadata: list[GuestMetadata]) -> HypervisorFacts:
        """Measure the host, which has the guests with these marks."""

    def machine_cells(self, conn: Any) -> MachineCells:
        """The NUMA cells of the machine; none where it reports none."""

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the base image."""

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Have the base file of a kernel or initial RAM disk."""

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """Have a base image that no guest needs yet. Its file; None where there are none."""

    def cached_images(self) -> list[CachedImage]:
        """The base images that are there."""

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Have the guest's own files, new."""

    def make_rescue_disk(self, guest: GuestSpec) -> None:
        """Have the disk from which the guest boots in rescue, new."""

    def definition(self, conn: Any, guest: GuestSpec) -> GuestDefinition:
        """The guest's devices. Raises DriverError when its disks are not there."""

    def started(self, guest_uuid: str) -> None:
        """Note that the guest was just started."""

    def undefine(self, domain: Any) -> None:
        """Make libvirt forget a stopped domain and all it kept for it."""

    def remove_files(self, guest_uuid: str) -> None:
        """Leave no file of the guest."""

    def addresses(self, conn: Any, domain: Any) -> dict[str, tuple[str, ...]]:
        """The guest's addresses by network, as far as they are certain."""

    def snapshot(self, domain: Any | None, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """Have a copy of its root disk. See `Driver.snapshot`."""

    def snapshot_path(self, guest_uuid: str, image_id: str) -> Path:
        """The file of the copy."""

    def frozen_marker(self, guest_uuid: str) -> Path:
        """The file that says that the guest's file systems are frozen."""

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """The end of the serial log."""

    def outside_path(self, path: str) -> str:
        """A path that libvirt names, as it is for this process."""

    def housekeeping(self) -> None:
        """What is to be done now and then."""
