"""The record of heals: whoever puts something right by itself writes it here, and old entries go."""

import uuid
from collections.abc import Mapping
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


def heal_record(*, kind: str, subject: uuid.UUID | None, found: str, done: str, evidence: Mapping[str, Any]) -> None:
    """Write one heal. Call inside the transaction of what is done, so that neither is there without the other."""
    Heal.objects.create(
        kind=kind,
        subject=subject,
        found=found[:TEXT_MAX_CHARS],
        done=done[:TEXT_MAX_CHARS],
        evidence=dict(evidence),
        request_id=current_request_id(),
    )


def heals_prune() -> int:
    """Remove what is older than HEAL_RETENTION_DAYS (0: nothing). Returns how many."""
    return rows_prune(Heal, by="created_at", days=work_options().heal_retention_days)
