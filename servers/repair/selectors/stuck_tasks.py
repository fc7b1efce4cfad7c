"""Instances with a task that no open work will ever end."""

import uuid
from collections.abc import Iterable
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.instances.domain.task_rules import TASK_RULES
from servers.models import Instance
from servers.states import TaskState

BATCH = 200


def instances_with_overdue_task() -> list[tuple[uuid.UUID, int]]:
    """(id, generation) of those whose task stands longer than its rule allows, longest first, at most BATCH."""
    since = Coalesce("task_since", "updated_at")  # rows of before tasks were timed
    rows = _without_work().annotate(since=since).filter(_past_deadline(TASK_RULES))
    return list(rows.order_by("since").values_list("pk", "generation")[:BATCH])


def instances_with_lost_task(*, host: str) -> list[tuple[uuid.UUID, int]]:
    """(id, generation) of those on `host` with a task without work, however young."""
    rows = _without_work().filter(host=host).order_by("pk")
    return list(rows.values_list("pk", "generation"))


def instances_with_lost_task_everywhere() -> list[Instance]:
    """Those with a task that no open work will end, on any host or none, at most BATCH."""
    return list(_without_work().order_by("pk")[:BATCH])


def _without_work() -> QuerySet[Instance]:
    open_work = Work.objects.filter(subject=OuterRef("pk"), state__in=OPEN_STATES)
    rows = Instance.objects.filter(deleted_at__isnull=True).exclude(task_state=TaskState.NONE)
    return rows.filter(~Exists(open_work))


def _past_deadline(tasks: Iterable[TaskState]) -> Q:
    by_deadline: dict[float, list[str]] = {}
    for task in tasks:
        by_deadline.setdefault(TASK_RULES[task].deadline_s, []).append(task.value)
    parts = (Q(task_state__in=named, since__lt=now_plus(-s)) for s, named in by_deadline.items())
    return reduce(or_, parts)
