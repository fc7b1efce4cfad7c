"""A real guest that boots a kernel of its own directly and reads its config drive; a drive with a FAT file system."""

import base64
import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.drivers.host_options import DriveFormat
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.protocol.guest_config import BootFile, DirectBoot, FirstBoot, GuestConfig, InjectedFile
from controlplane.launcher.demo_image.build import MIN_RAM_MIB
from controlplane.launcher.demo_image.initramfs import initramfs
from controlplane.launcher.demo_image.sources import KernelPackage, kernel_package
from tests.e2e.drivers.conftest import IMAGE, Hypervisor
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
SCRIPT = b"""#!/bin/sh
mount -o ro /dev/sr0 /mnt
echo "file: $(cat /mnt/openstack/content/0000)"
cat /mnt/openstack/2016-10-06/meta_data.json; echo
cat /mnt/ec2/2009-04-04/meta-data.json; echo
echo "arguments: $(cat /proc/cmdline)"
umount /mnt
"""


def boot_file(name: str, content: bytes) -> BootFile:
    return BootFile(name, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    package = KernelPackage(kernel_package(tmp_path_factory.mktemp("kernel")))
    return package.vmlinuz, initramfs(package)


def test_guest_boots_its_own_kernel_and_reads_what_it_was_given(qemu: Hypervisor, kernel: tuple[bytes, bytes]) -> None:
    vmlinuz, ramdisk = kernel
    files = boot_file("kernel", vmlinuz), boot_file("ramdisk", ramdisk)
    guest = qemu.guest(
        memory_mib=MIN_RAM_MIB,
        user_data_base64=base64.b64encode(SCRIPT).decode(),
        config=GuestConfig(hostname="db.lab.example", flavor_name="small"),
        first_boot=FirstBoot("pass word", (InjectedFile("/etc/motd", base64.b64encode(b"hello file").decode()),)),
        direct_boot=DirectBoot(*files, "console=ttyS0 quiet of=its-image"),
        launch_index=3,
    )
    for file, content in zip(files, kernel, strict=True):
        qemu.driver.prepare_boot_file(file, lambda content=content: iter([content]))  # type: ignore[misc]
    qemu.build(replace(guest, image_properties={"img_root_device_name": "/dev/vda"}))

    def said() -> str:
        return qemu.driver.console_log(guest.uuid, max_bytes=1 << 20).decode(errors="replace")

    eventually(lambda: "User data ended with status 0" in said(), said)
    text = said()
    assert "file: hello file" in text
    assert "of=its-image" in text
    for part in (
        '"admin_pass": "pass word"',
        '"hostname": "db.lab.example"',
        '"launch_index": 3',
        '"instance-type": "small"',
    ):
        assert part in text
    qemu.driver.destroy(guest.uuid)
    assert not (qemu.state_dir / "i" / guest.uuid).exists()


def test_fat_drive_is_a_disk_beside_the_others(qemu: Hypervisor, tmp_path: Path) -> None:
    guest = qemu.guest(swap_mib=16, config=GuestConfig(hostname="fat"))
    images = ImageCache(tmp_path / "base")
    images.ensure(guest, lambda: iter([IMAGE]))
    files = InstanceFiles(tmp_path, DriveFormat.VFAT)
    files.make(guest, images)

    assert [(disk.path.name, disk.target, disk.cdrom) for disk in files.devices(guest)] == [
        ("disk", "vda", False),
        ("swap", "vdb", False),
        ("config.vfat", "vdc", False),
    ]
    drive = files.devices(guest)[-1].path
    listed = subprocess.run(["mdir", "-/", "-b", "-i", drive, "::"], capture_output=True, text=True, check=True).stdout
    assert "openstack/latest/meta_data.json" in listed
    assert drive.stat().st_mode & 0o777 == 0o600


def test_guest_without_config_drive_has_no_disc(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest(config=GuestConfig(has_drive=False)))

    assert {path.name for path in (qemu.state_dir / "i" / guest.uuid).iterdir()} == {"disk", "console.log"}
