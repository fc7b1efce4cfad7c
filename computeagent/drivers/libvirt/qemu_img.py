"""qemu-img, and what may be believed of an image that a user uploaded.

An image is hostile input: a qcow2 can name any file of the host as its backing or data file, and can hold tables
that make its reader eat memory. So its format is always passed explicitly and never guessed, its bytes are inspected
before any tool opens it, and qemu-img runs with limits of memory and time, or not at all.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from computeagent.drivers.base import CopyProgress, DriverError
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.disk_images import disk_image_size
from controlplane.kernel.errors import Invalid

DISK_FORMATS = ("qcow2", "raw")
TIMEOUT_S = 120.0
COPY_POLL_S = 0.5
# The limits that Nova and Cinder give to `qemu-img info` (oslo.concurrency's prlimit): 1 GiB, 30 s of CPU.
MEMORY_LIMIT_BYTES = 2**30
CPU_LIMIT_S = 30


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of an accepted image."""

    disk_format: str
    virtual_size_bytes: int


def image_inspect(path: Path, disk_format: str) -> ImageFacts:
    """Accept the image at `path` as `disk_format`. Raises DriverError (USER) that says why it cannot be used."""
    if disk_format not in DISK_FORMATS:
        raise _unusable(f"disk format {disk_format[:40]!r} is not supported here; use qcow2 or raw")
    try:
        with path.open("rb") as file:
            size_bytes = disk_image_size(file, declared=disk_format, file_bytes=path.stat().st_size)
    except Invalid as error:
        raise _unusable(error.message) from error
    return ImageFacts("raw", size_bytes) if disk_format == "raw" else _facts(_info(path))


def overlay_create(path: Path, base: Path, base_format: str, *, size_gib: int) -> None:
    """A qcow2 at `path` that holds what differs from `base`; `size_gib` 0 keeps the base's own size."""
    command = ["create", "-q", "-f", "qcow2", "-F", base_format, "-b", str(base), str(path)]
    if size_gib:
        command.append(f"{size_gib}G")
    _run(command, is_about_image=False)


def disk_copy(source: Path, target: Path, progress: CopyProgress) -> None:
    """A qcow2 at `target` that stands alone, of the qcow2 `source` of a guest that is off, with what is below it.

    It takes as long as it takes; what `progress` raises ends it, with nothing left. Raises DriverError.
    """
    tool, prlimit = _tools()
    arguments = ["convert", "-f", "qcow2", "-O", "qcow2", str(source), str(target)]
    command = [prlimit, f"--as={MEMORY_LIMIT_BYTES}", "--", tool, *arguments]
    total = _used_bytes(source) + sum(_used_bytes(path) for path in _below(source))
    target.unlink(missing_ok=True)
    progress(0, total)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, umask=0o077)
    try:
        while True:
            try:
                _, said = process.communicate(timeout=COPY_POLL_S)
                break
            except subprocess.TimeoutExpired:
                done = _used_bytes(target)
                progress(done, max(done, total))
    except BaseException:
        process.kill()
        process.communicate()
        target.unlink(missing_ok=True)
        raise
    if process.returncode:
        target.unlink(missing_ok=True)
        raise DriverError(f"qemu-img convert: {said.decode(errors='replace').strip() or process.returncode}")


def _below(overlay: Path) -> list[Path]:
    """What the overlay of a guest of ours lies on."""
    output = _run(["info", "-U", "--output=json", "-f", "qcow2", str(overlay)], is_about_image=False)
    base = json.loads(output).get("full-backing-filename")
    return [Path(base)] if isinstance(base, str) else []


def _used_bytes(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _info(path: Path) -> dict[str, object]:
    output = _run(["info", "--output=json", "-f", "qcow2", str(path)], is_about_image=True)
    document = json.loads(output)
    if not isinstance(document, dict):
        raise _unusable("qemu-img gave no facts of the image")
    return document


def _facts(info: dict[str, object]) -> ImageFacts:
    """The second look, with qemu's own eyes, at what the inspection has refused already."""
    if info.get("backing-filename") or info.get("full-backing-filename"):
        raise _unusable("the image has a backing file, which is not allowed in an uploaded image")
    specific = info.get("format-specific")
    data = specific.get("data") if isinstance(specific, dict) else None
    if isinstance(data, dict) and data.get("data-file"):
        raise _unusable("the image keeps its data in another file, which is not allowed in an uploaded image")
    if info.get("encrypted"):
        raise _unusable("the image is encrypted")
    size = info.get("virtual-size")
    if not isinstance(size, int):
        raise _unusable("qemu-img did not say how large the image is")
    return ImageFacts("qcow2", size)


def _run(arguments: list[str], *, is_about_image: bool) -> bytes:
    """Run qemu-img under limits; what it makes is for its owner only. A failure is the image's fault or the host's."""
    tool, prlimit = _tools()
    command = [prlimit, f"--as={MEMORY_LIMIT_BYTES}", f"--cpu={CPU_LIMIT_S}", "--", tool, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, umask=0o077)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise DriverError(f"qemu-img {arguments[0]}: {error}") from error
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
    if is_about_image:
        # What is the user's fault is told to the user, and qemu-img's own words name paths of this host.
        raise _unusable("the image cannot be read") from DriverError(f"qemu-img {arguments[0]}: {said}")
    raise DriverError(f"qemu-img {arguments[0]}: {said}")


def _tools() -> tuple[str, str]:
    tool, prlimit = shutil.which("qemu-img"), shutil.which("prlimit")
    if tool is None:
        raise DriverError("qemu-img is not installed: install qemu-utils")
    if prlimit is None:
        raise DriverError("prlimit is not installed, and images are not read without limits: install util-linux")
    return tool, prlimit


def _unusable(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
