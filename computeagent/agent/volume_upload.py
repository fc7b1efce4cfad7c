"""A volume that nobody has becomes an image: its bytes are packed as qcow2 in a file of this host and sent in pieces.

The files have the volume's name, so a second attempt removes what a first one left, and the start of an agent all.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import ImageRefused
from computeagent.agent.held_leases import HeldVolume
from computeagent.agent.image_upload import file_facts, image_send
from computeagent.agent.volume_retype import progressing
from computeagent.drivers.base import DriverError
from computeagent.protocol.volumes import VolumeFacts
from computeagent.volumes import qemu_img
from computeagent.volumes.base import VolumeBackend, VolumeBackendError, VolumeProgress
from controlplane.kernel.kill_points import reach
from controlplane.kernel.units import GIB

DIRECTORY = "volume-uploads"
RESERVE = 50
"""A fiftieth of the file system stays free, as in pools."""
CHECK_BYTES = 64 * 2**20


def volume_upload(
    context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    """Have the volume of the order as an image in the store. Raises DriverError, VolumeBackendError, Fenced,
    Unavailable.
    """
    volume = held.order.volume
    with _files(context.state_dir / DIRECTORY, volume.id) as (raw, packed):
        size = volume.size_gib * GIB
        _unpack(progressing(backend.read(volume, ""), size, progress), raw, size)
        reach("computeagent.volumes.upload:read")
        qemu_img.run(
            ["convert", "-q", "-O", "qcow2", qemu_img.flat_image(raw, "raw"), str(packed)],
            readable=[raw],
            writable=[packed],
            max_file_bytes=size + size // RESERVE,
            poll=lambda: _room_poll(packed, size, progress),
        )
        raw.unlink()
        with packed.open("rb") as file:
            facts = file_facts(file, packed.stat().st_size, progress)
            reach("computeagent.volumes.upload:packed")
            try:
                image_send(context, held, file, facts, progress)
            except ImageRefused as error:
                raise DriverError(error.message, failure_class=error.failure_class) from error
    return VolumeFacts(size_bytes=facts.size_bytes)


def uploads_clean(state_dir: Path) -> None:
    """What an agent that was killed left. Nothing is uploaded yet."""
    shutil.rmtree(state_dir / DIRECTORY, ignore_errors=True)


def _unpack(parts: Iterator[tuple[int, bytes]], raw: Path, size: int) -> None:
    """The parts in a file with holes. Raises VolumeBackendError, OSError."""
    checked = 0
    with raw.open("xb") as file:
        for offset, part in parts:
            if (checked := checked + len(part)) > CHECK_BYTES:
                checked = 0
                _room_require(raw.parent)
            os.pwrite(file.fileno(), part, offset)
        file.truncate(size)


def _room_poll(packed: Path, size: int, progress: VolumeProgress) -> None:
    _room_require(packed.parent)
    progress(min(packed.stat().st_blocks * 512, size), size)


def _room_require(directory: Path) -> None:
    usage = shutil.disk_usage(directory)
    if usage.free < usage.total // RESERVE:
        free_mib = usage.free // 2**20
        raise VolumeBackendError(f"{directory} has {free_mib} MiB free, too little to pack the volume as an image")


@contextmanager
def _files(directory: Path, volume_id: str) -> Iterator[tuple[Path, Path]]:
    """Two names at which nothing is, before and after."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    raw, packed = directory / f"{volume_id}.raw", directory / f"{volume_id}.qcow2"
    for path in (raw, packed):
        path.unlink(missing_ok=True)
    try:
        yield raw, packed
    finally:
        for path in (raw, packed):
            path.unlink(missing_ok=True)
