"""libvirt's simulated hosts: `test:///FILE` and `test:///default`.

They have domains and states but run nothing: no disks, no networks of ours, no domain capabilities, no statistics.
Their state lives in the process and is lost with it, as after a power cut. Nothing of a guest is kept on disk
except a word in its console log.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from computeagent.conductor import GuestSpec
from computeagent.drivers.base import DriverError, ImageSource
from computeagent.drivers.libvirt.binding import translated
from computeagent.drivers.libvirt.capabilities import capabilities_parse, traits_of
from computeagent.drivers.libvirt.files import file_replace, host_errors
from computeagent.drivers.libvirt.guest_xml import GuestDefinition, GuestMark, guest_mark
from computeagent.drivers.libvirt.host_profile import HostFacts
from computeagent.drivers.libvirt.instance_files import InstanceFiles

SIMULATED_ARCH = "x86_64"
DEFAULT_DISK_GIB = 1000
CONSOLE_TEXT = b"This host is simulated: the instance runs nothing and says nothing.\n"
_DISK_TAG = "{urn:kilonova:host:1}disk"
ET.register_namespace("kilonova-host", "urn:kilonova:host:1")


def is_simulated(uri: str) -> bool:
    """Whether this URI is a simulated host."""
    return urlsplit(uri).scheme.startswith("test")


def simulated_host_write(path: Path, *, vcpus: int, memory_mib: int, disk_gib: int = DEFAULT_DISK_GIB) -> str:
    """Write the file of a simulated host of this size, and give the URI that opens it."""
    node = ET.Element("node")
    cpu = ET.SubElement(node, "cpu")
    for name, value in (
        ("mhz", "2500"),
        ("model", SIMULATED_ARCH),
        ("active", str(vcpus)),
        ("nodes", "1"),
        ("sockets", "1"),
        ("cores", str(vcpus)),
        ("threads", "1"),
    ):
        ET.SubElement(cpu, name).text = value
    ET.SubElement(node, "memory").text = str(memory_mib * 1024)
    ET.SubElement(node, _DISK_TAG, unit="GiB").text = str(disk_gib)
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

    def before_open(self) -> None:
        """Make the directory of the console logs."""
        with host_errors(f"preparing {self._files.root}"):
            self._files.root.mkdir(parents=True, exist_ok=True)

    def after_open(self, conn: Any) -> None:
        """Nothing to learn."""

    def host_facts(self, conn: Any, marks: list[GuestMark]) -> HostFacts:
        """The sizes in the host's file; disk is what the guests' flavors take."""
        with translated("reading the simulated host"):
            capabilities = capabilities_parse(conn.getCapabilities())
            info = conn.getInfo()
        disk_gib = self._disk_gib()
        disk_used_gib = sum(mark.root_gib + mark.ephemeral_gib for mark in marks)
        return HostFacts(
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
            traits=traits_of(SIMULATED_ARCH, ()),
        )

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Nothing reads the image of a guest that does not run."""

    def prepare_disks(self, guest: GuestSpec) -> None:
        """No disks."""

    def definition(self, conn: Any, guest: GuestSpec) -> GuestDefinition:
        """A guest without devices."""
        del conn
        return GuestDefinition(mark=guest_mark(guest), virt_type="test", vcpus=guest.vcpus, memory_mib=guest.memory_mib)

    def started(self, guest_uuid: str) -> None:
        """Let the console log say what this is."""
        path = self._files.console_path(guest_uuid)
        with host_errors(f"writing {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(CONSOLE_TEXT)

    def undefine(self, domain: Any) -> None:
        """Forget the domain."""
        domain.undefine()

    def remove_files(self, guest_uuid: str) -> None:
        """The console log."""
        self._files.remove(guest_uuid)

    def addresses(self, conn: Any, domain: Any) -> dict[str, tuple[str, ...]]:
        """A guest that does not run has none."""
        del conn, domain
        return {}

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """What `started` wrote."""
        return self._files.console_tail(guest_uuid, max_bytes)

    def housekeeping(self) -> None:
        """Nothing grows."""

    def _disk_gib(self) -> int:
        """The size that `simulated_host_write` put into the host's file, which libvirt passes over."""
        path = Path(unquote(urlsplit(self._uri).path))
        if not path.is_file():
            return DEFAULT_DISK_GIB
        try:
            text = ET.parse(path).findtext(_DISK_TAG)  # noqa: S314 - the operator's own configuration
        except (ET.ParseError, OSError) as error:
            raise DriverError(f"cannot read the simulated host {path}: {error}") from error
        return int(text) if text and text.strip().isdigit() else DEFAULT_DISK_GIB
