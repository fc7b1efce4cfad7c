"""How work on volumes ends: for each kind, what becomes of its subject, in the transaction that ends the work."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from django.db import transaction

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import VolumeFacts, VolumeWorkKind
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work, WorkState
from controlplane.work.work import WorkLease, work_finish
from servers.volumes.services.backup_ends import (
    backup_create_done,
    backup_create_failed,
    volume_restore_done,
    volume_restore_failed,
)
from servers.volumes.services.limits import limit_done, limit_failed
from servers.volumes.services.retype import (
    volume_leave_done,
    volume_leave_failed,
    volume_retype_done,
    volume_retype_failed,
)
from servers.volumes.services.uploads import volume_upload_done, volume_upload_failed
from servers.volumes.services.volume_ends import (
    snapshot_create_done,
    snapshot_create_failed,
    snapshot_delete_done,
    snapshot_delete_failed,
    volume_create_done,
    volume_create_failed,
    volume_delete_done,
    volume_delete_failed,
    volume_extend_done,
    volume_extend_failed,
    volume_revert_done,
    volume_revert_failed,
)

_K = VolumeWorkKind
UNTOLD = _("The storage could not do it. An administrator sees why.")


class Done(Protocol):
    """The host did it. Called again for a subject that is there no more, or moved on, it changes nothing."""

    def __call__(self, *, subject: uuid.UUID, facts: VolumeFacts) -> None:
        """`subject`: the volume, snapshot or backup."""


class Failed(Protocol):
    """It was not done. `message` is for the owner, and names no host."""

    def __call__(self, *, subject: uuid.UUID, message: str) -> None:
        """As `Done`."""


@dataclass(frozen=True, slots=True)
class WorkEnd:
    """Both ends of one kind of work."""

    done: Done
    failed: Failed


WORK_ENDS: Mapping[VolumeWorkKind, WorkEnd] = {
    _K.VOLUME_CREATE: WorkEnd(volume_create_done, volume_create_failed),
    _K.VOLUME_DELETE: WorkEnd(volume_delete_done, volume_delete_failed),
    _K.VOLUME_EXTEND: WorkEnd(volume_extend_done, volume_extend_failed),
    _K.VOLUME_REVERT: WorkEnd(volume_revert_done, volume_revert_failed),
    _K.VOLUME_SNAPSHOT_CREATE: WorkEnd(snapshot_create_done, snapshot_create_failed),
    _K.VOLUME_SNAPSHOT_DELETE: WorkEnd(snapshot_delete_done, snapshot_delete_failed),
    _K.VOLUME_BACKUP_CREATE: WorkEnd(backup_create_done, backup_create_failed),
    _K.VOLUME_RESTORE: WorkEnd(volume_restore_done, volume_restore_failed),
    _K.VOLUME_UPLOAD: WorkEnd(volume_upload_done, volume_upload_failed),
    _K.VOLUME_RETYPE: WorkEnd(volume_retype_done, volume_retype_failed),
    _K.VOLUME_LEAVE: WorkEnd(volume_leave_done, volume_leave_failed),
    _K.VOLUME_LIMIT: WorkEnd(limit_done, limit_failed),
}
"""A kind that is not here is never begun."""


def volume_work_done(*, lease: WorkLease, facts: VolumeFacts) -> None:
    """The host did it. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease)
        WORK_ENDS[VolumeWorkKind(lease.kind)].done(subject=lease.subject, facts=facts)


def volume_work_failed(*, lease: WorkLease, message: str, failure_class: FailureClass) -> None:
    """The host could not do it. For class USER, the owner is told why; operators see it always. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": message[:2000]})
        said = message if failure_class is FailureClass.USER else UNTOLD
        WORK_ENDS[VolumeWorkKind(lease.kind)].failed(subject=lease.subject, message=said)


def volume_work_overdue(work: Work, reason: str) -> None:
    """Nobody will do it any more, in the transaction that fails the work."""
    last = str(work.outcome.get("error", ""))
    waited = " The host that has to do it was down." if last.startswith("It waits:") else ""
    message = f"The storage did not do it: {reason}.{waited}"
    WORK_ENDS[VolumeWorkKind(work.kind)].failed(subject=work.subject, message=message)
