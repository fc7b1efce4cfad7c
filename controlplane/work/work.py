"""Work rows: create, take, renew, finish. Every write of an attempt is fenced by its number and its lease."""

import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict, Fenced
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.hints import WORK, changed
from controlplane.work.host_ownership import Ownership, owned
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.statements import Attempt, row_take_again, rows_fence, rows_finish, rows_insert, rows_take
from controlplane.work.wakeups import wakeups_send

CONDUCTOR_QUEUE = "conductor"


def compute_queue(host: str) -> str:
    """The queue that the agent of `host` serves."""
    return f"compute.{host}"


@dataclass(frozen=True, slots=True)
class WorkLease:
    """The right to act on a piece of work; `attempt` is the fencing token.

    `kind` and `subject` repeat the row, and every write under the lease compares them with it: whoever brings a lease
    back from elsewhere need not be asked, nor the row be read, before what it says is acted on. With `ownership`, no
    write takes effect unless that holds too: an agent whose host passed to another one must not end its work.
    """

    work_id: uuid.UUID
    attempt: int
    kind: str
    subject: uuid.UUID
    ownership: Ownership | None = None


@dataclass(frozen=True, slots=True)
class NewWork:
    """Work to be written: what (`kind`), to whom (`subject`), by whom (`queue`), until when (`deadline_s` from now).

    `request_id`: whose request it serves; that of the request or work under way, where none is given.
    """

    queue: str
    kind: str
    subject: uuid.UUID
    deadline_s: float
    arguments: dict[str, Any] = field(default_factory=dict)
    max_attempts: int = 5
    request_id: str = ""


def work_create(new: NewWork) -> Work:
    """Write the row and ring its wake-up. Call inside the transaction of the state change that calls for it.

    Raises Conflict when the same kind of work is open for the subject.
    """
    return works_create([new])[0]


def works_create(wakeups_wanted: Sequence[NewWork]) -> list[Work]:
    """Write many rows and ring for each, in two statements. Raises Conflict, and then wrote none."""
    request_id = current_request_id()
    rows = [
        Work(
            queue=new.queue,
            kind=new.kind,
            subject=new.subject,
            arguments=new.arguments,
            max_attempts=new.max_attempts,
            request_id=new.request_id or request_id,
        )
        for new in wakeups_wanted
    ]
    # One row is written or not; of several, those that were written go again with the others.
    is_apart = len(rows) > 1 or not transaction.get_connection().in_atomic_block
    around: AbstractContextManager[object] = transaction.atomic() if is_apart else nullcontext()
    with around:
        if len(rows_insert(rows, deadlines_s=[new.deadline_s for new in wakeups_wanted])) < len(rows):
            raise Conflict(_("The same work is already under way."))
        wakeups_send((row.queue, row.kind, str(row.pk)) for row in rows)
    return rows


def work_take(
    *, work_id: uuid.UUID | str, owner: str, queue: str = "", ownership: Ownership | None = None
) -> tuple[Work, WorkLease] | None:
    """Take what waits or whose lease ran out. None when somebody else has it, it ended, or it is out of attempts; and
    when `ownership` is given and does not hold.
    """
    found = works_take(work_ids=[work_id], owner=owner, queue=queue, ownership=ownership)
    return found[0] if found else None


def work_take_again(
    *, work_id: uuid.UUID | str, owner: str, queue: str, ownership: Ownership | None = None
) -> tuple[Work, WorkLease] | None:
    """What `owner` took before and never heard of, with the same attempt. None for all else.

    Only for owners that are made for one taking alone: of any other, an earlier attempt may have left something behind.
    """
    found = _uuid(work_id)
    if found is None:
        return None
    row = row_take_again(found, owner=owner, lease_s=work_options().lease_s, queue=queue, ownership=ownership)
    return None if row is None else (row, WorkLease(row.pk, row.attempt, row.kind, row.subject, ownership))


def works_take(
    *, work_ids: Sequence[uuid.UUID | str], owner: str, queue: str = "", ownership: Ownership | None = None
) -> list[tuple[Work, WorkLease]]:
    """Take those of them that are free, oldest first, in one statement. Of two takers of the same, one gets it.

    Ids that are none are left out, as whoever can ring a wake-up can write nonsense.
    """
    ids = [found for one in work_ids if (found := _uuid(one)) is not None]
    rows = rows_take(ids, owner=owner, lease_s=work_options().lease_s, queue=queue, ownership=ownership)
    oldest_first = sorted(rows, key=lambda row: (row.created_at, row.pk))
    return [(row, WorkLease(row.pk, row.attempt, row.kind, row.subject, ownership)) for row in oldest_first]


