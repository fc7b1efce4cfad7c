"""Serial logs as agents send them: only the end is kept."""

import uuid

from controlplane.work.host_ownership import Ownership, owned
from servers.models import ConsoleLog, Instance
from servers.models.console_log import CONSOLE_LOG_MAX_BYTES


def console_logs_store(*, host: str, outputs: dict[uuid.UUID, str], ownership: Ownership | None = None) -> int:
    """Keep the tail of each; an agent may write only of instances on its own host. Returns how many were kept."""
    rows_here = Instance.objects.filter(owned(ownership), pk__in=outputs, host=host, deleted_at__isnull=True)
    own = rows_here.values_list("pk", flat=True)
    rows = [ConsoleLog(instance_uuid=pk, output=_tail(outputs[pk])) for pk in own]
    ConsoleLog.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["instance_uuid"], update_fields=["output", "updated_at"]
    )
    return len(rows)


def _tail(text: str) -> str:
    # PostgreSQL text cannot hold NUL; a guest may print anything.
    raw = text.replace("\x00", "").encode("utf-8", "replace")[-CONSOLE_LOG_MAX_BYTES:]
    return raw.decode("utf-8", "ignore")
