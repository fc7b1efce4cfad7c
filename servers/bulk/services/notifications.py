"""Tells that a bulk job has ended, in the transaction in which it does."""

import uuid
from collections.abc import Sequence

from django.utils import timezone

from controlplane.notifications.models import Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event, publisher
from servers.bulk.selectors import BulkProgress, bulk_progress
from servers.models import BulkJob

END, ERROR = "bulk_job.end", "bulk_job.error"


def emit_bulk_job_ends(job_ids: Sequence[uuid.UUID]) -> None:
    """Write `bulk_job.end` of each of these, `bulk_job.error` where items failed. Free where nobody wants it."""
    if not job_ids or not events_wanted((END, ERROR)):
        return
    progress = bulk_progress(job_ids)
    events = [_event(job, progress[job.pk]) for job in BulkJob.objects.filter(pk__in=job_ids).order_by("created_at")]
    wanted = events_wanted({one.event_type for one in events})
    events_write([one for one in events if one.event_type in wanted])


def _event(job: BulkJob, progress: BulkProgress) -> Event:
    failed = progress.failed > 0
    return Event(
        event_type=ERROR if failed else END,
        publisher_id=publisher("nova-conductor"),
        payload=_payload(job, progress),
        happened_at=timezone.now(),
        priority=Priority.ERROR if failed else Priority.INFO,
        project_id=job.project_id,
        request_id=job.request_id,
    )


def _payload(job: BulkJob, progress: BulkProgress) -> dict[str, object]:
    """BulkJobPayload 1.0, which Nova has not."""
    return {
        "nova_object.name": "BulkJobPayload",
        "nova_object.namespace": "kilonova",
        "nova_object.version": "1.0",
        "nova_object.data": {
            "uuid": str(job.pk),
            "kind": job.kind,
            "action": job.action,
            "state": progress.state,
            "items": job.item_count,
            "done": progress.done,
            "failed": progress.failed,
            "cancelled": progress.cancelled,
            "user_id": str(job.user_id),
            "user_name": job.user_name,
            "project_id": str(job.project_id),
            "created_at": job.created_at.isoformat(),
        },
    }
