"""Which step of an instance hangs, and for how long: for the fault of work that passed its deadline."""

import uuid

from controlplane.infra.db import db_now
from servers.models import InstanceActionEvent


def hanging_words(*, instance_id: uuid.UUID) -> str:
    """Of the step that began last and is open: `; step spawning has not ended in 12 s`. Empty when none is open."""
    rows = InstanceActionEvent.objects.filter(action__instance_uuid=instance_id, finished_at__isnull=True)
    step = rows.order_by("-started_at").first()
    if step is None:
        return ""
    return f"; step {step.name} has not ended in {(db_now() - step.started_at).total_seconds():.0f} s"