def work_fence(*, lease: WorkLease, step: str | None = None) -> None:
    """First statement of each transaction of an attempt: proves and prolongs the lease. Raises Fenced.

    On PostgreSQL it also locks the row until the transaction ends, so no other attempt begins meanwhile.
    """
    held = rows_fence([_attempt(lease)], lease_s=work_options().lease_s, step=step, ownership=lease.ownership)
    if not held:
        raise _fenced(lease)


def works_fence(*, leases: Iterable[WorkLease], step: str | None = None) -> set[uuid.UUID]:
    """The same for many of the conductor's: the ids of the work whose lease still holds. Nothing may be done for the
    others.
    """
    return rows_fence(map(_attempt, leases), lease_s=work_options().lease_s, step=step)


def work_finish(*, lease: WorkLease, state: WorkState = WorkState.DONE, outcome: dict[str, Any] | None = None) -> None:
    """End the work, in the transaction that writes its effect. Raises Fenced."""
    if not rows_finish({_attempt(lease): outcome or {}}, state=state, ownership=lease.ownership):
        raise _fenced(lease)


def works_finish(
    *, outcomes: Mapping[WorkLease, Mapping[str, Any]], state: WorkState = WorkState.DONE
) -> set[uuid.UUID]:
    """The same for many of the conductor's, each with its outcome: the ids of the work whose lease still held. The
    others are not ended.

    As in `work_finish`, it proves the leases too: in the transaction of the effects, no fence is needed before it.
    """
    ended = {_attempt(lease): outcome for lease, outcome in outcomes.items()}
    return rows_finish(ended, state=state)


def _attempt(lease: WorkLease) -> Attempt:
    return lease.work_id, lease.attempt, lease.kind, lease.subject


def _fenced(lease: WorkLease) -> Fenced:
    return Fenced(
        _("attempt {attempt} of work {work_id} is no longer the owner", attempt=lease.attempt, work_id=lease.work_id)
    )


def _uuid(value: uuid.UUID | str) -> uuid.UUID | None:
    return value if isinstance(value, uuid.UUID) else parse_uuid(value)


def work_release(*, lease: WorkLease, error: str) -> None:
    """Give it back after a failure that says nothing about the work itself; the reconciler wakes it again."""
    _mine(lease).update(
        state=WorkState.WAITING,
        lease_until=None,
        lease_owner="",
        outcome={"error": error[:2000]},
        updated_at=Now(),
    )
    changed(WORK)


def work_give_back(*, lease: WorkLease, reason: str) -> None:
    """Give it back because its owner ends, not because of the work: the attempt is not counted. Raises Fenced.

    The number of the attempt stays used, since a number is a right to write; one more may be made instead.
    """
    is_mine = _mine(lease).update(
        state=WorkState.WAITING,
        max_attempts=F("max_attempts") + 1,
        lease_until=None,
        lease_owner="",
        woken_at=None,
        outcome={"error": reason[:2000]},
        updated_at=Now(),
    )
    if not is_mine:
        raise _fenced(lease)
    changed(WORK)


def works_give_back(*, leases: Iterable[WorkLease], reason: str) -> None:
    """Give back work that was taken and not begun, and wake it again. As above, it costs no attempt.

    Of a lease that is over, nothing changes: the work is somebody else's, or about to be.
    """
    with transaction.atomic():
        for lease in sorted(leases, key=lambda one: one.work_id):
            with suppress(Fenced):
                work_give_back(lease=lease, reason=reason)
                given_back = Work.objects.filter(pk=lease.work_id)
                given_back.update(woken_at=Now())
                wakeups_send(
                    (queue, lease.kind, str(lease.work_id)) for queue in given_back.values_list("queue", flat=True)
                )


