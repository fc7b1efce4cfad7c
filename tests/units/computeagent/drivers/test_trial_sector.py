"""The guest that tries KVM: it speaks where the first steps of a kernel go well, as under emulation they do."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from computeagent.drivers.libvirt.boot_sector import SECTOR_BYTES
from computeagent.drivers.libvirt.trial_sector import trial_sector

WORDS = "all steps are done"


def test_words_that_do_not_fit_are_refused() -> None:
    assert len(trial_sector(WORDS)) == SECTOR_BYTES
    with pytest.raises(ValueError, match="400 characters"):
        trial_sector("x" * 400)


@pytest.mark.qemu
@pytest.mark.processes
def test_it_speaks_under_emulation_from_64_bits(tmp_path: Path) -> None:
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        pytest.skip("there is no QEMU")
    (tmp_path / "disk").write_bytes(trial_sector(WORDS).ljust(2**20, b"\0"))
    drive, console = f"file={tmp_path / 'disk'},format=raw,if=virtio", tmp_path / "console"
    guest = subprocess.Popen(
        [qemu, "-accel", "tcg", "-m", "32", "-display", "none", "-serial", f"file:{console}", "-drive", drive]
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and (not console.exists() or WORDS not in console.read_text()):
            time.sleep(0.05)
        assert console.read_text() == WORDS
    finally:
        guest.kill()
        guest.wait()
