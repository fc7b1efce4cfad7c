"""What a person may choose about `manage.py up`."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from computeagent.drivers.libvirt.private.daemon import private_daemon_impossible
from controlplane.kernel.errors import Invalid, Unavailable
from controlplane.launcher.demo_image.sources import packages_missing

QEMU_USER_PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils"}
QEMU_DRIVER_PLACES = (
    "/usr/lib/x86_64-linux-gnu/libvirt/connection-driver/libvirt_driver_qemu.so",
    "/usr/lib/aarch64-linux-gnu/libvirt/connection-driver/libvirt_driver_qemu.so",
    "/usr/lib64/libvirt/connection-driver/libvirt_driver_qemu.so",
    "/usr/lib/libvirt/connection-driver/libvirt_driver_qemu.so",
)


class HypervisorKind(StrEnum):
    """What the compute agents drive."""

    QEMU = "qemu"
    TEST = "test"
    FAKE = "fake"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The choices of one run. `kind` None means: the most real one that works here."""

    state_dir: Path
    port: int = 8000
    hypervisors: int = 3
    kind: HypervisorKind | None = None
    workers: int = 2
    admin_password_file: Path | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work, naming the option."""
        if not 1 <= self.port <= 65535:
            raise Invalid(f"--port must be 1 to 65535, not {self.port}", field="port")
        if not 0 <= self.hypervisors <= 100:
            raise Invalid(f"--hypervisors must be 0 to 100, not {self.hypervisors}", field="hypervisors")
        if not 1 <= self.workers <= 64:
            raise Invalid(f"--workers must be 1 to 64, not {self.workers}", field="workers")


def missing_for(kind: HypervisorKind) -> list[str]:
    """What this machine lacks to run hypervisors of this kind, in words."""
    missing = []
    if kind is not HypervisorKind.FAKE and importlib.util.find_spec("libvirt") is None:
        missing.append("the Python binding of libvirt (Debian packages libvirt-dev, pkg-config, gcc; then make run)")
    if kind is HypervisorKind.QEMU:
        missing += [
            f"{program} (Debian package {package})"
            for program, package in QEMU_USER_PROGRAMS.items()
            if shutil.which(program) is None
        ]
        if not any(Path(place).exists() for place in QEMU_DRIVER_PLACES):
            missing.append("libvirt's QEMU driver (Debian package libvirt-daemon-driver-qemu)")
        missing += [f"Debian package {package}, for the demo image" for package in packages_missing()]
        if os.geteuid() != 0 and (lack := private_daemon_impossible()):
            missing.append(f"{lack}, which an ordinary user's hypervisors need")
    return missing


@dataclass(frozen=True, slots=True)
class KindChoice:
    """The kind that runs, and why a more real one does not."""

    kind: HypervisorKind
    because: tuple[str, ...] = ()


def choose_kind(wanted: HypervisorKind | None) -> KindChoice:
    """The wanted kind, or the most real that works. Raises Unavailable when the wanted one cannot work."""
    if wanted is not None:
        missing = missing_for(wanted)
        if missing:
            raise Unavailable(f"--driver {wanted} is not possible: missing {'; '.join(missing)}", field="driver")
        return KindChoice(wanted)
    lacks_qemu = missing_for(HypervisorKind.QEMU)
    if not lacks_qemu:
        return KindChoice(HypervisorKind.QEMU)
    simulated = HypervisorKind.FAKE if missing_for(HypervisorKind.TEST) else HypervisorKind.TEST
    return KindChoice(simulated, tuple(lacks_qemu))
