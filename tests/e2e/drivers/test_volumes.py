"""Volumes of real guests: booted from, encrypted, many of them, and seen by a Linux that writes to them."""

import base64
import re
import subprocess
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.domains import domain_lookup
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.volume_secrets import secrets_defined
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import NO_SOURCE, DiskSource, LocalDisk, LocalDiskKind, PoolKind, VolumeSpec
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import PoolDirectory
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import IMAGE, WORDS, Hypervisor
from tests.e2e.drivers.volume_files import GIB, file_volume, path_of, with_volumes
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
PASSPHRASE = "correct horse battery staple"


def said(qemu: Hypervisor, guest: GuestSpec, words: str) -> bool:
    return words in qemu.driver.console_log(guest.uuid, max_bytes=200_000).decode(errors="replace")


def connection(qemu: Hypervisor) -> Any:
    assert isinstance(qemu.driver, LibvirtDriver)
    return qemu.driver._connection.handle()


def live(qemu: Hypervisor, guest: GuestSpec) -> ET.Element:
    domain = domain_lookup(connection(qemu), guest.uuid)
    assert domain is not None
    return ET.fromstring(domain.XMLDesc(0))  # noqa: S314 - libvirt's own output


def test_guest_boots_from_a_volume_and_has_its_own_disks_beside(qemu: Hypervisor) -> None:
    root = file_volume(qemu, IMAGE, device="vda", boot_index=0)
    guest = qemu.guest(
        has_local_root=False,
        local_disks=(LocalDisk(LocalDiskKind.EPHEMERAL, 64), LocalDisk(LocalDiskKind.SWAP, 16)),
        volumes=(file_volume(qemu, device="vdb"), root),
        image_id="",
        image_checksum="",
    )
    qemu.driver.prepare_disks(guest)
    assert qemu.driver.spawn(guest).power_state is PowerState.RUNNING
    eventually(lambda: said(qemu, guest, WORDS))
    names = [target.get("dev") for target in live(qemu, guest).iterfind("devices/disk[@device='disk']/target")]
    assert names == ["vda", "vdb", "vdc", "vdd"]
    assert {path.name for path in (qemu.state_dir / "i" / guest.uuid).iterdir()} >= {"ephemeral", "swap"}
    qemu.driver.stop(guest.uuid, grace_s=0)
    assert qemu.driver.start(guest).power_state is PowerState.RUNNING
    with pytest.raises(DriverError, match="boots from a volume") as refused:
        qemu.driver.snapshot(guest, guest.uuid, lambda _done, _total: None)
    assert refused.value.failure_class is FailureClass.USER


def test_machine_of_pci_express_has_slots_for_twelve_more_disks(qemu: Hypervisor) -> None:
    plain = qemu.build(qemu.guest(image_properties={"hw_machine_type": "q35"}))
    guest = with_volumes(plain, *(file_volume(qemu) for _ in range(12)))
    for volume in guest.volumes:
        qemu.driver.attach_volume(guest, volume.volume.id)
    assert len(qemu.driver.volumes_of_guests()[guest.uuid]) == 12


def test_disk_on_a_bus_without_hot_plug_waits_for_the_guest_to_be_off(qemu: Hypervisor) -> None:
    plain = qemu.build(qemu.guest(image_properties={"hw_machine_type": "q35", "hw_disk_bus": "sata"}))
    guest = with_volumes(plain, file_volume(qemu, bus="sata"))
    with pytest.raises(DriverError, match="only while the guest is off") as refused:
        qemu.driver.attach_volume(guest, guest.volumes[0].volume.id)
    assert refused.value.failure_class is FailureClass.USER
    qemu.driver.stop(guest.uuid, grace_s=0)
    qemu.driver.attach_volume(guest, guest.volumes[0].volume.id)
    qemu.driver.start(guest)
    assert qemu.driver.volumes_of_guests()[guest.uuid] == (guest.volumes[0].volume.id,)


