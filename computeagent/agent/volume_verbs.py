"""What is done to a volume, by the kind of work: each is one verb of its pool, done again as often as it is cut off."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress

from computeagent.agent.context import AgentContext
from computeagent.agent.giving_way import GivingWay
from computeagent.agent.guest_volumes import extend_of_guest, has_volume, snapshot_of_guest
from computeagent.agent.held_leases import HeldVolume
from computeagent.agent.volume_backups import backup_restore, backup_send
from computeagent.agent.volume_image import volume_image
from computeagent.agent.volume_retype import volume_retype
from computeagent.agent.volume_upload import volume_upload
from computeagent.agent.volumes import backend_errors
from computeagent.protocol.volumes import VolumeFacts, VolumeSourceKind, VolumeWorkKind
from computeagent.volumes.base import VolumeBackend, VolumeProgress
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.kill_points import reach
from controlplane.kernel.units import GIB

REPORT_EVERY_S = 5.0


class WorkProgress:
    """Tells now and then how far it is, and ends the copying of work whose lease is over, or whose guest is wanted."""

    def __init__(self, context: AgentContext, held: HeldVolume) -> None:
        self._context = context
        self._held = held
        self._reported_at = context.clock()
        self._giving_way = GivingWay(context, held)

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """Raises Fenced, GuestWanted."""
        self._held.check()
        self._giving_way.look()
        self._held.moved()
        now = self._context.clock()
        if now - self._reported_at >= REPORT_EVERY_S:
            self._reported_at = now
            with suppress(Unavailable):  # it goes on for as long as its lease may last
                self._context.conductor.volume_progress(
                    lease=self._held.lease, done_bytes=done_bytes, total_bytes=total_bytes
                )


VolumeVerb = Callable[[AgentContext, HeldVolume, VolumeBackend, VolumeProgress], VolumeFacts]


def volume_do(context: AgentContext, held: HeldVolume) -> VolumeFacts:
    """Do what the order says. Raises DriverError, Fenced, GuestWanted, Unavailable."""
    volume = held.order.volume
    backend = context.volumes.backend(volume.pool)
    # A snapshot does not change: a guest gets or loses its volume while one of its snapshots is sent.
    turn = nullcontext() if held.order.kind in BESIDE else context.volumes.turn(volume.id)
    with turn, backend_errors():
        reach(f"computeagent.volumes.{held.order.kind}:before")
        held.check()
        facts = VERBS[held.order.kind](context, held, backend, WorkProgress(context, held))
        reach(f"computeagent.volumes.{held.order.kind}:after")
        return facts


def _create(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    order = held.order
    with volume_image(context, held, order.source) as image_file:
        facts = backend.create(
            order.volume, order.source, image_file=image_file, key_of=context.volumes.key_of, progress=progress
        )
    if order.source.kind is VolumeSourceKind.BACKUP:
        backup_restore(context, held, backend, progress)
    return facts


def _delete(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    backend.delete(held.order.volume)
    return VolumeFacts()


def _extend(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    guest, volume = held.order.guest, held.order.volume
    if guest is not None and has_volume(context, guest, volume):
        return extend_of_guest(context, guest, volume)
    return backend.extend(volume)


def _revert(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    return backend.revert(held.order.volume, held.order.snapshot_id, progress)


def _snapshot_create(
    context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    guest, volume, snapshot_id = held.order.guest, held.order.volume, held.order.snapshot_id
    if guest is not None and has_volume(context, guest, volume):
        return snapshot_of_guest(context, guest, held.order, backend=backend, progress=progress)
    return backend.snapshot_create(volume, snapshot_id, progress)


def _snapshot_delete(
    context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    backend.snapshot_delete(held.order.volume, held.order.snapshot_id)
    return VolumeFacts()


def _restore(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    backup_restore(context, held, backend, progress)
    return VolumeFacts()


def _leave(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    """The order names the volume in the pool that it left."""
    backend.delete(held.order.volume)
    return VolumeFacts()


def _limit(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> VolumeFacts:
    """Also how large it is, where another guest's hypervisor made it grow. A guest that is off, or on another host by
    now, has both by its definition.
    """
    guest, volume = held.order.guest, held.order.volume
    if guest is not None and has_volume(context, guest, volume):
        context.driver.resize_volume(guest, volume.id, volume.size_gib * GIB)
        context.driver.limit_volume(guest, volume.id)
    return VolumeFacts()


VERBS: Mapping[VolumeWorkKind, VolumeVerb] = {
    VolumeWorkKind.VOLUME_CREATE: _create,
    VolumeWorkKind.VOLUME_DELETE: _delete,
    VolumeWorkKind.VOLUME_EXTEND: _extend,
    VolumeWorkKind.VOLUME_REVERT: _revert,
    VolumeWorkKind.VOLUME_SNAPSHOT_CREATE: _snapshot_create,
    VolumeWorkKind.VOLUME_SNAPSHOT_DELETE: _snapshot_delete,
    VolumeWorkKind.VOLUME_BACKUP_CREATE: backup_send,
    VolumeWorkKind.VOLUME_RESTORE: _restore,
    VolumeWorkKind.VOLUME_UPLOAD: volume_upload,
    VolumeWorkKind.VOLUME_RETYPE: volume_retype,
    VolumeWorkKind.VOLUME_LEAVE: _leave,
    VolumeWorkKind.VOLUME_LIMIT: _limit,
}
BESIDE = frozenset({VolumeWorkKind.VOLUME_BACKUP_CREATE})
"""Done beside whatever else is done to the volume."""
