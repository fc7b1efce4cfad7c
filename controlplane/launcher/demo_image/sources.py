"""What the demo guest is made from: Debian's cloud kernel, busybox, dropbear, and the tools that make a disk."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from controlplane.kernel.errors import Unavailable

KERNEL_META_PACKAGE = "linux-image-cloud-amd64"
BUSYBOX = Path("/bin/busybox")
SSH_PROGRAMS = (Path("/usr/sbin/dropbear"), Path("/usr/bin/dropbearkey"))
BOOT_CODE = Path("/usr/lib/syslinux/mbr/mbr.bin")
MODULE_PATH = re.compile(r"^\./(?:usr/)?lib/modules/[^/]+/(?:.*/)?(?P<name>[^/]+)\.ko$")
KERNEL_PATH = re.compile(r"^\./boot/vmlinuz-[^/]+$")
LIBRARY_PATH = re.compile(r"(?:=> |^\s*)(?P<path>/\S+) \(0x", flags=re.MULTILINE)
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")
APT_TIMEOUT_S = 180

TOOL_PACKAGES: Mapping[str, str] = {
    "dpkg-deb": "dpkg",
    "mformat": "mtools",
    "mcopy": "mtools",
    "syslinux": "syslinux",
    "qemu-img": "qemu-utils",
}


class DemoImageUnavailable(Unavailable):
    """The demo image cannot be made here; the message names what is missing."""

    code = "demo_image_unavailable"


def packages_missing() -> tuple[str, ...]:
    """Debian packages that must be installed before the image can be built."""
    missing = {package for tool, package in TOOL_PACKAGES.items() if shutil.which(tool) is None}
    if not BUSYBOX.exists() or _is_dynamic(BUSYBOX):
        missing.add("busybox-static")
    if not all(program.exists() for program in SSH_PROGRAMS):
        missing.add("dropbear-bin")
    if not BOOT_CODE.exists():
        missing.add("syslinux-common")
    return tuple(sorted(missing))


def _is_dynamic(program: Path) -> bool:
    return b"/ld-linux" in program.read_bytes()[:4096]


def libraries_of(*programs: Path) -> tuple[Path, ...]:
    """The shared libraries that these programs are loaded with, the loader among them, as they name them."""
    found: set[Path] = set()
    for program in programs:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DemoImageUnavailable(f"ldd {program}: {done.stderr.strip()}")
        found.update(Path(path) for path in LIBRARY_PATH.findall(done.stdout))
    return tuple(sorted(found))


def kernel_package(directory: Path) -> Path:
    """The newest kernel .deb in `directory`; fetched with apt when there is none.

    The machine's own boot is not touched: the package is only unpacked.
    """
    packages = sorted(directory.glob("linux-image-*.deb"), key=lambda path: path.stat().st_mtime)
    return packages[-1] if packages else _download_kernel(directory)


def _download_kernel(directory: Path) -> Path:
    if shutil.which("apt-get") is None:
        raise DemoImageUnavailable("no apt-get here, so Debian's cloud kernel cannot be fetched")
    package = _kernel_package_name()
    with TemporaryDirectory(dir=directory, prefix="kernel-") as scratch:
        _run("apt-get", "download", "-qq", package, cwd=Path(scratch))
        found = sorted(Path(scratch).glob("*.deb"))
        if not found:
            raise DemoImageUnavailable(f"apt-get download {package} left no file")
        return found[0].replace(directory / found[0].name.replace("%3a", "_"))


def _kernel_package_name() -> str:
    """The versioned package that the meta package depends on now."""
    name = _known_to_apt()
    if name is None and os.geteuid() == 0:  # package lists are often removed from small systems
        _run("apt-get", "update", "-qq")
        name = _known_to_apt()
    if name is None:
        raise DemoImageUnavailable(f"apt knows no {KERNEL_META_PACKAGE}: run apt-get update (amd64 only)")
    return name


def _known_to_apt() -> str | None:
    done = subprocess.run(["apt-cache", "depends", KERNEL_META_PACKAGE], capture_output=True, text=True, check=False)
    names = re.findall(r"^\s*Depends: (linux-image-\S+-cloud-amd64)$", done.stdout, flags=re.MULTILINE)
    return str(names[0]) if names else None


def _run(*command: str, cwd: Path | None = None) -> None:
    try:
        subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=APT_TIMEOUT_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        detail = (error.stderr or "").strip() if isinstance(error, subprocess.CalledProcessError) else "timed out"
        raise DemoImageUnavailable(f"{' '.join(command)}: {detail}") from error


@dataclass(frozen=True)
class KernelPackage:
    """The kernel and its modules, read straight from the .deb."""

    path: Path

    @cached_property
    def _files(self) -> dict[str, bytes]:
        """`vmlinuz` and every module by name (as `modprobe` spells it, underscores) with its bytes."""
        with (
            subprocess.Popen(["dpkg-deb", "--fsys-tarfile", self.path], stdout=subprocess.PIPE) as unpack,
            tarfile.open(fileobj=cast("IO[bytes]", unpack.stdout), mode="r|") as archive,
        ):
            files = {name: data for name, data in (_wanted(archive, member) for member in archive) if name}
        if unpack.returncode != 0 or "vmlinuz" not in files:
            raise DemoImageUnavailable(f"{self.path} is not a readable kernel package; remove it and try again")
        return files

    @property
    def vmlinuz(self) -> bytes:
        return self._files["vmlinuz"]

    def module(self, name: str) -> bytes:
        """The module's file; KeyError when this kernel has it built in or not at all."""
        return self._files[name]

    def load_order(self, *names: str) -> tuple[str, ...]:
        """`names` and all they depend on, dependencies first; names that this kernel lacks are left out."""
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            if name in order or name not in self._files:
                return
            for dependency in depends_of(self._files[name]):
                visit(dependency)
            order[name] = None

        for name in names:
            visit(name)
        return tuple(order)


def depends_of(module: bytes) -> tuple[str, ...]:
    """Modules that a module needs, from its own .modinfo section (the .deb has no modules.dep yet)."""
    found = DEPENDS.search(module)
    names = found.group(1).decode() if found else ""
    return tuple(name.replace("-", "_") for name in names.split(",") if name)


def _wanted(archive: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[str, bytes]:
    module = MODULE_PATH.match(member.name)
    if module is None and KERNEL_PATH.match(member.name) is None:
        return "", b""
    file = archive.extractfile(member)
    name = module["name"].replace("-", "_") if module else "vmlinuz"
    return (name, file.read()) if file else ("", b"")
