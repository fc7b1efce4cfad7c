"""`demo_image_build`: the demo guest's disk, made once and cached."""

import hashlib
import os
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from controlplane.launcher.demo_image.disk import bootable_qcow2
from controlplane.launcher.demo_image.initramfs import guest_file, initramfs
from controlplane.launcher.demo_image.sources import (
    BUSYBOX,
    SSH_PROGRAMS,
    DemoImageUnavailable,
    KernelPackage,
    kernel_package,
    libraries_of,
    packages_missing,
)

PACKAGE = "controlplane.launcher.demo_image"
MIN_RAM_MIB = 128


def demo_image_build(cache_dir: Path) -> Path:
    """Path of the demo image (qcow2), built in `cache_dir` unless it is there already.

    Raises DemoImageUnavailable with the names of the Debian packages that are missing.
    """
    missing = packages_missing()
    if missing:
        raise DemoImageUnavailable(f"the demo image needs these Debian packages: {' '.join(missing)}")
    cache_dir.mkdir(parents=True, exist_ok=True)
    package = kernel_package(cache_dir)
    target = cache_dir / f"kilonova-demo-{_recipe_digest(package)}.qcow2"
    if not target.exists():
        _build(package, target)
    return target


def _build(package: Path, target: Path) -> None:
    kernel = KernelPackage(package)
    with TemporaryDirectory(dir=target.parent, prefix="demo-image-") as scratch:
        finished = Path(scratch) / "finished.qcow2"
        contents = {
            "syslinux.cfg": guest_file("syslinux.cfg"),
            "vmlinuz": kernel.vmlinuz,
            "initrd": initramfs(kernel),
        }
        bootable_qcow2(files=contents, target=finished, scratch=Path(scratch))
        os.replace(finished, target)


def _recipe_digest(package: Path) -> str:
    """Changes when the kernel, busybox, the SSH server or anything in this package changes."""
    digest = hashlib.sha256(package.name.encode())
    for program in (BUSYBOX, *SSH_PROGRAMS, *libraries_of(*SSH_PROGRAMS)):
        digest.update(program.read_bytes())
    here = files(PACKAGE)
    for folder in (here, here.joinpath("guest")):
        for entry in sorted(folder.iterdir(), key=lambda item: item.name):
            if entry.is_file():
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()[:16]
