"""A volume that nobody has is copied into another pool: bytes as they stand, LUKS with its header.

The copy has the volume's own id, and counts when the control plane says so. Cut off anywhere it is made again from the
beginning, over what is there of it.
"""

from collections.abc import Iterator
from pathlib import Path

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldVolume
from computeagent.drivers.base import DriverError
from computeagent.protocol.volumes import VolumeFacts, VolumeSource, VolumeSourceKind
from computeagent.volumes.base import VolumeBackend, VolumeProgress
from controlplane.kernel.kill_points import reach
from controlplane.kernel.units import GIB

UNWRITTEN = VolumeSource(VolumeSourceKind.BACKUP)
"""A volume of nothing, whose bytes are written from its first one on."""


def volume_retype(
    context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    """Have the same bytes in the order's target. Raises DriverError, VolumeBackendError, Fenced."""
    volume, target = held.order.volume, held.order.target
    if target is None:
        raise DriverError("the control plane named no pool to copy the volume into")
    to = context.volumes.backend(target.pool)

    def made() -> VolumeFacts:
        return to.create(target, UNWRITTEN, image_file=_no_image, key_of=context.volumes.key_of, progress=_unsaid)

    made()
    to.write(target, progressing(backend.read(volume, ""), volume.size_gib * GIB, progress), is_over_nothing=True)
    reach("computeagent.volumes.retype:written")
    return made()


def progressing(
    parts: Iterator[tuple[int, bytes]], total_bytes: int, progress: VolumeProgress
) -> Iterator[tuple[int, bytes]]:
    """The same parts; how far they are is told on the way. Raises Fenced."""
    progress(0, total_bytes)
    for offset, part in parts:
        progress(min(offset, total_bytes), total_bytes)
        yield offset, part


def _no_image() -> Path:
    raise DriverError("no image belongs to a volume that is moved")


def _unsaid(_done_bytes: int, _total_bytes: int) -> None:
    """What is empty is made at once."""
