"""The demo guest's root file system: busybox, an SSH server, a few kernel modules, and the scripts in `guest/`."""

from importlib.resources import files
from pathlib import Path

from controlplane.launcher.demo_image.cpio import CpioArchive
from controlplane.launcher.demo_image.sources import BUSYBOX, SSH_PROGRAMS, KernelPackage, libraries_of

# Enough for a virtio machine, the power button and the config drive's file systems.
BASE_MODULES = (
    "virtio_pci", "virtio_blk", "virtio_net", "virtio_rng", "virtio_balloon", "virtio_console",
    "button", "evdev", "isofs", "nls_cp437", "nls_ascii", "vfat",
)  # fmt: skip
# Loaded only when no config drive was found without them: probing IDE takes most of a second under emulation.
STORAGE_MODULES = ("virtio_scsi", "ata_piix", "ata_generic", "sr_mod", "sd_mod")
DIRECTORIES = (
    "bin",
    "dev",
    "etc",
    "etc/acpi",
    "etc/acpi/PWRF",
    "lib",
    "lib/modules",
    "proc",
    "root",
    "sys",
    "tmp",
)


def guest_file(name: str) -> bytes:
    """One of the scripts that are packed into the guest."""
    return files("controlplane.launcher.demo_image").joinpath("guest", name).read_bytes()


def initramfs(kernel: KernelPackage) -> bytes:
    """The compressed archive for the boot loader."""
    archive = CpioArchive()
    for path in DIRECTORIES:
        archive.directory(path)
    archive.character_device("dev/console", 5, 1)
    archive.file("bin/busybox", BUSYBOX.read_bytes(), executable=True)
    archive.file("init", guest_file("init.sh"), executable=True)
    for name in ("udhcpc.sh", "introduce.sh", "ask_metadata.sh", "ssh_server.sh"):
        archive.file(f"lib/{name}", guest_file(name), executable=True)
    archive.file("lib/json.awk", guest_file("json.awk"))
    archive.file("etc/inittab", guest_file("inittab"))
    archive.file("etc/profile", guest_file("profile"))
    archive.file("etc/passwd", b"root::0:0:root:/root:/bin/sh\n")
    archive.file("etc/acpi/PWRF/00000080", guest_file("power.sh"), executable=True)
    _add_ssh(archive)
    _add_modules(archive, kernel)
    return archive.compressed()


def _add_ssh(archive: CpioArchive) -> None:
    """The server, what makes its host key, and the libraries of both where their loader looks for them."""
    for program in SSH_PROGRAMS:
        archive.file(f"bin/{program.name}", program.read_bytes(), executable=True)
    libraries = libraries_of(*SSH_PROGRAMS)
    directories = {parent for path in libraries for parent in path.parents if len(parent.parts) > 1}
    for directory in sorted(directories - {Path("/", each) for each in DIRECTORIES}):
        archive.directory(str(directory.relative_to("/")))
    for path in libraries:
        archive.file(str(path.relative_to("/")), path.read_bytes(), executable=True)


def _add_modules(archive: CpioArchive, kernel: KernelPackage) -> None:
    base = kernel.load_order(*BASE_MODULES)
    storage = tuple(name for name in kernel.load_order(*STORAGE_MODULES) if name not in base)
    for name in (*base, *storage):
        archive.file(f"lib/modules/{name}.ko", kernel.module(name))
    archive.file("lib/modules/base", "".join(f"{name}\n" for name in base).encode())
    archive.file("lib/modules/storage", "".join(f"{name}\n" for name in storage).encode())
