"""Copies of the disks of real guests: of one that runs, stands still or is off, and when copying is cut off."""

import os
import subprocess
import uuid
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from tests.e2e.drivers.conftest import IMAGE, WORDS, Hypervisor
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
LARGE = IMAGE + os.urandom(48 * 2**20)


class Cut(Exception):
    """Raised by a progress that wants no more."""


def copied(hypervisor: Hypervisor, guest: GuestSpec) -> bytes:
    image_id = str(uuid.uuid4())
    hypervisor.driver.snapshot(guest, image_id, lambda _done, _total: None)
    with hypervisor.driver.snapshot_open(guest.uuid, image_id) as file:
        data = file.read()
    hypervisor.driver.snapshot_remove(guest.uuid, image_id)
    return data


def said(hypervisor: Hypervisor, guest: GuestSpec) -> int:
    return hypervisor.driver.console_log(guest.uuid, max_bytes=10_000).count(WORDS.encode())


def state(hypervisor: Hypervisor, guest: GuestSpec) -> PowerState:
    facts = hypervisor.driver.facts(guest.uuid)
    assert facts is not None
    return facts.power_state


def test_new_guest_boots_from_the_copy_of_one_that_runs(qemu: Hypervisor, tmp_path: Path) -> None:
    guest = qemu.build(qemu.guest())
    eventually(lambda: said(qemu, guest) == 1)

    data = copied(qemu, guest)

    assert (said(qemu, guest), state(qemu, guest)) == (1, PowerState.RUNNING)
    (tmp_path / "copy").write_bytes(data)
    info = subprocess.run(["qemu-img", "info", str(tmp_path / "copy")], capture_output=True, text=True, check=True)
    assert "backing file" not in info.stdout
    second = qemu.build(qemu.guest(data, image_disk_format="qcow2"), data)
    eventually(lambda: said(qemu, second) == 1)


@pytest.mark.parametrize("verb", ["pause", "suspend"])
def test_guest_that_stands_still_is_copied_and_goes_on(qemu: Hypervisor, verb: str) -> None:
    guest = qemu.build(qemu.guest())
    getattr(qemu.driver, verb)(guest.uuid)
    before = state(qemu, guest)

    assert copied(qemu, guest).startswith(b"QFI\xfb")

    assert state(qemu, guest) is before
    if verb == "pause":
        qemu.driver.unpause(guest.uuid)
    else:
        qemu.driver.resume(guest)
    assert state(qemu, guest) is PowerState.RUNNING


@pytest.mark.parametrize("is_on", [True, False])
def test_copy_that_is_cut_off_leaves_nothing_and_can_be_made_again(qemu: Hypervisor, *, is_on: bool) -> None:
    guest = qemu.build(qemu.guest(LARGE), LARGE)
    if not is_on:
        qemu.driver.stop(guest.uuid, grace_s=0)
    directory = qemu.state_dir / "i" / guest.uuid

    def cut(_done: int, _total: int) -> None:
        raise Cut

    for _ in range(2):
        with pytest.raises(Cut):
            qemu.driver.snapshot(guest, str(uuid.uuid4()), cut)
        assert list(directory.glob("snapshot.*")) == []
    assert copied(qemu, guest).startswith(b"QFI\xfb")


def test_backup_job_that_a_dead_agent_left_is_ended(qemu: Hypervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    from computeagent.drivers.libvirt import backup_job

    guest = qemu.build(qemu.guest(LARGE), LARGE)
    with monkeypatch.context() as died:
        died.setattr(backup_job, "job_wait", lambda *_: (_ for _ in ()).throw(Cut))
        died.setattr(backup_job, "job_end", lambda *_: None)
        with pytest.raises(Cut):
            qemu.driver.snapshot(guest, str(uuid.uuid4()), lambda _done, _total: None)

    assert copied(qemu, guest).startswith(b"QFI\xfb")


def test_guest_without_an_agent_that_answers_is_copied_unless_it_must_be_frozen(qemu: Hypervisor) -> None:
    properties = {"hw_qemu_guest_agent": "yes"}
    guest = qemu.build(qemu.guest(image_properties=properties))
    assert copied(qemu, guest).startswith(b"QFI\xfb")

    strict = qemu.build(qemu.guest(image_properties=properties | {"os_require_quiesce": "yes"}))
    with pytest.raises(DriverError, match="could not be frozen") as refused:
        copied(qemu, strict)
    assert refused.value.failure_class is FailureClass.USER
    assert not (qemu.state_dir / "i" / strict.uuid / "frozen").exists()


def test_what_the_guest_wrote_is_in_the_copy(qemu: Hypervisor) -> None:
    other = boot_sector("written later\r\n").ljust(2**20, b"\0")
    guest = qemu.build(qemu.guest())
    qemu.driver.stop(guest.uuid, grace_s=0)
    disk = qemu.state_dir / "i" / guest.uuid / "disk"
    (qemu.state_dir / "sector").write_bytes(other[:512])
    command = f"write -s {qemu.state_dir / 'sector'} 0 512"
    subprocess.run(["qemu-io", "-f", "qcow2", "-c", command, str(disk)], check=True, capture_output=True)
    qemu.driver.start(guest)

    data = copied(qemu, guest)

    second = qemu.build(qemu.guest(data, image_disk_format="qcow2"), data)
    log = qemu.driver.console_log
    eventually(lambda: b"written later" in log(second.uuid, max_bytes=10_000))
