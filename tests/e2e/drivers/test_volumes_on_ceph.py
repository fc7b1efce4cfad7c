"""Volumes of real guests in a real Ceph: written, grown and copied under a guest, moved to another hypervisor."""

import base64
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.volumes import NO_SOURCE, GuestVolume, PoolKind, VolumeSource, VolumeSourceKind, VolumeSpec
from computeagent.volumes.rbd import RbdBackend
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import IMAGE, WORDS, Hypervisor, real_hypervisor
from tests.e2e.drivers.volume_files import GIB, with_volumes
from tests.fixtures.hypervisors import daemons_end
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
PASSPHRASE = "correct horse battery staple"
WRITER = """#!/bin/sh
(while [ ! -b /dev/vdb ]; do sleep 0.1; done
 echo "found $(dd if=/dev/vdb bs=512 skip=1 count=1 2>/dev/null | head -c 40 | tr -d '\\0')"
 n=0; while true; do n=$((n+1))
  echo "MARK line $n" | dd of=/dev/vdb bs=512 seek=$n conv=sync,fsync 2>/dev/null && echo "wrote $n"
  echo "size $(cat /sys/block/vdb/size)"; sleep 0.1; done) &
echo watching
"""


@pytest.fixture
def other(qemu_answers: Path) -> Iterator[Hypervisor]:
    """A second hypervisor."""
    with real_hypervisor("private", "other", qemu_answers) as found:
        yield found
        for guest_uuid in found.made:
            found.driver.destroy(guest_uuid)
        found.driver.close()
        daemons_end(found.state_dir)


def log_of(hypervisor: Hypervisor, guest: GuestSpec) -> str:
    return hypervisor.driver.console_log(guest.uuid, max_bytes=1_000_000).decode(errors="replace")


def written(hypervisor: Hypervisor, guest: GuestSpec) -> int:
    return max(map(int, re.findall(r"wrote (\d+)", log_of(hypervisor, guest))), default=0)


def made(pool: RbdBackend, source: VolumeSource = NO_SOURCE, path: Path | None = None, **fields: Any) -> VolumeSpec:
    spec = VolumeSpec(str(uuid.uuid4()), "ceph", PoolKind.RBD, 1, **fields)
    pool.create(
        spec,
        source,
        image_file=lambda: path or Path(),
        key_of=lambda _: PASSPHRASE.encode(),
        progress=lambda _done, _total: None,
    )
    return spec


def given(pool: RbdBackend, spec: VolumeSpec, **changes: Any) -> GuestVolume:
    """As an agent connects it."""
    source = replace(pool.connect(spec), passphrase=PASSPHRASE if spec.is_encrypted else "")
    return replace(GuestVolume(str(uuid.uuid4()), spec, source=source), **changes)


def linux(hypervisor: Hypervisor, content: bytes, mark: str) -> GuestSpec:
    """One that writes lines with this mark to its second disk."""
    script = WRITER.replace("MARK", mark)
    return hypervisor.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        user_data_base64=base64.b64encode(script.encode()).decode(),
    )


def test_a_volume_with_data_grows_is_copied_and_moves_to_a_guest_of_another_hypervisor(
    qemu: Hypervisor, other: Hypervisor, pool: RbdBackend, tmp_path: Path, record_property: Any
) -> None:
    content, figures = demo_image_build(tmp_path).read_bytes(), {}

    def timed(name: str, verb: Any, *arguments: Any, **named: Any) -> Any:
        began = time.monotonic()
        answer = verb(*arguments, **named)
        figures[name] = round(time.monotonic() - began, 3)
        return answer

    spec = made(pool)
    plain = qemu.build(linux(qemu, content, "first"), content)
    guest = with_volumes(plain, given(pool, spec))
    timed("attach", qemu.driver.attach_volume, guest, spec.id)
    eventually(lambda: written(qemu, guest) > 3)
    timed("extend", qemu.driver.resize_volume, guest, spec.id, 2 * GIB)
    eventually(lambda: f"size {2 * GIB // 512}" in log_of(qemu, guest))
    larger = replace(spec, size_gib=2)
    assert pool.extend(larger).size_bytes == 2 * GIB

    snapshot = str(uuid.uuid4())
    timed("snapshot", pool.snapshot_create, larger, snapshot, lambda _done, _total: None)
    at_least = written(qemu, guest)
    eventually(lambda: written(qemu, guest) > at_least)
    source = VolumeSource(VolumeSourceKind.SNAPSHOT, snapshot, spec.id)
    clone = VolumeSpec(str(uuid.uuid4()), "ceph", PoolKind.RBD, 2)
    began = time.monotonic()
    pool.create(clone, source, image_file=Path, key_of=lambda _: b"", progress=lambda _done, _total: None)
    figures["clone"] = round(time.monotonic() - began, 3)
    lines = dict(pool.read(larger, snapshot))[0]
    assert lines[512:].startswith(b"first line 1\n")
    timed("detach", qemu.driver.detach_volume, guest, spec.id, timeout_s=60)
    qemu.driver.destroy(guest.uuid)

    for number, (volume, mark) in enumerate(((larger, "second"), (replace(clone, size_gib=2), "third"))):
        later = other.build(with_volumes(linux(other, content, mark), given(pool, volume)), content)
        eventually(lambda later=later: "found first line 1" in log_of(other, later), number)
        other.driver.destroy(later.uuid)
    record_property("seconds", figures)
    print(figures)


def test_guests_boot_from_ceph_and_ceph_guards_nothing(
    qemu: Hypervisor, other: Hypervisor, pool: RbdBackend, tmp_path: Path
) -> None:
    """That a volume is one guest's is the control plane's constraint: a second one starts."""
    path = tmp_path / "boot"
    path.write_bytes(IMAGE)
    source = VolumeSource(VolumeSourceKind.IMAGE, str(uuid.uuid4()), checksum="c", disk_format="raw")
    root = made(pool, source, path)
    for hypervisor in (qemu, other):
        guest = hypervisor.guest(has_local_root=False, image_id="", image_checksum="")
        guest = with_volumes(guest, given(pool, root, device="vda", boot_index=0))
        hypervisor.driver.prepare_disks(guest)
        assert hypervisor.driver.spawn(guest).power_state is PowerState.RUNNING
        eventually(lambda at=hypervisor, guest=guest: WORDS in log_of(at, guest))
    for hypervisor in (qemu, other):
        for guest_uuid in hypervisor.made:
            hypervisor.driver.destroy(guest_uuid)


def test_encrypted_volumes_of_ceph_are_opened_by_qemu_and_no_secret_stays(qemu: Hypervisor, pool: RbdBackend) -> None:
    spec = made(pool, is_encrypted=True)
    plain = qemu.build(qemu.guest())
    guest = with_volumes(plain, given(pool, spec))
    qemu.driver.attach_volume(guest, spec.id)
    assert qemu.driver.volumes_of_guests()[guest.uuid] == (spec.id,)
    assert qemu.driver.hard_reboot(guest).power_state is PowerState.RUNNING
    connection = qemu.driver._connection.handle()  # type: ignore[attr-defined]
    assert connection.listAllSecrets(0) == []
    said = connection.lookupByUUIDString(guest.uuid).XMLDesc(0)
    assert PASSPHRASE not in said and pool.place.user_key not in said
    qemu.driver.destroy(guest.uuid)
