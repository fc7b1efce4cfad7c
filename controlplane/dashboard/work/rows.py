"""Rows of the page "work": each piece with its state, its subject, and its words for people."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from controlplane.work.control import CANCEL, RETRY, WorkStatus, host_of, work_statuses, works
from controlplane.work.filtersets import OPEN, WorkFilterSet
from controlplane.work.jobs import KINDS
from controlplane.work.models import WorkState
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.selectors.work_subjects import subject_names
from servers.instances.work_kinds import RESCHEDULE, SCHEDULE_AND_BUILD

SCHEDULING = (SCHEDULE_AND_BUILD, RESCHEDULE)
NAMES = ("state", "kind", "host", "overdue", "lapsed", "retried", "subject", "request_id")
TITLES = {"request_id": "Request", "subject": "Instance"}
TONES = {"waiting": "", "running": "busy", "done": "good", "failed": "bad", "cancelled": "warn"}


@dataclass(frozen=True, slots=True)
class WorkQuery:
    """What was asked for, as the fields show it, and what is wrong with it by field.

    Nothing asked for means what is open: what has ended only grows, and needs nobody.
    """

    rows: QuerySet[Any]
    values: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether the page shows what it shows by itself."""
        return self.values["state"] == OPEN and not any(self.values[name] for name in NAMES if name != "state")


def work_query(data: QueryDict) -> WorkQuery:
    """Open work with the nearest deadline first, so that what is overdue comes first; ended work newest first."""
    asked = data.copy()
    asked.setdefault("state", OPEN)
    found = WorkFilterSet(data=asked, queryset=works())
    values = {name: str(asked.get(name, "")).strip() for name in NAMES}
    if not found.is_valid():
        errors = {
            TITLES.get(name, name.capitalize()): " ".join(map(str, texts)) for name, texts in found.errors.items()
        }
        return WorkQuery(works().none(), values, errors)
    is_open = values["state"] in {OPEN, "waiting", "running"}
    return WorkQuery(found.qs.order_by("deadline_at", "id") if is_open else found.qs, values)


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One row. `name` is the instance's, empty for a batch and for what was never dispatched."""

    work: Any
    status: WorkStatus
    host: str
    name: str
    is_there: bool
    is_batch: bool
    tone: str

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
    """Of a page of work, in two queries."""
    statuses = work_statuses(page)
    names = subject_names(ids=[work.subject for work in page])
    return [_row(work, statuses[work.pk], names) for work in page]


def kinds_on_offer() -> list[tuple[str, str]]:
    """Return (name, in words) in the order in which people search."""
    return [(name, kind_label(name)) for name in sorted(KINDS)]


def kind_label(kind: str) -> str:
    """The kind as people read it: "Schedule and build"."""
    return kind.replace("_", " ").capitalize()


def _row(work: Any, status: WorkStatus, names: Mapping[uuid.UUID, tuple[str, bool]]) -> WorkRow:
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
    )