@pytest.mark.parametrize("model", ["lsilogic", "lsisas1068", "lsisas1078", "vmpvscsi"])
def test_each_scsi_controller_has_places_for_disks_from_the_start_and_later(qemu: Hypervisor, model: str) -> None:
    properties = {"hw_disk_bus": "scsi", "hw_scsi_model": model, "hw_cdrom_bus": "scsi"}
    first = [file_volume(qemu, bus="scsi", device=f"sd{letter}") for letter in "bc"]
    guest = qemu.build(with_volumes(qemu.guest(image_properties=properties), *first))
    for letter in "def":
        guest = with_volumes(guest, file_volume(qemu, bus="scsi", device=f"sd{letter}"))
        qemu.driver.attach_volume(guest, guest.volumes[-1].volume.id)
    assert len(qemu.driver.volumes_of_guests()[guest.uuid]) == 5


def test_guest_without_a_free_usb_port_is_told_so_as_the_requests_fault(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest(image_properties={"hw_machine_type": "pc"}))
    with pytest.raises(DriverError, match="no slot left for another disk") as refused:
        for _ in range(3):
            guest = with_volumes(guest, file_volume(qemu, bus="usb"))
            qemu.driver.attach_volume(guest, guest.volumes[-1].volume.id)
    assert refused.value.failure_class is FailureClass.USER


def test_guest_with_a_volume_that_is_away_is_not_started_and_says_so(qemu: Hypervisor) -> None:
    volume = file_volume(qemu)
    guest = qemu.build(with_volumes(qemu.guest(), volume))
    qemu.driver.stop(guest.uuid, grace_s=0)
    path_of(volume).unlink()
    with pytest.raises(DriverError, match="starting"):
        qemu.driver.start(guest)


def encrypted_volume(qemu: Hypervisor) -> tuple[FileBackend, VolumeSpec, DiskSource]:
    backend = FileBackend("p", PoolDirectory(qemu.state_dir / "pool", qemu.state_dir / "pool-id"), is_shared=False)
    spec = VolumeSpec(file_volume(qemu).volume.id, "p", PoolKind.FILE, 1, is_encrypted=True)
    (qemu.state_dir / "pool").mkdir(mode=0o711, exist_ok=True)
    backend.create(
        spec,
        NO_SOURCE,
        image_file=lambda: Path("/none"),
        key_of=lambda _: PASSPHRASE.encode(),
        progress=lambda _done, _total: None,
    )
    return backend, spec, replace(backend.connect(spec), passphrase=PASSPHRASE)


def opens(path: Path, passphrase: str) -> bool:
    secret = path.with_suffix(".key")
    secret.write_text(passphrase)
    command = ["qemu-io", "--object", f"secret,id=s,file={secret}", "--image-opts"]
    image = f"driver=luks,key-secret=s,file.filename={path}"
    done = subprocess.run([*command, image, "-c", "read 0 4k"], capture_output=True, text=True, check=False)
    secret.unlink()
    return done.returncode == 0 and "read 4096/4096" in done.stdout


def test_encrypted_volume_comes_grows_and_is_copied_encrypted_and_no_secret_stays(qemu: Hypervisor) -> None:
    backend, spec, source = encrypted_volume(qemu)
    plain = qemu.build(qemu.guest())
    guest = with_volumes(plain, file_volume(qemu, volume=spec, source=source))
    qemu.driver.attach_volume(guest, spec.id)
    assert qemu.driver.volumes_of_guests()[guest.uuid] == (spec.id,)
    assert PASSPHRASE not in ET.tostring(live(qemu, guest), encoding="unicode")
    qemu.driver.resize_volume(guest, spec.id, 2 * GIB)
    snapshot_id = file_volume(qemu).volume.id
    target = backend.snapshot_target(spec, snapshot_id)
    assert target is not None
    facts = qemu.driver.copy_volume(guest, spec.id, target, lambda _done, _total: None)
    assert facts.size_bytes == 2 * GIB
    assert opens(target, PASSPHRASE) and not opens(target, "another one")
    assert backend.snapshot_keep(replace(spec, size_gib=2), snapshot_id).size_bytes == 2 * GIB
    assert connection(qemu).listAllSecrets(0) == []
    qemu.driver.hard_reboot(guest)
    assert qemu.driver.volumes_of_guests()[guest.uuid] == (spec.id,)
    wrong = with_volumes(plain, file_volume(qemu, volume=spec, source=replace(source, passphrase="wrong")))
    qemu.driver.stop(guest.uuid, grace_s=0)
    with pytest.raises(DriverError, match="starting"):
        qemu.driver.start(wrong)
    assert connection(qemu).listAllSecrets(0) == []