class Package:
    """Several pieces of work in one worker's hand: leases that must last until the last of them had its turn.

    Each piece takes as long as it takes, so the leases of those that wait are renewed between two of them
    (`renew`, which costs nothing while they are fresh), and after a third of LEASE_S no further piece is begun
    (`is_over`): what is left is somebody else's to take.
    """

    def __init__(self, leases: Iterable[WorkLease]) -> None:
        self.leases = list(leases)
        self._began_at = self._renewed_at = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether no further piece may be begun."""
        return time.monotonic() - self._began_at >= work_options().lease_s / 3

    def renew(self) -> None:
        """Prolong the leases that still hold, when the last time was a while ago. Call it outside a transaction."""
        if time.monotonic() - self._renewed_at < work_options().lease_s / 6:
            return
        self._renewed_at = time.monotonic()
        works_fence(leases=self.leases)


def work_history(work: Work) -> str:
    """Who held it last and its last error, for operators: both may name machines and paths. Empty for neither."""
    held = f"last held by {work.lease_owner}" if work.lease_owner else ""
    last = work.outcome.get("error", "")
    return "; ".join(part for part in (held, f"last error: {last}" if last else "") if part)


def work_lock(*, subject: uuid.UUID) -> None:
    """Hold the subject's open work until the transaction ends.

    For whoever will cancel it after a lock of its own on the subject: agents lock the work first, so the other order
    is a deadlock.
    """
    list(Work.objects.select_for_update().filter(subject=subject, state__in=OPEN_STATES).order_by("pk").values("pk"))


def work_cancel(*, subject: uuid.UUID, kinds: tuple[str, ...] = ()) -> int:
    """Cancel the subject's open work (of `kinds`, or all). Whoever runs it is fenced off. Returns how many."""
    rows = Work.objects.filter(subject=subject, state__in=OPEN_STATES)
    if kinds:
        rows = rows.filter(kind__in=kinds)
    cancelled = rows.update(
        state=WorkState.CANCELLED,
        finished_at=Now(),
        lease_until=None,
        attempt=F("attempt") + 1,
        updated_at=Now(),
    )
    if cancelled:
        changed(WORK)
    return cancelled


def open_work_subjects(*, subjects: list[uuid.UUID], other_than: Collection[str] = ()) -> set[uuid.UUID]:
    """Which of `subjects` have work that waits or runs, and is of no kind in `other_than`."""
    rows = Work.objects.filter(subject__in=subjects, state__in=OPEN_STATES).exclude(kind__in=other_than)
    return set(rows.values_list("subject", flat=True))


def open_work_by_kind(*, queue: str) -> dict[str, int]:
    """{kind: how much of it waits or runs} of one queue. One query."""
    rows = Work.objects.filter(queue=queue, state__in=OPEN_STATES).order_by("kind")
    return dict(rows.values_list("kind").annotate(Count("id")))


def open_work_of_queues(*, queues: Collection[str], kinds: Collection[str]) -> dict[str, int]:
    """{queue: how much work of these kinds waits or runs} of those that have some. One query."""
    rows = Work.objects.filter(queue__in=queues, kind__in=kinds, state__in=OPEN_STATES).order_by("queue")
    return dict(rows.values_list("queue").annotate(Count("id")))


def open_work_of(*, subject: uuid.UUID) -> Work | None:
    """The work of the subject that waits or runs, the oldest of them."""
    return Work.objects.filter(subject=subject, state__in=OPEN_STATES).order_by("created_at", "pk").first()


def open_work_of_kind(*, subject: uuid.UUID, kind: str) -> Work | None:
    """The one work of this kind for the subject that waits or runs."""
    return Work.objects.filter(subject=subject, kind=kind, state__in=OPEN_STATES).first()


def untaken_work(*, queue: str) -> list[tuple[str, uuid.UUID]]:
    """(kind, id) of all open work of `queue` that nobody holds a valid lease on, oldest first."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = Work.objects.filter(free, queue=queue, attempt__lt=F("max_attempts"), deadline_at__gt=Now())
    return list(rows.order_by("created_at").values_list("kind", "id")[:500])


def leases_void(*, queue: str, owner_prefix: str) -> int:
    """End the leases of a dead process of `owner_prefix`, told by its successor on the same host."""
    rows = Work.objects.filter(queue=queue, state=WorkState.RUNNING, lease_owner__startswith=owner_prefix)
    return rows.update(lease_until=now_plus(-1))


def _mine(lease: WorkLease) -> QuerySet[Work]:
    return Work.objects.filter(
        owned(lease.ownership),
        pk=lease.work_id,
        attempt=lease.attempt,
        kind=lease.kind,
        subject=lease.subject,
        state=WorkState.RUNNING,
        lease_until__gt=Now(),
    )
