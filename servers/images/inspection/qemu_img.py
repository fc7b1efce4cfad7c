"""qemu-img's own view of an image, and its conversions, in a process that is locked down (see `locked_down`).

The format is always given and never guessed, and the bytes have been inspected before qemu-img opens them.
"""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from controlplane.kernel import locked_down
from controlplane.kernel.errors import Invalid, TooLarge, Unavailable
from controlplane.kernel.texts import phrase as _
from servers.images.domain.images import DiskFormat

log = logging.getLogger(__name__)
LOCKED_DOWN = Path(locked_down.__file__)
# The limits that Nova, Cinder and Glance give to `qemu-img info`: 1 GiB, 30 s of CPU. What it writes are answers.
INFO_LIMITS = {"memory_bytes": 2**30, "cpu_s": 30, "file_bytes": 2**20}
INFO_TIMEOUT_S = 60.0
CONVERT_MEMORY_BYTES = 2 * 2**30
TICK_S = 0.5
TAIL_BYTES = 200
QEMU_NAMES = {DiskFormat.VHD.value: "vpc"}
_PERCENT = re.compile(rb"\((\d+(?:\.\d+)?)/100%\)")


def is_qemu_img_there() -> bool:
    """Whether images can be looked into by it, and converted."""
    return shutil.which("qemu-img") is not None


def disk_size_seen(path: Path, disk_format: str) -> int:
    """The size in bytes of the disk in this file, as qemu-img reads it.

    Raises Invalid for an image that it cannot read or that needs another file; Unavailable where it cannot be run.
    """
    command = _locked_down(INFO_LIMITS, readable=[path], writable=[])
    command += ["info", "--output=json", "-f", _qemu_name(disk_format), str(path.resolve())]
    try:
        done = subprocess.run(command, capture_output=True, timeout=INFO_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise Invalid(_("The image cannot be read in reasonable time."), field="file") from error
    if done.returncode != 0:
        log.warning("qemu-img does not read %s: %s", path, done.stderr.decode(errors="replace").strip()[:500])
        raise Invalid(_("The file cannot be read as {disk_format}.", disk_format=disk_format), field="file")
    return _size_of(json.loads(done.stdout))


def qcow2_whole_check(path: Path) -> None:
    """Raises Invalid for a qcow2 of which parts are missing, such as one that was cut off: its header has no length.

    One that is too large to be looked through in time is taken as it is. Unavailable where qemu-img cannot be run.
    """
    command = _locked_down(INFO_LIMITS, readable=[path], writable=[])
    command += ["check", "--output=json", "-f", DiskFormat.QCOW2.value, str(path.resolve())]
    try:
        # What it says of each single cluster may be longer than the image.
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=INFO_TIMEOUT_S, check=False
        )
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        log.warning("qemu-img does not get through %s: whether it is whole is not known", path)
        return
    if broken := found.get("corruptions"):
        raise damaged(broken)


def damaged(broken: int) -> Invalid:
    """What is said of a qcow2 of which so many clusters cannot be read."""
    return Invalid(
        _(
            "The image is damaged: {broken} of its clusters are not in the file or contradict each other. Was it "
            "cut off?",
            broken=broken,
        ),
        field="file",
    )


def _size_of(info: Mapping[str, Any]) -> int:
    """The second look, with QEMU's own eyes, at what the inspection has refused already."""
    data = (info.get("format-specific") or {}).get("data") or {}
    if info.get("backing-filename") or info.get("full-backing-filename"):
        raise Invalid(_("The image names a backing file; only images that stand alone are taken."), field="file")
    if data.get("data-file"):
        raise Invalid(_("The image keeps its data in another file."), field="file")
    if info.get("encrypted"):
        raise Invalid(_("The image is encrypted."), field="file")
    if info.get("dirty-flag") or data.get("corrupt"):
        raise Invalid(_("The image is marked as corrupt."), field="file")
    size = info.get("virtual-size")
    if not isinstance(size, int) or size <= 0:
        raise Invalid(_("The image holds no disk."), field="file")
    return size


def to_qcow2(
    source: Path,
    source_format: str,
    target: Path,
    *,
    max_bytes: int,
    deadline_s: float,
    progress: Callable[[float], object],
) -> None:
    """Write the image `source` to `target`, which becomes a qcow2 file of at most `max_bytes`.

    `progress` gets the part that is done, from 0 to 1, about twice a second; what it raises ends the conversion.
    Raises Invalid, TooLarge; Unavailable where qemu-img cannot be run. What was written of `target` stays.
    """
    limits = {"memory_bytes": CONVERT_MEMORY_BYTES, "cpu_s": int(deadline_s), "file_bytes": max_bytes}
    target.touch(mode=0o600)  # the locked-down process may write this file, and make no other
    command = _locked_down(limits, readable=[source], writable=[target])
    command += ["convert", "-p", "-f", _qemu_name(source_format), "-O", "qcow2"]
    command += [str(source.resolve()), str(target.resolve())]
    until = time.monotonic() + deadline_s
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        process = subprocess.Popen(command, stdout=said, stderr=complained)
        try:
            while process.poll() is None:
                progress(_done_part(said))
                if time.monotonic() > until:
                    raise Invalid(
                        _("The image could not be converted within {deadline_s:g} s.", deadline_s=deadline_s),
                        field="file",
                    )
                time.sleep(TICK_S)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if process.returncode == 0:
            return
        complained.seek(0)
        words = complained.read(2000).decode(errors="replace").strip()
    if target.stat().st_size >= max_bytes or "File too large" in words:
        raise TooLarge(
            _("Converted to qcow2 the image has more than {max_bytes} bytes.", max_bytes=max_bytes),
            field="file",
            limit=max_bytes,
        )
    log.warning("qemu-img does not convert %s: %s", source, words[:500])
    if "No space left" in words:
        raise Unavailable(_("There is no room to convert the image now."))
    raise Invalid(_("The file cannot be converted from {source_format}.", source_format=source_format), field="file")


def _done_part(said: IO[bytes]) -> float:
    end = os.fstat(said.fileno()).st_size
    found = _PERCENT.findall(os.pread(said.fileno(), TAIL_BYTES, max(0, end - TAIL_BYTES)))
    return float(found[-1]) / 100.0 if found else 0.0


def _qemu_name(disk_format: str) -> str:
    return QEMU_NAMES.get(disk_format, disk_format)


def _locked_down(limits: Mapping[str, int], *, readable: list[Path], writable: list[Path]) -> list[str]:
    tool = shutil.which("qemu-img")
    if tool is None:
        raise Unavailable(_("qemu-img is not installed where images are looked into: install qemu-utils there."))
    asked = {
        **limits,
        "readable": [str(path.resolve()) for path in readable],
        "writable": [str(path.resolve()) for path in writable],
    }
    return [sys.executable, "-I", "-S", str(LOCKED_DOWN), json.dumps(asked), "--", tool]
