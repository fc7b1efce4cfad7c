"""Imports and conversions as durable work: begun, shown while they run, ended. What they do stands in `image_import`
and `image_convert`.

The row of work says who may act (attempt, lease, deadline); the task says how far it is. Both are written in the same
transactions.
"""

import time
import uuid
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Fenced
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.units import MIB
from controlplane.work.long_work import LONG_QUEUE
from controlplane.work.models import Work, WorkState
from controlplane.work.work import NewWork, WorkLease, work_cancel, work_create, work_fence, work_finish, work_lock
from servers.conf import server_options
from servers.images.domain.images import OPEN_TASK_STATES, TRANSITIONS, ImageStatus, ImageTaskKind, ImageTaskState
from servers.images.domain.remote_sources import url_without_query
from servers.images.domain.work_kinds import IMAGE_CONVERT, IMAGE_IMPORT, IMAGE_WORK
from servers.images.services.image import image_owned
from servers.models import Image, ImageTask

REPORT_EVERY_S = 1.0
INSTALLATION = "installation"
TASK_WORK = {ImageTaskKind.IMPORT.value: IMAGE_IMPORT, ImageTaskKind.CONVERT.value: IMAGE_CONVERT}


def import_begin(image: Image, *, url: str, checksum: str, checksum_url: str, asked_by: str) -> ImageTask:
    """Write the task and its work. Raises Conflict where the image has open work. Call it in a transaction."""
    work_create(_new_work(IMAGE_IMPORT, image))
    task, _ = ImageTask.objects.update_or_create(
        image=image,
        defaults={
            "kind": ImageTaskKind.IMPORT.value,
            "state": ImageTaskState.PENDING.value,
            "source_url": url,
            "checksum": checksum,
            "checksum_url": checksum_url,
            "done_bytes": 0,
            "total_bytes": None,
            "reason": "",
            "asked_by": asked_by,
            "finished_at": None,
        },
    )
    return task


def conversion_begin(image: Image, *, upload_id: uuid.UUID, size_bytes: int) -> None:
    """The same for a conversion of the bytes of this upload; where they came from stays. Call it in a transaction."""
    new = _new_work(IMAGE_CONVERT, image)
    new.arguments.update(upload_id=str(upload_id), disk_format=image.disk_format)
    work_create(new)
    ImageTask.objects.update_or_create(
        image=image,
        defaults={
            "kind": ImageTaskKind.CONVERT.value,
            "state": ImageTaskState.PENDING.value,
            "done_bytes": 0,
            "total_bytes": size_bytes,
            "reason": "",
            "finished_at": None,
        },
    )


def _new_work(kind: str, image: Image) -> NewWork:
    group = str(image.project_id or INSTALLATION)
    return NewWork(LONG_QUEUE, kind, image.pk, server_options().image_import_deadline_s, {"group": group})


@audited("image.task_cancel", Image, by="image_id")
def image_task_cancel(*, caller: Caller | None, image_id: uuid.UUID) -> Image:
    """End the import or conversion; whoever runs it is fenced off. The image may get its bytes again.

    Raises NotFound, Forbidden; Conflict when there is none under way.
    """
    image = image_owned(caller=caller, image_id=image_id)
    who = caller.username if caller else INSTALLATION
    with transaction.atomic():
        work_lock(subject=image_id)
        if not work_cancel(subject=image_id, kinds=IMAGE_WORK):
            raise Conflict(
                _("No import and no conversion of image {image} is under way.", image=image.name), field="status"
            )
        task = ImageTask.objects.get(image=image_id)
        _ended(
            image_id,
            TASK_WORK[task.kind],
            ImageTaskState.FAILURE,
            _("Cancelled by {who}.", who=who),
            ImageStatus.QUEUED,
        )
    return Image.objects.get(pk=image_id)


def image_task_done(lease: WorkLease) -> None:
    """It succeeded: the image has what it should have. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease)
        _ended(lease.subject, lease.kind, ImageTaskState.SUCCESS, "", None)


def image_task_failed(lease: WorkLease, reason: str, *, is_refused: bool) -> None:
    """It failed for good. `is_refused`: because of the bytes, so the image is `killed`. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": reason})
        status = ImageStatus.KILLED if is_refused else ImageStatus.QUEUED
        _ended(lease.subject, lease.kind, ImageTaskState.FAILURE, reason, status)


def image_task_overdue(work: Work, reason: str) -> None:
    """Its work passed its deadline, or was cancelled by an operator."""
    _ended(work.subject, work.kind, ImageTaskState.FAILURE, f"{reason}.", ImageStatus.QUEUED)


def _ended(image_id: uuid.UUID, kind: str, state: ImageTaskState, reason: str, status: ImageStatus | None) -> None:
    """The task ends, its URL without what may be a secret; an image without bytes that count says why.

    Nothing changes where a conversion followed the import whose work ends: the task is the conversion's by then.
    """
    tasks = ImageTask.objects.filter(image=image_id)
    task = tasks.first()
    if task is None or TASK_WORK[task.kind] != kind:
        return
    tasks.update(
        state=state.value,
        reason=reason[:500],
        source_url=url_without_query(task.source_url),
        finished_at=Now(),
        updated_at=Now(),
    )
    if status is not None:
        before = {old for old, following in TRANSITIONS.items() if status in following} | {status}
        rows = Image.objects.filter(pk=image_id, status__in=[one.value for one in before])
        rows.update(status=status.value, size_bytes=0, status_reason=reason[:500], updated_at=Now())


@dataclass
class TaskProgress:
    """Shows how far a task is, about once a second, and keeps its lease. Raises Fenced when that is over."""

    lease: WorkLease
    word: str
    _next_at_s: float = field(default=0.0)

    def reached(self, done_bytes: int, total_bytes: int | None) -> None:
        """So many bytes of so many are done."""
        if time.monotonic() < self._next_at_s:
            return
        self._next_at_s = time.monotonic() + REPORT_EVERY_S
        total = f" of {total_bytes // MIB}" if total_bytes else ""
        with transaction.atomic():
            work_fence(lease=self.lease, step=f"{self.word} {done_bytes // MIB}{total} MiB")
            rows = ImageTask.objects.filter(image=self.lease.subject, state__in=[one.value for one in OPEN_TASK_STATES])
            if not rows.update(
                state=ImageTaskState.PROCESSING.value,
                done_bytes=done_bytes,
                total_bytes=total_bytes,
                reason="",
                updated_at=Now(),
            ):
                raise Fenced(_("the task of the image is over"))

    def waits(self, seconds: float, reason: str) -> None:
        """It goes on after these seconds; the reason is shown meanwhile."""
        ImageTask.objects.filter(image=self.lease.subject).update(reason=reason[:500], updated_at=Now())
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            work_fence(lease=self.lease)
            time.sleep(min(left, 2 * REPORT_EVERY_S))
        work_fence(lease=self.lease)
