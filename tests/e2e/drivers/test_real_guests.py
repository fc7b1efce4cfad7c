"""Real guests under QEMU: what they say, what their disks are, what a killed agent leaves."""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.firmware import firmwares_found
from computeagent.drivers.libvirt.qemu_img import overlay_create
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology_json import guest_from_dict
from controlplane.kernel.errors import Fenced
from tests.e2e.drivers.conftest import IMAGE, WORDS, Hypervisor
from tests.fixtures.hypervisors import answers_known
from tests.fixtures.patience import PATIENCE_S, eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

SPAWN_AND_DIE = """
import os, signal, sys
from pathlib import Path
from controlplane.kernel.errors import Fenced
from tests.e2e.drivers.conftest import Hypervisor, IMAGE
from computeagent.drivers.libvirt.driver import LibvirtDriver
state = Path(sys.argv[1])
driver = LibvirtDriver(f"qemu:///embed?root={state / 'hv'}", state, "node")
driver.open()
guest = Hypervisor("qemu", driver, state).guest()
Hypervisor("qemu", driver, state).build(guest)
print(guest.uuid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
FIND_AND_DESTROY = """
import sys
from pathlib import Path
from computeagent.drivers.libvirt.driver import LibvirtDriver
state = Path(sys.argv[1])
driver = LibvirtDriver(f"qemu:///embed?root={state / 'hv'}", state, "node")
driver.open()
print(*[f"{guest.uuid} {guest.power_state}" for guest in driver.guests()], flush=True)
for guest in driver.guests():
    driver.destroy(guest.uuid)
