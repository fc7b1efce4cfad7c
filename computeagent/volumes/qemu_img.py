"""qemu-img on volumes: locked down, for what it reads may be hostile, and never told a passphrase by its arguments.

It reads and writes the named files and no others (`controlplane.kernel.locked_down`), has no network, and ends with
this process. Formats are always given. A passphrase goes through a pipe: among the arguments stands its descriptor.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.programs import secret_descriptor
from controlplane.kernel import locked_down

MEMORY_BYTES = 2 * 2**30
CPU_S = 7 * 24 * 3600
"""Copies end by their caller's progress. This is only so that none goes on for ever."""
SPARE_FILE_BYTES = 64 * 2**20
POLL_S = 0.5
MESSAGE_MAX_BYTES = 2000


def run(
    arguments: Sequence[str],
    *,
    readable: Sequence[Path],
    writable: Sequence[Path],
    max_file_bytes: int,
    secrets: Mapping[str, bytes] | None = None,
    poll: Callable[[], None] = lambda: None,
) -> None:
    """Run `qemu-img` with these arguments and, after the first, an `--object` for each of `secrets` by its id.

    `writable` are made where they are not there, for nobody but this user. `poll` is called about twice a second; what
    it raises ends qemu-img. Raises VolumeBackendError with what it said.
    """
    for path in writable:
        path.touch(mode=0o600)
    with ExitStack() as stack, tempfile.TemporaryFile() as complaints:
        objects, descriptors = [], []
        for name, passphrase in (secrets or {}).items():
            descriptor = stack.enter_context(secret_descriptor(passphrase))
            descriptors.append(descriptor)
            objects += ["--object", f"secret,id={name},file=/dev/fd/{descriptor}"]
        command = _command(readable, writable, max_file_bytes)
        process = subprocess.Popen(
            [*command, arguments[0], *objects, *arguments[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            pass_fds=descriptors,
        )
        try:
            while True:
                poll()
                try:
                    process.wait(timeout=POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            complaints.seek(0)
            words = complaints.read(MESSAGE_MAX_BYTES).decode(errors="replace").strip()
            raise VolumeBackendError(f"qemu-img {arguments[0]}: {words or f'exit status {process.returncode}'}")


def flat_image(path: Path, disk_format: str) -> str:
    """The name by which qemu-img opens this image and nothing below it, whatever the image says."""
    file = {"driver": "file", "filename": str(path)}
    options = {"driver": disk_format, "file": file, **({"backing": None} if disk_format == "qcow2" else {})}
    return f"json:{json.dumps(options)}"


def luks_file(path: Path, secret: str) -> str:
    """The name by which qemu-img opens this LUKS file by the passphrase of this id, as a source."""
    file = {"driver": "file", "filename": str(path)}
    return f"json:{json.dumps({'driver': 'luks', 'key-secret': secret, 'file': file})}"


def luks_target(path: Path, secret: str) -> str:
    """The same as the target of `convert --target-image-opts`."""
    return f"driver=luks,key-secret={secret},file.driver=file,file.filename={str(path).replace(',', ',,')}"


def _command(readable: Sequence[Path], writable: Sequence[Path], max_file_bytes: int) -> list[str]:
    tool = shutil.which("qemu-img")
    if tool is None:
        raise VolumeBackendError("qemu-img is not installed: install qemu-utils")
    asked = {
        "memory_bytes": MEMORY_BYTES,
        "cpu_s": CPU_S,
        "file_bytes": max_file_bytes + SPARE_FILE_BYTES,
        "readable": [str(path.resolve()) for path in readable],
        "writable": [str(path.resolve()) for path in writable],
    }
    return [sys.executable, "-I", "-S", str(locked_down.__file__), json.dumps(asked), "--", tool]
