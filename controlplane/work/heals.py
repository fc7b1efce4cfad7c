"""The record of heals: whoever puts something right by itself writes it here, and old entries go."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.infra.request_id import current_request_id
from controlplane.infra.retention import rows_prune
from controlplane.work.conf import work_options
from controlplane.work.models import Heal

TEXT_MAX_CHARS = 2000

OVERDUE_WORK = "overdue_work"
OVERDUE_TASK = "overdue_task"
LOST_TASK = "lost_task"
ORPHAN_CLAIMS = "orphan_claims"
HOST_DISABLED = "host_disabled"
HOST_ENABLED = "host_enabled"
STUCK_VOLUME = "stuck_volume"


@dataclass(frozen=True, slots=True)
class Healed:
    """What was put right: `found` and `done` are sentences for people, `evidence` the values behind them."""

    kind: str
    subject: uuid.UUID | None
    found: str
    done: str
    evidence: Mapping[str, Any]


def heal_record(*, kind: str, subject: uuid.UUID | None, found: str, done: str, evidence: Mapping[str, Any]) -> None:
    """Write one heal. Call inside the transaction of what is done, so that neither is there without the other."""
    heals_record([Healed(kind, subject, found, done, evidence)])


def heals_record(healed: Iterable[Healed]) -> None:
    """The same of several, in one statement; in none where there are none."""
    Heal.objects.bulk_create(
        [
            Heal(
                kind=one.kind,
                subject=one.subject,
                found=one.found[:TEXT_MAX_CHARS],
                done=one.done[:TEXT_MAX_CHARS],
                evidence=dict(one.evidence),
                request_id=current_request_id(),
            )
            for one in healed
        ]
    )


def heals_prune() -> int:
    """Remove what is older than HEAL_RETENTION_DAYS (0: nothing). Returns how many."""
    return rows_prune(Heal, by="created_at", days=work_options().heal_retention_days)
