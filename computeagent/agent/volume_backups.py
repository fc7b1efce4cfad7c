"""Backups of volumes: a snapshot is read and sent as a stream, and streams are written into a volume.

A snapshot does not change, so its stream is the same each time that it is made: it is read once to know its checksum,
as a file is, and once to be sent. Cut off, it goes on where the store has it, by this host or by another one.
"""

from collections.abc import Callable, Collection, Iterator

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import ImageRefused
from computeagent.agent.held_leases import HeldVolume
from computeagent.agent.image_upload import file_facts, image_send
from computeagent.drivers.base import DriverError
from computeagent.protocol.volume_work import BackupBytes
from computeagent.protocol.volumes import VolumeFacts
from computeagent.volumes.backup_changes import Range, parts_within, ranges_changed
from computeagent.volumes.backup_stream import Parts, StreamFile, backup_parts, backup_stream
from computeagent.volumes.base import VolumeBackend, VolumeProgress
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.kernel.kill_points import reach

GIB = 2**30
TRIES = 5


def backup_send(
    context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    """Have the snapshot of the order in the store. Raises DriverError, VolumeBackendError, Fenced, Unavailable."""
    order = held.order
    changed = _changed(context, held, backend, progress) if order.backups else None

    def stream() -> Iterator[bytes]:
        if changed is not None:
            return backup_stream(parts_within(_snapshot(held, backend), changed))
        since = order.since_snapshot_id
        return backup_stream(backend.read(order.volume, order.snapshot_id, since_snapshot_id=since))

    file = StreamFile(stream)
    facts = file_facts(file, order.volume.size_gib * GIB, progress)
    reach("computeagent.volumes.backup:read")
    try:
        image_send(context, held, file, facts, progress)
    except ImageRefused as error:
        raise DriverError(error.message, failure_class=error.failure_class) from error
    return VolumeFacts(size_bytes=facts.size_bytes)


def _changed(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> list[Range]:
    """Where the snapshot of the order differs from its backups, of which the last one's snapshot is gone."""
    counted = _counter(held.order.backups, progress)
    backups = [backup_parts(counted(_chunks(context, held, backup))) for backup in held.order.backups]
    found = ranges_changed(_snapshot(held, backend), backups)
    reach("computeagent.volumes.backup:compared")
    return found


def _snapshot(held: HeldVolume, backend: VolumeBackend) -> Parts:
    return backend.read(held.order.volume, held.order.snapshot_id)


def backup_restore(context: AgentContext, held: HeldVolume, backend: VolumeBackend, progress: VolumeProgress) -> None:
    """Have in the volume of the order what its backups have, and nothing else.

    Raises DriverError, VolumeBackendError, Fenced, Unavailable.
    """
    if not held.order.backups:
        raise DriverError("the control plane named no backup to restore from")
    counted = _counter(held.order.backups, progress)
    for place, backup in enumerate(held.order.backups):
        chunks = counted(_chunks(context, held, backup))
        backend.write(held.order.volume, backup_parts(chunks), is_over_nothing=not place)
        reach("computeagent.volumes.backup:written")


def _counter(
    backups: Collection[BackupBytes], progress: VolumeProgress
) -> Callable[[Iterator[bytes]], Iterator[bytes]]:
    """Lets the bytes of these backups through, in whatever order, and says how many have come of all."""
    done, total = 0, sum(backup.size_bytes for backup in backups)

    def counted(chunks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal done
        for chunk in chunks:
            done += len(chunk)
            progress(done, total)
            yield chunk

    return counted


def _chunks(context: AgentContext, held: HeldVolume, backup: BackupBytes) -> Iterator[bytes]:
    """The bytes of the backup. When the control plane goes away meanwhile, it goes on where it was."""
    offset = asked_from = 0

    def ask() -> Iterator[bytes]:
        held.check()
        return context.conductor.image_chunks(lease=held.lease, offset=offset, image_id=backup.id)

    while True:
        try:
            for chunk in context.retry.call(ask, tries=TRIES):
                held.check()
                offset += len(chunk)
                yield chunk
        except Unavailable:
            if offset == asked_from:
                raise  # the work is left for later, and not failed
            asked_from = offset
        except NotFound as error:
            raise DriverError(f"backup {backup.id} is not there: {error.message}") from error
        else:
            return