def test_secret_that_a_dead_agent_left_is_gone_once_the_next_one_is_there(qemu: Hypervisor) -> None:
    _, spec, source = encrypted_volume(qemu)
    cut_off = secrets_defined(connection(qemu), [file_volume(qemu, volume=spec, source=source)])
    cut_off.__enter__()
    assert len(connection(qemu).listAllSecrets(0)) == 1
    qemu.driver.close()
    qemu.driver.open()
    assert connection(qemu).listAllSecrets(0) == []


WATCH = """#!/bin/sh
bytes() { echo "volume $1 $(cat /sys/block/$1/size 2>/dev/null)"; }
(seen=; while true; do
  now=; for d in /sys/block/vd*; do now="$now $(basename $d):$(cat $d/size)"; done
  [ "$now" = "$seen" ] || { echo "disks$now"; seen="$now"; }
  sleep 0.1; done) &
(n=0; while true; do
  if [ -b /dev/vdb ]; then n=$((n+1)); echo "line $n" | dd of=/dev/vdb bs=512 seek=$n conv=sync,fsync 2>/dev/null \
     && echo "wrote $n"; fi
  sleep 0.1; done) &
echo watching
"""


def written(qemu: Hypervisor, guest: GuestSpec) -> int:
    log = qemu.driver.console_log(guest.uuid, max_bytes=1_000_000).decode(errors="replace")
    return max(map(int, re.findall(r"wrote (\d+)", log)), default=0)


def test_linux_sees_a_volume_come_grow_while_it_writes_and_go(
    qemu: Hypervisor, tmp_path_factory: pytest.TempPathFactory, record_property: Any
) -> None:
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    plain = qemu.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        user_data_base64=base64.b64encode(WATCH.encode()).decode(),
    )
    qemu.build(plain, content)
    eventually(lambda: said(qemu, plain, "watching"))
    volume = file_volume(qemu)
    guest = with_volumes(plain, volume)
    figures = {}

    def timed(name: str, verb: Any, *arguments: Any, **named: Any) -> Any:
        began = time.monotonic()
        answer = verb(*arguments, **named)
        figures[name] = round(time.monotonic() - began, 3)
        return answer

    timed("attach", qemu.driver.attach_volume, guest, volume.volume.id)
    eventually(lambda: said(qemu, guest, f"vdb:{GIB // 512}"))
    eventually(lambda: written(qemu, guest) > 2)
    timed("extend", qemu.driver.resize_volume, guest, volume.volume.id, 2 * GIB)
    eventually(lambda: said(qemu, guest, f"vdb:{2 * GIB // 512}"))
    before = written(qemu, guest)
    eventually(lambda: written(qemu, guest) > before)

    copy = qemu.state_dir / "copy"
    timed("copy", qemu.driver.copy_volume, guest, volume.volume.id, copy, lambda _done, _total: None)
    with copy.open("rb") as file:
        file.seek(512)
        assert file.read(6) == b"line 1"

    timed("detach", qemu.driver.detach_volume, guest, volume.volume.id, timeout_s=60)
    assert guest.uuid not in qemu.driver.volumes_of_guests() or not qemu.driver.volumes_of_guests()[guest.uuid]
    last = written(qemu, guest)
    with path_of(volume).open("rb") as file:
        file.seek(512 * last)
        assert file.read(512).startswith(f"line {last}".encode())
    qemu.driver.detach_volume(guest, volume.volume.id, timeout_s=1)
    record_property("seconds", figures)
    print(figures)