print(len(driver.guests()))
driver.close()
"""


def run_python(code: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S
    )
    return done.stdout.splitlines()


def qcow2(path: Path, *options: str) -> bytes:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *options, str(path), "1M"], check=True)
    return path.read_bytes()


def said(hypervisor: Hypervisor, guest_uuid: str) -> int:
    return hypervisor.driver.console_log(guest_uuid, max_bytes=10_000).count(WORDS.encode())


def test_boot_sector_speaks_on_the_serial_log(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_guest_pinned_to_a_cpu_and_a_numa_cell_boots(qemu: Hypervisor) -> None:
    host = qemu.driver.host_report().numa_topology
    if host is None:
        pytest.skip("this machine reports no NUMA cells")
    on = host.cells[0]
    cell = {"id": 0, "cpuset": "", "pcpuset": "0", "memory_mib": 32, "pinning": [[0, min(on.pcpuset)]], "page_size": 4}
    guest = qemu.build(qemu.guest(numa_topology=guest_from_dict({"cells": [cell | {"host_cell": on.id}]})))

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_log_keeps_what_was_said_before_a_reboot(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest.uuid) == 1)

    qemu.driver.hard_reboot(guest)

    eventually(lambda: said(qemu, guest.uuid) == 2)


def test_resumed_guest_runs_on_where_it_was_and_a_hard_reboot_begins_anew(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest.uuid) == 1)

    qemu.driver.suspend(guest.uuid)
    qemu.driver.resume(guest)
    time.sleep(1)  # as long as the boot sector needs to speak three times
    assert said(qemu, guest.uuid) == 1

    qemu.driver.suspend(guest.uuid)
    qemu.driver.hard_reboot(guest)
    eventually(lambda: said(qemu, guest.uuid) == 2)


def test_qcow2_image_boots(qemu: Hypervisor, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(IMAGE)
    command = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(tmp_path / "raw"), str(tmp_path / "image")]
    subprocess.run(command, check=True)
    content = (tmp_path / "image").read_bytes()

    guest = qemu.build(qemu.guest(content, image_disk_format="qcow2"), content)

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_all_disks_and_q35_boot(qemu: Hypervisor) -> None:
    guest = qemu.build(
        qemu.guest(
            ephemeral_gib=1,
            swap_mib=16,
            image_properties={"hw_machine_type": "q35", "hw_disk_bus": "sata", "hw_vif_model": "e1000e"},
        )
    )

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_vnc_of_a_running_guest_is_a_socket_in_a_directory_closed_to_others(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    facts = qemu.driver.facts(guest.uuid)

    assert facts is not None
    path = Path(facts.vnc_socket)
    assert path.parent.stat().st_mode & 0o007 == 0
    with socket.socket(socket.AF_UNIX) as vnc:
        vnc.connect(str(path))
        assert vnc.recv(12).startswith(b"RFB ")


def test_running_guest_listens_on_no_port(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    (pid_file,) = qemu.state_dir.glob(f"hv/run/qemu/i-{guest.uuid[:8]}*.pid")
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout

    assert f"pid={int(pid_file.read_text())}," not in listening


def test_files_of_a_guest_are_closed_to_other_users_of_the_machine(qemu: Hypervisor) -> None:
    guest = qemu.guest(ephemeral_gib=1, swap_mib=16, user_data_base64="c2VjcmV0")
    qemu.driver.prepare_image(guest, lambda: iter([IMAGE]))
    qemu.driver.prepare_disks(guest)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (qemu.state_dir / "i" / guest.uuid).iterdir()}
    assert modes == dict.fromkeys(("disk", "ephemeral", "swap", "config.iso", "console.log"), 0o600)


def test_root_disk_is_as_large_as_the_flavor_says(qemu: Hypervisor) -> None:
    guest = qemu.guest(root_gib=2)
    qemu.driver.prepare_image(guest, lambda: iter([IMAGE]))
    qemu.driver.prepare_disks(guest)

    disk = qemu.state_dir / "i" / guest.uuid / "disk"
    info = json.loads(subprocess.check_output(["qemu-img", "info", "--output=json", str(disk)]))
    assert info["virtual-size"] == 2 * 2**30
    assert info["backing-filename-format"] == "raw"


def test_guest_that_ignores_the_power_button_is_stopped_after_its_grace(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())

    assert qemu.driver.stop(guest.uuid, grace_s=0.5).power_state is PowerState.SHUTDOWN


def test_nobody_waits_for_a_guest_once_the_work_is_over_and_it_runs_on(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    asked = 0

    def over() -> None:
        nonlocal asked
        asked += 1
        if asked > 2:
            raise Fenced("the lease is over")

    with pytest.raises(Fenced):
        qemu.driver.stop(guest.uuid, grace_s=600, check=over)
    facts = qemu.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.power_state is PowerState.RUNNING


def test_half_made_disks_are_replaced(qemu: Hypervisor) -> None:
    guest = qemu.guest()
    directory = qemu.state_dir / "i" / guest.uuid
    directory.mkdir(parents=True)
    (directory / "disk").write_bytes(b"torn")

    qemu.build(guest)

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_guest_whose_disk_is_gone_does_not_start(qemu: Hypervisor) -> None:
    with pytest.raises(DriverError, match="are not on this host") as caught:
        qemu.driver.start(qemu.guest())
    assert caught.value.failure_class is FailureClass.HOST


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["-b", "base", "-F", "raw", "-u"], "backing file"), (["-o", "data_file=outside.raw"], "data in another file")],
)
def test_qcow2_that_refers_to_other_files_is_refused(
    qemu: Hypervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content = qcow2(tmp_path / "hostile", *options)

    with pytest.raises(DriverError, match=reason) as caught:
        qemu.driver.prepare_image(qemu.guest(content, image_disk_format="qcow2"), lambda: iter([content]))
    assert caught.value.failure_class is FailureClass.USER


def test_qcow2_with_backing_file_declared_raw_is_the_users_fault(qemu: Hypervisor, tmp_path: Path) -> None:
    content = qcow2(tmp_path / "hostile", "-b", "/etc/passwd", "-F", "raw", "-u")

    with pytest.raises(DriverError, match="is qcow2, not raw") as caught:
        qemu.driver.prepare_image(qemu.guest(content, image_disk_format="raw"), lambda: iter([content]))
    assert caught.value.failure_class is FailureClass.USER


def test_overlay_of_a_qcow2_as_raw_shows_only_its_own_bytes(tmp_path: Path) -> None:
    content = qcow2(tmp_path / "hostile", "-b", "/etc/passwd", "-F", "raw", "-u")
    disk, seen = tmp_path / "disk", tmp_path / "seen"
    overlay_create(disk, tmp_path / "hostile", "raw", size_gib=1)

    subprocess.run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", str(disk), str(seen)], check=True)
    assert seen.read_bytes()[: len(content)] == content


def test_image_larger_than_the_root_disk_is_the_users_fault(qemu: Hypervisor, tmp_path: Path) -> None:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(tmp_path / "big"), "3G"], check=True)
    content = (tmp_path / "big").read_bytes()
    guest = qemu.guest(content, image_disk_format="qcow2", root_gib=2)
    qemu.driver.prepare_image(guest, lambda: iter([content]))

    with pytest.raises(DriverError, match="does not fit the flavor") as caught:
        qemu.driver.prepare_disks(guest)
    assert caught.value.failure_class is FailureClass.USER


def test_text_declared_qcow2_is_the_users_fault(qemu: Hypervisor) -> None:
    content = b"not an image" * 100

    with pytest.raises(DriverError, match="is raw, not qcow2") as caught:
        qemu.driver.prepare_image(qemu.guest(content, image_disk_format="qcow2"), lambda: iter([content]))
    assert caught.value.failure_class is FailureClass.USER


def test_guest_of_a_killed_process_is_found_running_and_can_be_destroyed(qemu_answers: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kn-") as state:
        answers_known(qemu_answers, Path(state))
        (guest_uuid,) = run_python(SPAWN_AND_DIE, state)

        assert run_python(FIND_AND_DESTROY, state) == [f"{guest_uuid} running", "0"]


EVERYTHING = {
    "quota:disk_read_bytes_sec": "1048576",
    "quota:disk_write_iops_sec": "100",
    "quota:vif_inbound_average": "1000",
    "quota:vif_inbound_peak": "2000",
    "hw:watchdog_action": "reset",
    "hw:boot_menu": "yes",
    "hw:pmu": "no",
    "hide_hypervisor_id": "yes",
    "hw_rng:rate_bytes": "2048",
    "hw:usb_model": "qemu-xhci",
    "hw:sound_model": "ich6",
    "hw:virtio_packed_ring": "yes",
    "hw:maxphysaddr_mode": "emulate",
    "hw:maxphysaddr_bits": "40",
}
EVERY_PROPERTY = {
    "hw_serial_port_count": "6",
    "hw_video_ram": "16",
    "hw_time_hpet": "no",
    "hw_pointer_model": "usbtablet",
    "hw_qemu_guest_agent": "yes",
}


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_guest_with_every_option_that_a_flavor_may_set_boots(qemu: Hypervisor, machine: str) -> None:
    properties = {**EVERY_PROPERTY, "hw_machine_type": machine}
    guest = qemu.build(qemu.guest(extra_specs=EVERYTHING, image_properties=properties))

    eventually(lambda: said(qemu, guest.uuid) == 1)


@pytest.mark.parametrize(
    ("machine", "disk", "cdrom", "scsi", "card", "video", "viommu"),
    [
        ("pc", "scsi", "scsi", "virtio-scsi", "vmxnet3", "virtio", ""),
        ("q35", "scsi", "sata", "vmpvscsi", "pcnet", "qxl", "virtio"),
        ("pc", "usb", "ide", "", "ne2k_pci", "bochs", ""),
        ("q35", "usb", "usb", "", "rtl8139", "vmvga", "intel"),
        ("", "scsi", "scsi", "lsisas1078", "e1000e", "none", "auto"),
    ],
)
def test_guest_boots_from_each_bus_with_each_model(
    qemu: Hypervisor, machine: str, disk: str, cdrom: str, scsi: str, card: str, video: str, viommu: str
) -> None:
    wanted = {
        "hw_machine_type": machine,
        "hw_disk_bus": disk,
        "hw_cdrom_bus": cdrom,
        "hw_scsi_model": scsi,
        "hw_vif_model": card,
        "hw_video_model": video,
        "hw_viommu_model": viommu,
    }
    properties = {name: value for name, value in wanted.items() if value}
    guest = qemu.build(qemu.guest(image_properties=properties))

    eventually(lambda: said(qemu, guest.uuid) == 1)


def test_host_reports_what_its_qemu_gives(qemu: Hypervisor) -> None:
    found = set(qemu.driver.host_report().traits)

    assert {"COMPUTE_STORAGE_BUS_SCSI", "COMPUTE_NET_VIF_MODEL_VMXNET3", "COMPUTE_VIOMMU_MODEL_AUTO"} <= found
    assert ("COMPUTE_FIRMWARE_UEFI" in found) == any(not one.is_secure for one in firmwares_found())
    assert ("COMPUTE_SECURITY_TPM_2_0" in found) == (shutil.which("swtpm_setup") is not None)
    assert "COMPUTE_SOUND_MODEL_PCSPK" not in found


def test_counters_of_a_running_guest_are_qemus_own(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest.uuid) == 1)
    counted = qemu.driver.guest_counters()[guest.uuid]
    assert counted.cpu_ns > 0
    assert counted.memory_actual_kib == guest.memory_mib * 1024
    assert counted.memory_rss_kib > 0
    assert counted.disk_read_bytes >= 512  # its boot sector at least
    assert counted.disk_read_requests > 0
