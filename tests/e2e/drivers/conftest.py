"""The kinds of hypervisor that the driver contract is tried on: fake, simulated, and real QEMU under emulation."""

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from computeagent.drivers.base import Driver
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.drivers.libvirt.driver import NO_OPTIONS, LibvirtDriver
from computeagent.protocol.guests import GuestSpec
from tests.fixtures.hypervisors import answers_known, daemons_end

WORDS = "hello from the boot sector"
REAL = {"qemu": "private", "embedded": "embedded"}
"""Kinds that last as long as the test process, by the fixture that has them."""
IMAGE = boot_sector(WORDS + "\r\n").ljust(2**20, b"\0")


@dataclass
class Hypervisor:
    """A driver that is open, and what a test needs to know of its kind."""

    kind: str
    driver: Driver
    state_dir: Path
    made: list[str] = field(default_factory=list)

    def guest(self, content: bytes = IMAGE, **changes: object) -> GuestSpec:
        """A guest of its own uuid, whose image is `content`."""
        spec = GuestSpec(
            uuid=str(uuid.uuid4()),
            name="web-1",
            project_id="p1",
            vcpus=1,
            memory_mib=32,
            root_gib=1,
            ephemeral_gib=0,
            swap_mib=0,
            image_id="boot-sector",
            image_checksum=f"sha256:{hashlib.sha256(content).hexdigest()}",
            image_size_bytes=len(content),
            image_disk_format="raw",
        )
        self.made.append(spec.uuid)
        return replace(spec, **changes)

    def build(self, guest: GuestSpec, content: bytes = IMAGE) -> GuestSpec:
        """All steps of a build."""
        self.driver.prepare_image(guest, lambda: iter([content]))
        self.driver.prepare_disks(guest)
        self.driver.spawn(guest)
        return guest

    def uuids(self) -> list[str]:
        """The uuids of all guests there."""
        return [found.uuid for found in self.driver.guests()]


@pytest.fixture(scope="session")
def private(qemu_answers: Path) -> Iterator[Hypervisor]:
    """QEMU under a libvirtd of its own, one per test process."""
    with real_hypervisor("private", "qemu", qemu_answers) as found:
        yield found
        found.driver.close()
        daemons_end(found.state_dir)


@pytest.fixture(scope="session")
def embedded(qemu_answers: Path) -> Iterator[Hypervisor]:
    """One embedded QEMU per test process: libvirt allows a process only one root."""
    with real_hypervisor("embed", "embedded", qemu_answers) as found:
        yield found
        found.driver.close()


@contextmanager
def real_hypervisor(path: str, kind: str, answers: Path, options: HostOptions = NO_OPTIONS) -> Iterator[Hypervisor]:
    """Real QEMU, open while inside; whoever opened it closes it."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    # Not under pytest's own directory, whose paths are too long for the sockets of QEMU.
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state_dir = Path(directory)
        state_dir.chmod(0o711)  # QEMU's user has to pass
        answers_known(answers, state_dir)
        driver = LibvirtDriver(f"qemu:///{path}?root={state_dir / 'hv'}", state_dir, f"node-{kind}", options=options)
        driver.open()
        yield Hypervisor(kind, driver, state_dir)


@pytest.fixture(
    params=[
        "fake",
        pytest.param("simulated", marks=pytest.mark.libvirt),
        pytest.param("qemu", marks=[pytest.mark.libvirt, pytest.mark.qemu]),
        pytest.param("embedded", marks=[pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]),
    ]
)
def hypervisor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hypervisor]:
    """Each kind in turn; guests that the test leaves are destroyed."""
    found = _opened(request, tmp_path)
    found.made.clear()
    yield found
    for guest_uuid in found.made:
        found.driver.destroy(guest_uuid)
    if found.kind not in REAL:
        found.driver.close()


@pytest.fixture
def qemu(private: Hypervisor) -> Iterator[Hypervisor]:
    """The real one alone."""
    private.made.clear()
    yield private
    for guest_uuid in private.made:
        private.driver.destroy(guest_uuid)


def _opened(request: pytest.FixtureRequest, tmp_path: Path) -> Hypervisor:
    if request.param in REAL:
        real: Hypervisor = request.getfixturevalue(REAL[request.param])
        return real
    driver: Driver
    if request.param == "fake":
        driver = FakeDriver("node-fake", state_file=tmp_path / "guests.json")
    else:
        driver = LibvirtDriver("test:///default", tmp_path, "node-simulated")
    driver.open()
    return Hypervisor(request.param, driver, tmp_path)
