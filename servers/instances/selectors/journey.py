"""Everything behind the lanes of an instance's journey: its rows, and who carried, decided and put right what."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from controlplane.identity.selectors.people import user_names
from controlplane.work.heal_records import heals_of
from controlplane.work.models import Work
from scheduling.decisions.selectors.decisions import decisions_of_instance
from servers.instances.selectors.instances import journey

MAX_WORK = 200
"""Of the newest pieces of work: an instance that was started and stopped for years has thousands."""


@dataclass(frozen=True, slots=True)
class JourneyRecords:
    """Rows, each list oldest first. `heals` are also those of the batch that the instance was created in. `users` has
    the names of whoever asked for an action.
    """

    actions: list[Any] = field(default_factory=list)
    attempts: list[Any] = field(default_factory=list)
    faults: list[Any] = field(default_factory=list)
    works: list[Any] = field(default_factory=list)
    decisions: list[Any] = field(default_factory=list)
    heals: list[Any] = field(default_factory=list)
    users: Mapping[uuid.UUID, str] = field(default_factory=dict)


def journey_records(*, instance_id: uuid.UUID, reservation_id: uuid.UUID | None) -> JourneyRecords:
    """Of one instance, whoever asks: what names hosts is for the page to leave out. Eight queries.

    Scheduled again, an instance is in a new batch; the decision of an earlier one still bears that batch's id.
    """
    decisions = list(decisions_of_instance(instance_uuid=instance_id).order_by("created_at"))
    rows = journey(instance_id)
    subjects = {instance_id, *(one.subject for one in decisions)} | ({reservation_id} if reservation_id else set())
    carried = Q(subject__in=subjects) | Q(pk__in=[one.work_id for one in rows["actions"] if one.work_id])
    works = Work.objects.filter(carried).order_by("-created_at")[:MAX_WORK]
    users = user_names({one.user_id for one in rows["actions"] if one.user_id})
    return JourneyRecords(
        **rows, works=list(reversed(works)), decisions=decisions, heals=heals_of(subjects=subjects), users=users
    )
