"""Work that stands still: past its deadline, let go of by whoever had it, or for a host that is silent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import BooleanField, Case, Q, QuerySet, Value, When

from controlplane.work.control import host_of
from controlplane.work.filtersets import lapsed, overdue
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import compute_queue
from servers.instances.selectors.work_subjects import subject_names

MAX_STANDING = 200


@dataclass(frozen=True, slots=True)
class StandingWork:
    """One piece. `name` is its instance's, empty for a batch; `host` is empty for what conductors do."""

    id: UUID
    kind: str
    subject: UUID
    name: str
    host: str
    asked_at: datetime
    is_overdue: bool
    is_lapsed: bool

    @property
    def waits_for_host(self) -> bool:
        """Whether nothing is wrong but that its host is silent."""
        return not (self.is_overdue or self.is_lapsed)


def standing(*, silent: Collection[str]) -> QuerySet[Work]:
    """All of it."""
    waits = Q(state__in=OPEN_STATES, queue__in=[compute_queue(host) for host in silent])
    return Work.objects.filter(overdue() | lapsed() | waits)


def standing_work(*, silent: Collection[str]) -> list[StandingWork]:
    """The oldest MAX_STANDING, for admins. Two queries."""
    rows = (
        standing(silent=silent)
        .annotate(past=_holds(overdue()), let_go=_holds(lapsed()))
        .order_by("created_at", "id")[:MAX_STANDING]
    )
    names: Mapping[UUID, tuple[str, bool]] = subject_names(ids=[row.subject for row in rows])
    return [
        StandingWork(
            row.pk,
            row.kind,
            row.subject,
            names.get(row.subject, ("", False))[0],
            host_of(row),
            row.created_at,
            is_overdue=row.past,
            is_lapsed=row.let_go,
        )
        for row in rows
    ]


def _holds(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())
