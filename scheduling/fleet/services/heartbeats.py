"""Heartbeats: the agent of a host is alive, and hears how its host stands. Every agent sends one each half minute."""

from typing import Any
from uuid import UUID

from computeagent.protocol.hosts import Registration
from controlplane.infra.db import Row, db_time, later_sql, later_value, now_sql
from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.version import VERSION
from controlplane.work.conf import work_options
from controlplane.work.host_ownership import Ownership
from scheduling.conf import scheduling_options
from scheduling.models import COMPUTE_BINARY

_ALIVE_SQL = """
UPDATE scheduling_service SET last_seen_up = {now}, report_count = report_count + 1
 WHERE host = %s AND "binary" = '{binary}'
RETURNING id, disabled, disabled_reason, forced_down, {now},
          (SELECT id FROM scheduling_computenode WHERE host = %s ORDER BY hypervisor_hostname LIMIT 1)
"""
_ALIVE = PreparedStatement("service_heartbeat", lambda: _written(_ALIVE_SQL), types=["text"], places=lambda: [0, 0])
_SEEN_SQL = """
SELECT id, disabled, disabled_reason, forced_down, {now},
       (SELECT id FROM scheduling_computenode WHERE host = %s ORDER BY hypervisor_hostname LIMIT 1)
  FROM scheduling_service WHERE host = %s AND "binary" = '{binary}' AND last_seen_up > {later}
   AND EXISTS (SELECT 1 FROM work_namedlease WHERE name = %s AND owner = %s AND until > {later})
"""
_SEEN = PreparedStatement(
    "service_seen_lately",
    lambda: _written(_SEEN_SQL),
    types=["text", "double precision", "text", "text", "double precision"],
    places=lambda: [0, 0, 1, 2, 3, 4],
)
SEEN_SHARE = 1 / 3
"""Of SERVICE_DOWN_TIME_S: who was seen more lately needs not be written down again."""


def _written(text: str) -> str:
    return text.strip().format(now=now_sql(), later=later_sql(), binary=COMPUTE_BINARY)


def service_heartbeat(*, host: str) -> Registration:
    """The agent of `host` is alive, by the database's clock. One statement. Raises NotFound: register first."""
    rows = _ALIVE.rows([host])
    if not rows or rows[0][-1] is None:
        raise NotFound(_("Host {host} is not registered.", host=host), field="host")
    return _registration_of(rows[0])


def service_seen_lately(*, host: str, ownership: Ownership) -> Registration | None:
    """What a heartbeat is answered with while it is written down that the host's agent was alive just now, as its polls
    are, and still has its host. None where a heartbeat has to be written, or refused. One query.
    """
    down_s = scheduling_options().service_down_time_s
    since, until = -down_s * SEEN_SHARE, down_s * (1 - SEEN_SHARE)
    rows = _SEEN.rows([host, later_value(since), ownership.name, ownership.owner, later_value(until)])
    return _registration_of(rows[0]) if rows and rows[0][-1] is not None else None


def intervals() -> dict[str, Any]:
    """What a registration says of this control plane."""
    return {
        "report_interval_s": scheduling_options().report_interval_s,
        "lease_s": work_options().lease_s,
        "version": VERSION,
    }


def _registration_of(row: Row) -> Registration:
    service_id, disabled, reason, forced_down, now, node_id = row
    return Registration(
        service_id=str(UUID(str(service_id))),
        compute_node_uuid=str(UUID(str(node_id))),
        disabled=bool(disabled),
        disabled_reason=reason,
        forced_down=bool(forced_down),
        time_s=db_time(now).timestamp(),
        **intervals(),
    )
