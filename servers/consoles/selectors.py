"""Reading sessions of consoles."""

import uuid

from django.db.models import QuerySet

from computeagent.protocol.consoles import ConsoleKind, ConsoleOrder
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import ConsoleSession

READ_POLICY = "instances:console"
WAIT_S = 20.0
"""How long a session that was opened waits for its host."""


def console_sessions_visible(*, caller: Caller) -> QuerySet[ConsoleSession]:
    """Those of the caller's project that were opened, the newest first; for administrators all."""
    require(caller, READ_POLICY)
    rows = ConsoleSession.objects.select_related("user").filter(opened_at__isnull=False)
    return rows if caller.is_admin else rows.filter(project_id=caller.project_id)


def console_session_get(*, caller: Caller, session_id: uuid.UUID) -> ConsoleSession:
    """One of them. Raises NotFound."""
    row = console_sessions_visible(caller=caller).filter(pk=session_id).first()
    if row is None:
        raise NotFound(_("Console session {session_id} does not exist.", session_id=session_id))
    return row


def console_session_end_reason(*, session_id: uuid.UUID) -> str:
    """Why its row says that it ended; empty for one that is open. One query."""
    ended = ConsoleSession.objects.filter(pk=session_id, ended_at__isnull=False)
    return ended.values_list("ended_because", flat=True).first() or ""


def consoles_wanted(*, host: str) -> list[ConsoleOrder]:
    """Sessions that wait for this host. One query."""
    waiting = ConsoleSession.objects.filter(
        host=host, opened_at__gt=now_plus(-WAIT_S), connected_at__isnull=True, ended_at__isnull=True
    )
    rows = waiting.order_by("opened_at").values_list("pk", "instance_uuid", "kind")
    return [ConsoleOrder(str(pk), str(instance), ConsoleKind(kind)) for pk, instance, kind in rows]
