"""Volumes under guests that write: one that fails stops its guest, nothing lost; one is copied, its guest frozen."""

import base64
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.protocol.power import PowerState, StateReason
from computeagent.protocol.volumes import VolumeFacts
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import Hypervisor
from tests.e2e.drivers.volume_files import file_volume, path_of, with_volumes
from tests.fixtures.hypervisors import answers_known, daemons_end
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
WRITE = """#!/bin/sh
n=0
while [ $n -lt 48 ]; do
  n=$((n+1)); yes "block $n" | head -c 1048576 | dd of=/dev/vdb bs=1M seek=$n conv=fsync 2>/dev/null && echo "wrote $n"
done
"""


@pytest.fixture
def small_pool(qemu_answers: Path) -> Iterator[Hypervisor]:
    """A hypervisor whose volumes are on a file system of 16 MiB."""
    if os.geteuid() != 0 or shutil.which("qemu-system-x86_64") is None:
        pytest.skip("needs root, to mount a small file system, and QEMU")
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        state_dir = Path(directory)
        state_dir.chmod(0o711)
        volumes = state_dir / "volumes"
        volumes.mkdir(mode=0o711)
        mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=711", "none", str(volumes)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
        answers_known(qemu_answers, state_dir)
        driver = LibvirtDriver(f"qemu:///private?root={state_dir / 'hv'}", state_dir, "node-small")
        found = Hypervisor("qemu", driver, state_dir)
        try:
            driver.open()
            yield found
        finally:
            for guest_uuid in found.made:
                driver.destroy(guest_uuid)
            driver.close()
            daemons_end(state_dir)
            subprocess.run(["umount", str(volumes)], check=True)


def test_guest_whose_volume_is_full_stands_still_and_runs_on_once_there_is_room(
    small_pool: Hypervisor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    qemu, volumes = small_pool, small_pool.state_dir / "volumes"
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    plain = qemu.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        user_data_base64=base64.b64encode(WRITE.encode()).decode(),
    )
    guest = with_volumes(plain, file_volume(qemu))
    qemu.build(guest, content)

    def said(words: str) -> bool:
        return words in qemu.driver.console_log(guest.uuid, max_bytes=100_000).decode(errors="replace")

    def state() -> tuple[PowerState, str, str]:
        facts = qemu.driver.facts(guest.uuid)
        assert facts is not None
        return facts.power_state, facts.reason, facts.details

    still = (PowerState.PAUSED, StateReason.IO_ERROR, "vdb: no space left")
    eventually(lambda: state() == still, state)
    assert not said("wrote 48")
    qemu.driver.unpause(guest.uuid)
    eventually(lambda: state() == still)  # there is no room yet

    subprocess.run(["mount", "-o", "remount,size=200m", str(volumes)], check=True)
    qemu.driver.unpause(guest.uuid)
    eventually(lambda: said("wrote 48"))
    assert state()[0] is PowerState.RUNNING
    with path_of(guest.volumes[0]).open("rb") as file:
        for number in (1, 15, 16, 17, 48):
            file.seek(number * 2**20)
            assert file.read(12).startswith(f"block {number}\n".encode())


FREEZER = """#!/bin/sh
# As much of a QEMU guest agent as freezing needs: what it is asked goes to the console.
for name in /sys/class/virtio-ports/*/name; do
    if [ "$(cat $name)" = org.qemu.guest_agent.0 ]; then port=/dev/$(basename $(dirname $name)); fi
done
field() { echo "$line" | sed -n "s/.*\\"$1\\": *\\"\\{0,1\\}\\([^\\",}]*\\).*/\\1/p"; }
serve() {
    exec 3<>$port
    echo agent listens
    while true; do
        if ! IFS= read -r line <&3; then sleep 1; continue; fi
        case "$line" in
            *guest-sync*) echo "{\\"return\\": $(field id)}" >&3 ;;
            *fsfreeze-freeze*) echo "asked to freeze" >/dev/ttyS0; echo '{"return": 1}' >&3 ;;
            *fsfreeze-thaw*) echo "asked to thaw" >/dev/ttyS0; echo '{"return": 1}' >&3 ;;
            *) echo '{"return": {}}' >&3 ;;
        esac
    done
}
serve &
"""


def test_guest_is_frozen_while_its_volume_begins_to_be_copied_and_no_longer(
    qemu: Hypervisor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = demo_image_build(tmp_path_factory.mktemp("demo")).read_bytes()
    plain = qemu.guest(
        content,
        memory_mib=MIN_RAM_MIB,
        image_disk_format="qcow2",
        image_properties={"hw_qemu_guest_agent": "yes"},
        user_data_base64=base64.b64encode(FREEZER.encode()).decode(),
    )
    volume = file_volume(qemu, os.urandom(64 * 2**20))
    guest = with_volumes(plain, volume)
    qemu.build(guest, content)

    def said(words: str) -> int:
        console = qemu.driver.console_log(guest.uuid, max_bytes=100_000).decode(errors="replace")
        return len(re.findall(rf"(?:\n|\x1b\[6n){words}", console))  # a shell's prompt asks where the cursor is

    eventually(lambda: said("agent listens") > 0)
    thawed_while_copying = []

    def progress(_done: int, _total: int) -> None:
        thawed_while_copying.append(not marker.exists())

    marker = qemu.state_dir / "i" / guest.uuid / "frozen"
    for attempt in range(3):  # a shell on a busy machine may answer too late
        thawed_while_copying.clear()
        copy = qemu.state_dir / f"frozen-copy-{attempt}"
        facts = qemu.driver.copy_volume(guest, volume.volume.id, copy, progress)
        if facts.is_consistent:
            break
    assert facts.is_consistent and 0 < facts.frozen_ms < 20_000
    assert thawed_while_copying and all(thawed_while_copying)
    eventually(
        lambda: said("asked to thaw") >= said("asked to freeze") >= 1,
        lambda: qemu.driver.console_log(guest.uuid, max_bytes=1500),
    )
    assert copy.read_bytes()[: 2**20] == path_of(volume).read_bytes()[: 2**20]
    print(f"frozen for {facts.frozen_ms} ms")

    # An agent that died with the guest frozen: who opens the hypervisor next lets it go on.
    thawed = said("asked to thaw")
    marker.touch()
    qemu.driver.close()
    qemu.driver.open()
    eventually(lambda: said("asked to thaw") > thawed)
    assert not marker.exists()

    def take() -> VolumeFacts:
        return VolumeFacts(used_bytes=int(marker.exists()))

    for _ in range(3):
        facts = qemu.driver.quiesce(guest, take)
        if facts.is_consistent:
            break
    assert facts.is_consistent and facts.used_bytes == 1  # it stood still meanwhile
    assert not marker.exists()
