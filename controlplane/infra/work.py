"""Work rows: create, take, renew, finish. Every write of an attempt is fenced by its number and its lease."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.infra.doorbells import doorbells_ring
from controlplane.infra.models import Work, WorkState
from controlplane.infra.models.work import OPEN_STATES
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict, Fenced

CONDUCTOR_QUEUE = "conductor"


def compute_queue(host: str) -> str:
    """The queue that the agent of `host` serves."""
    return f"compute.{host}"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act on a piece of work; `attempt` is the fencing token."""

    work_id: uuid.UUID
    attempt: int


@dataclass(frozen=True, slots=True)
class NewWork:
    """Work to be written: what (`kind`), to whom (`subject`), by whom (`queue`), until when (`deadline_s` from now)."""

    queue: str
    kind: str
    subject: uuid.UUID
    deadline_s: float
    arguments: dict[str, Any] = field(default_factory=dict)
    max_attempts: int = 5


def work_create(new: NewWork) -> Work:
    """Write the row and ring its doorbell. Call inside the transaction of the state change that calls for it.

    Raises Conflict when the same kind of work is open for the subject.
    """
    return works_create([new])[0]


def works_create(news: Sequence[NewWork]) -> list[Work]:
    """Write many rows and ring for each, in a constant number of statements per queue. Raises Conflict."""
    request_id = current_request_id()
    rows = [
        Work(
            queue=new.queue,
            kind=new.kind,
            subject=new.subject,
            deadline_at=now_plus(new.deadline_s),
            rung_at=Now(),
            arguments=new.arguments,
            max_attempts=new.max_attempts,
            request_id=request_id,
        )
        for new in news
    ]
    try:
        with transaction.atomic():
            Work.objects.bulk_create(rows)
    except IntegrityError as error:
        raise Conflict("The same work is already under way.") from error
    doorbells_ring((row.queue, row.kind, str(row.pk)) for row in rows)
    return rows


def work_take(*, work_id: uuid.UUID | str, owner: str, queue: str = "") -> tuple[Work, Lease] | None:
    """Take what waits or whose lease ran out. None when somebody else has it, it ended, or it is out of attempts."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = Work.objects.filter(free, pk=work_id, deadline_at__gt=Now(), attempt__lt=F("max_attempts"))
    if queue:
        rows = rows.filter(queue=queue)
    before = rows.first()
    if before is None:
        return None
    # The attempt read is in the WHERE: of two takers one wins, and the winner knows its own number.
    won = rows.filter(attempt=before.attempt).update(
        state=WorkState.RUNNING,
        attempt=before.attempt + 1,
        lease_owner=owner,
        lease_until=now_plus(settings.KILONOVA["LEASE_S"]),
        started_at=before.started_at or Now(),
    )
    if not won:
        return None
    before.refresh_from_db()
    return before, Lease(before.pk, before.attempt)


def work_fence(*, lease: Lease, step: str | None = None) -> None:
    """First statement of each transaction of an attempt: proves and prolongs the lease. Raises Fenced.

    On PostgreSQL it also locks the row until the transaction ends, so no other attempt begins meanwhile.
    """
    changes: dict[str, Any] = {"lease_until": now_plus(settings.KILONOVA["LEASE_S"]), "updated_at": Now()}
    if step is not None:
        changes["step"] = step
    if not _mine(lease).update(**changes):
        raise Fenced(f"attempt {lease.attempt} of work {lease.work_id} is no longer the owner")


def work_finish(*, lease: Lease, state: WorkState = WorkState.DONE, outcome: dict[str, Any] | None = None) -> None:
    """End the work, in the transaction that writes its effect. Raises Fenced."""
    changed = _mine(lease).update(
        state=state,
        outcome=outcome or {},
        finished_at=Now(),
        lease_until=None,
        lease_owner="",
        updated_at=Now(),
    )
    if not changed:
        raise Fenced(f"attempt {lease.attempt} of work {lease.work_id} is no longer the owner")


def work_release(*, lease: Lease, error: str) -> None:
    """Give it back after a failure that says nothing about the work itself; the reconciler rings for it again."""
    _mine(lease).update(
        state=WorkState.WAITING,
        lease_until=None,
        lease_owner="",
        outcome={"error": error[:2000]},
        updated_at=Now(),
    )


def work_cancel(*, subject: uuid.UUID, kinds: tuple[str, ...] = ()) -> int:
    """Cancel the subject's open work (of `kinds`, or all). Whoever runs it is fenced off. Returns how many."""
    rows = Work.objects.filter(subject=subject, state__in=OPEN_STATES)
    if kinds:
        rows = rows.filter(kind__in=kinds)
    return rows.update(
        state=WorkState.CANCELLED,
        finished_at=Now(),
        lease_until=None,
        attempt=F("attempt") + 1,
        updated_at=Now(),
    )


def open_work_subjects(*, subjects: list[uuid.UUID]) -> set[uuid.UUID]:
    """Which of `subjects` have work that waits or runs."""
    rows = Work.objects.filter(subject__in=subjects, state__in=OPEN_STATES)
    return set(rows.values_list("subject", flat=True))


def untaken_work(*, queue: str) -> list[tuple[str, uuid.UUID]]:
    """(kind, id) of all open work of `queue` that nobody holds a valid lease on, oldest first."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = Work.objects.filter(free, queue=queue, attempt__lt=F("max_attempts"), deadline_at__gt=Now())
    return list(rows.order_by("created_at").values_list("kind", "id")[:500])


def leases_void(*, queue: str, owner_prefix: str) -> int:
    """End the leases of a dead process of `owner_prefix`, told by its successor on the same host."""
    rows = Work.objects.filter(queue=queue, state=WorkState.RUNNING, lease_owner__startswith=owner_prefix)
    return rows.update(lease_until=now_plus(-1))


def _mine(lease: Lease) -> QuerySet[Work]:
    return Work.objects.filter(pk=lease.work_id, attempt=lease.attempt, state=WorkState.RUNNING, lease_until__gt=Now())
