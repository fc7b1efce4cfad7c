"""Rows of the page "work": each piece with its state, its subject, and its words for people."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.texts import translated
from controlplane.work.control import CANCEL, RETRY, WorkStatus, host_of, work_statuses
from controlplane.work.jobs import KINDS
from controlplane.work.models import WorkState
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.selectors.request_people import people_of_requests
from servers.instances.selectors.work_subjects import subject_names
from servers.instances.work_kinds import RESCHEDULE, SCHEDULE_AND_BUILD, SCHEDULE_UNSHELVE

SCHEDULING = (SCHEDULE_AND_BUILD, RESCHEDULE, SCHEDULE_UNSHELVE)
TONES = {"waiting": "", "running": "busy", "done": "good", "failed": "bad", "cancelled": "warn"}


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One row. `name` is the instance's, empty for a batch and for what was never dispatched. `by` is who asked for it,
    empty for what the control plane began.
    """

    work: Any
    status: WorkStatus
    host: str
    name: str
    is_there: bool
    is_batch: bool
    tone: str
    by: str

    @property
    def id(self) -> uuid.UUID:
        """Its id."""
        return uuid.UUID(str(self.work.pk))

    @property
    def may_retry(self) -> bool:
        return RETRY in self.status.actions

    @property
    def may_cancel(self) -> bool:
        return CANCEL in self.status.actions

    @property
    def is_verb(self) -> bool:
        """Whether it is an action that leaves its instance as it is when it fails."""
        return self.work.kind in HOST_ACTIONS

    @property
    def error(self) -> str:
        """What the last attempt, or its end, said."""
        return str(self.work.outcome.get("error", ""))

    @property
    def result(self) -> str:
        """What came of work that is done: 'no host' where nothing could be built, empty where it was as asked for."""
        if self.work.state != WorkState.DONE or not self.error:
            return ""
        return "no host" if self.work.kind in SCHEDULING else "error"

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.work.finished_at is None


def work_rows(page: Sequence[Any]) -> list[WorkRow]:
    """Of a page of work, in five queries at most."""
    statuses = work_statuses(page)
    names = subject_names(ids=[work.subject for work in page])
    people = people_of_requests({work.request_id for work in page})
    return [_row(work, statuses[work.pk], names, people.get(work.request_id, "")) for work in page]


def kinds_on_offer() -> list[tuple[str, str]]:
    """Return (name, in the reader's words) in the order in which people search."""
    return [(name, translated(kind_label(name))) for name in sorted(KINDS)]


def kind_label(kind: str) -> str:
    """The kind as people read it, in English: "Schedule and build". Marks stand in dashboard/values.py."""
    return kind.replace("_", " ").capitalize()


def _row(work: Any, status: WorkStatus, names: Mapping[uuid.UUID, tuple[str, bool]], by: str) -> WorkRow:
    name, is_there = names.get(work.subject, ("", False))
    return WorkRow(
        work=work,
        status=status,
        host=host_of(work),
        name=name,
        is_there=is_there,
        is_batch=work.kind == SCHEDULE_AND_BUILD,
        # Done says that the work ended, not that what was asked for came true.
        tone="warn" if work.state == WorkState.DONE and work.outcome.get("error") else TONES.get(work.state, ""),
        by=by,
    )
