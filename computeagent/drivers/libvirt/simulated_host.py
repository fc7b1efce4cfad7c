"""libvirt's simulated hosts: `test:///FILE` and `test:///default`.

They have domains and states but run nothing: no disks, no networks of ours, no domain capabilities, no statistics.
Their state lives in the process and is lost with it, as after a power cut. Nothing of a guest is kept on disk
except a word in its console log.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from computeagent.drivers.base import CopyProgress, DriverError, ImageSource
from computeagent.drivers.blank_disk import blank_disk
from computeagent.drivers.device_traits import SIMULATED
from computeagent.drivers.host_cells import MachineCells, evenly
from computeagent.drivers.libvirt.binding import libvirt, translated
from computeagent.drivers.libvirt.capabilities import capabilities_parse, traits_of
from computeagent.drivers.libvirt.files import file_replace, host_errors
from computeagent.drivers.libvirt.guest_xml import GuestDefinition, GuestMetadata, guest_metadata
from computeagent.drivers.libvirt.host_profile import HypervisorFacts
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.drivers.libvirt.mediated_devices import SimulatedMediatedDevices
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.images import CachedImage, WantedImage

SIMULATED_ARCH = "x86_64"
DEFAULT_DISK_GIB = 1000
CONSOLE_TEXT = b"This host is simulated: the instance runs nothing and says nothing.\n"
_DISK_TAG = "{urn:kilonova:host:1}disk"
_VGPUS_TAG = "{urn:kilonova:host:1}vgpus"
_PAGES_TAG = "{urn:kilonova:host:1}pages"
HUGE_PAGE_KIB = 2048
ET.register_namespace("kilonova-host", "urn:kilonova:host:1")


def is_simulated(uri: str) -> bool:
    """Whether this URI is a simulated host."""
    return urlsplit(uri).scheme.startswith("test")


def simulated_host_write(
    path: Path,
    *,
    vcpus: int,
    memory_mib: int,
    disk_gib: int = DEFAULT_DISK_GIB,
    numa_cells: int = 2,
    threads: int = 2,
    huge_pages: int | None = None,
    vgpus: int = 0,
) -> str:
    """Write the file of a simulated host of this size, and give the URI that opens it.

    The host has one socket in each NUMA cell, `threads` in each core, and `huge_pages` pages of 2 MiB in each cell
    (default: a quarter of its memory).
    """
    if huge_pages is None:
        huge_pages = memory_mib * 1024 // numa_cells // 4 // HUGE_PAGE_KIB
    node = ET.Element("node")
    cpu = ET.SubElement(node, "cpu")
    for name, value in (
        ("mhz", "2500"),
        ("model", SIMULATED_ARCH),
        ("active", str(vcpus)),
        ("nodes", str(numa_cells)),
        ("sockets", "1"),
        ("cores", str(-(-vcpus // (numa_cells * threads)))),
        ("threads", str(threads)),
    ):
        ET.SubElement(cpu, name).text = value
    ET.SubElement(node, "memory").text = str(memory_mib * 1024)
    ET.SubElement(node, _DISK_TAG, unit="GiB").text = str(disk_gib)
    ET.SubElement(node, _VGPUS_TAG).text = str(vgpus)
    ET.SubElement(node, _PAGES_TAG, size=str(HUGE_PAGE_KIB)).text = str(huge_pages)
    with host_errors(f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file_replace(path, ET.tostring(node, encoding="utf-8", xml_declaration=True))
    return f"test://{path.absolute()}"


class SimulatedHost:
    """A host of libvirt's test driver. `state_dir` holds console logs only."""

    def __init__(self, uri: str, state_dir: Path) -> None:
        self._uri = uri
        self._files = InstanceFiles(state_dir)

    @property
    def uri(self) -> str:
        """The URI to open."""
        return self._uri

    @property
    def runs_guests(self) -> bool:
        """Nothing runs."""
        return False

    def before_open(self) -> None:
        """Make the directory of the console logs."""
        with host_errors(f"preparing {self._files.root}"):
            self._files.root.mkdir(parents=True, exist_ok=True)

    def before_connect(self) -> None:
        """The test driver is part of libvirt's library."""

    def after_open(self, conn: Any) -> None:
        """Nothing to learn."""

    def after_close(self) -> None:
        """Nothing is held."""

    def outside_path(self, path: str) -> str:
        """Nobody's view differs."""
        return path

    def host_facts(self, conn: Any, guests_metadata: list[GuestMetadata]) -> HypervisorFacts:
        """The sizes in the host's file; disk is what the guests' flavors take."""
        with translated("reading the simulated host"):
            capabilities = capabilities_parse(conn.getCapabilities())
            info = conn.getInfo()
        cells = capabilities.cells or self._made_up(info)
        disk_gib = self._number(_DISK_TAG, DEFAULT_DISK_GIB)
        disk_used_gib = sum(
            metadata_of_guest.root_gib + metadata_of_guest.ephemeral_gib for metadata_of_guest in guests_metadata
        )
        return HypervisorFacts(
            vcpus=info[2],
            memory_mib=info[1],
            disk_gib=disk_gib,
            disk_used_gib=disk_used_gib,
            disk_available_gib=disk_gib - disk_used_gib,
            # libvirt's test driver always says i686; it stands for hosts as they are today.
            arch=SIMULATED_ARCH,
            virt_type="test",
            cpu_info={**capabilities.cpu_info, "arch": SIMULATED_ARCH},
            supported_instances=((SIMULATED_ARCH, "test", "hvm"),),
            traits=traits_of(SIMULATED_ARCH, (), cells, of_devices=SIMULATED),
            cells=cells,
            vgpus=self._mediated().total(),
        )

    def machine_cells(self, conn: Any) -> MachineCells:
        """libvirt's, of its own simulated host; of a host with a file, made of the sizes in it."""
        with translated("reading the simulated host"):
            return capabilities_parse(conn.getCapabilities()).cells or self._made_up(conn.getInfo())

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Nothing reads the image of a guest that does not run."""

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """Nothing boots."""

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """As for a guest: nothing reads it."""

    def cached_images(self) -> list[CachedImage]:
        """Simulated guests boot nothing."""
        return []

    def prepare_disks(self, guest: GuestSpec) -> None:
        """No disks."""

    def make_rescue_disk(self, guest: GuestSpec) -> None:
        """No disks."""

    def definition(self, conn: Any, guest: GuestSpec) -> GuestDefinition:
        """A guest without devices, but for virtual GPUs."""
        del conn
        return GuestDefinition(
            metadata_of_guest=guest_metadata(guest),
            virt_type="test",
            vcpus=guest.vcpus,
            memory_mib=guest.memory_mib,
            mediated=self._mediated().ensure(guest.uuid, guest.vgpus),
        )

    def started(self, guest_uuid: str) -> None:
        """Let the console log say what this is."""
        path = self._files.console_path(guest_uuid)
        with host_errors(f"writing {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(CONSOLE_TEXT)

    def undefine(self, domain: Any) -> None:
        """Forget the domain with its saved memory."""
        domain.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE)

    def remove_files(self, guest_uuid: str) -> None:
        """The console log, and its virtual GPUs."""
        self._mediated().release(guest_uuid)
        self._files.remove(guest_uuid)

    def addresses(self, conn: Any, domain: Any) -> dict[str, tuple[str, ...]]:
        """A guest that does not run has none."""
        del conn, domain
        return {}

    def snapshot(self, domain: Any | None, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """A blank disk."""
        path, disk = self._files.snapshot_path(guest.uuid, image_id), blank_disk(guest)
        if domain is None:
            raise DriverError(f"guest {guest.uuid} is not on this hypervisor")
        with host_errors(f"writing {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            file_replace(path, disk)
        progress(len(disk), len(disk))

    def snapshot_path(self, guest_uuid: str, image_id: str) -> Path:
        """In the directory of the instance."""
        return self._files.snapshot_path(guest_uuid, image_id)

    def frozen_marker(self, guest_uuid: str) -> Path:
        """Nothing is ever frozen."""
        return self._files.directory(guest_uuid) / "frozen"

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """What `started` wrote."""
        return self._files.console_tail(guest_uuid, max_bytes)

    def housekeeping(self) -> None:
        """Nothing grows."""

    def _mediated(self) -> SimulatedMediatedDevices:
        return SimulatedMediatedDevices(self._number(_VGPUS_TAG, 0), self._files.root.parent / "mdev")

    def _made_up(self, info: list[Any]) -> MachineCells:
        """libvirt gives a simulated host that has a file no cells, but passes on their number."""
        _, memory_mib, cpus, _, nodes, _, _, threads = info
        huge = (HUGE_PAGE_KIB, self._number(_PAGES_TAG, 0))
        return evenly(nodes, cpus=cpus, threads=threads, memory_mib=memory_mib, huge_pages=(huge,) if huge[1] else ())

    def _number(self, tag: str, default: int) -> int:
        """A number that `simulated_host_write` put into the host's file, which libvirt passes over."""
        path = Path(unquote(urlsplit(self._uri).path))
        if not path.is_file():
            return default
        try:
            text = ET.parse(path).findtext(tag)  # noqa: S314 - the operator's own configuration
        except (ET.ParseError, OSError) as error:
            raise DriverError(f"cannot read the simulated host {path}: {error}") from error
        return int(text) if text and text.strip().isdigit() else default
