"""What a program may still do that reads what strangers uploaded."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.kernel.disk_images import foreign_image_check
from controlplane.kernel.errors import Invalid, TooLarge
from servers.images.inspection.qemu_img import LOCKED_DOWN, disk_size_seen, to_qcow2
from tests.fixtures.disk_images import converted, disk_image, raw_of
from tests.fixtures.patience import PATIENCE_S

LIMITS = {"memory_bytes": 2**30, "cpu_s": 5, "file_bytes": 2**20, "readable": [], "writable": []}


def says(code: str, **changes: object) -> str:
    """What Python says for this code, locked down."""
    limits = json.dumps({**LIMITS, **changes})
    command = [sys.executable, "-I", str(LOCKED_DOWN), limits, "--", "/usr/bin/python3", "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


LANDLOCK_CREATE_RULESET, VERSION = 444, 1
HAS_LANDLOCK = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, VERSION) > 0
pytestmark = [
    pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system"),
    pytest.mark.skipif(not HAS_LANDLOCK, reason="this kernel has no Landlock"),
]


@pytest.mark.parametrize(
    "code",
    [
        "import _socket; _socket.socket(_socket.AF_INET)",
        "import _socket; _socket.socket(_socket.AF_UNIX)",
        "import _socket; _socket.socketpair()",
        "open('/etc/passwd').read()",
        "open('/proc/1/environ').read()",
        "import posix; posix.listdir('/')",
        "open('/tmp/locked-down-was-not', 'w')",
    ],
)
def test_network_and_files_are_refused(code):
    assert says(code).startswith("PermissionError")


def test_memory_files_and_privileges_are_limited(tmp_path):
    assert says("bytearray(2**31)") == "MemoryError"
    target = tmp_path / "target"
    target.touch()
    code = (
        f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); open({str(target)!r}, 'wb').write(bytes(2**21))"
    )
    assert "File too large" in says(code, writable=[str(target)])
    assert target.stat().st_size <= 2**20
    flags = "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'Seccomp:'))])"
    assert says(flags, readable=["/proc"]) == "['1', '2']"


def test_only_the_named_file_is_read(tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.write_text("mine")
    other.write_text("other")
    assert says(f"print(open({str(mine)!r}).read())", readable=[str(mine)]) == "mine"
    assert says(f"print(open({str(other)!r}).read())", readable=[str(mine)]).startswith("PermissionError")


def test_qcow2_whose_backing_file_is_one_of_the_host_is_refused(tmp_path):
    secret, image = tmp_path / "secret", tmp_path / "image"
    secret.write_bytes(b"root:x:0:0".ljust(2**20, b"\0"))
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", secret, "-F", "raw", image], check=True)
    with pytest.raises(Invalid, match="names a backing file"):
        disk_size_seen(image, "qcow2")
    with pytest.raises(Invalid, match="cannot be converted"):  # nor could it be read where the look failed to see it
        to_qcow2(image, "qcow2", tmp_path / "out", max_bytes=2**24, deadline_s=30, progress=lambda _: None)


@pytest.mark.parametrize("subformat", ["monolithicFlat", "twoGbMaxExtentSparse", "twoGbMaxExtentFlat"])
def test_vmdk_that_names_other_files_is_refused(tmp_path, subformat):
    path = tmp_path / "disk.vmdk"
    command = ["qemu-img", "create", "-q", "-f", "vmdk", "-o", f"subformat={subformat}", path, "1M"]
    subprocess.run(command, check=True)
    with path.open("rb") as file, pytest.raises(Invalid, match="must be one file"):
        foreign_image_check(file, declared="vmdk")
    with pytest.raises(Invalid, match="cannot be read as vmdk"):
        disk_size_seen(path, "vmdk")


def test_vmdk_with_a_parent_is_refused(tmp_path):
    parent, child = tmp_path / "parent.vmdk", tmp_path / "child.vmdk"
    parent.write_bytes(disk_image("vmdk"))
    subprocess.run(["qemu-img", "create", "-q", "-f", "vmdk", "-b", parent, "-F", "vmdk", child], check=True)
    with child.open("rb") as file, pytest.raises(Invalid, match="must be one file"):
        foreign_image_check(file, declared="vmdk")
    with pytest.raises(Invalid):
        disk_size_seen(child, "vmdk")


def test_bytes_that_are_none_of_the_format_are_refused(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"\0" * 4096)
    for disk_format in ("vmdk", "vdi", "vhd", "vhdx", "qcow2"):
        with pytest.raises(Invalid, match=f"cannot be read as {disk_format}"):
            disk_size_seen(path, disk_format)


def test_conversion_keeps_the_disk_and_ends_at_its_limit(tmp_path):
    disk = bytes(range(256)) * 8192
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(converted(disk, "vdi"))
    to_qcow2(source, "vdi", target, max_bytes=2**24, deadline_s=60, progress=lambda _: None)
    assert raw_of(target.read_bytes(), "qcow2") == disk
    target.unlink()
    with pytest.raises(TooLarge, match="more than 1000000 bytes"):
        to_qcow2(source, "vdi", target, max_bytes=1_000_000, deadline_s=60, progress=lambda _: None)


def test_what_progress_raises_ends_the_conversion(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(disk_image("vdi"))

    def stop(_part: float) -> None:
        raise KeyError("fenced")

    with pytest.raises(KeyError):
        to_qcow2(source, "vdi", tmp_path / "target", max_bytes=2**24, deadline_s=60, progress=stop)
