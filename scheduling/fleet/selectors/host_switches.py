"""The history of a host's switches, out of the audit log, which is never changed."""

from controlplane.audit_log.models import AuditLogEntry, AuditResult
from controlplane.audit_log.selectors import audit_entries_of
from scheduling.fleet.domain.host_switches import HostSwitch, SwitchKind, switches_ended

MAX_SWITCHES = 50
DISABLE, ENABLE, FORCE_DOWN = "host.disable", "host.enable", "host.force_down"


def host_switches(*, host: str) -> list[HostSwitch]:
    """The newest MAX_SWITCHES, the newest first; as far back as the audit log is kept. One query."""
    entries = audit_entries_of(
        kind="host", name=host, ids=[host], actions=(DISABLE, ENABLE, FORCE_DOWN), limit=MAX_SWITCHES
    )
    return switches_ended(_switch(one) for one in entries if one.result == AuditResult.DONE)


def _switch(entry: AuditLogEntry) -> HostSwitch:
    return HostSwitch(
        at=entry.occurred_at,
        kind=_kind(entry),
        by=entry.user_name,
        door=entry.door,
        reason=str(entry.after.get("disabled_reason") or ""),
        request_id=entry.request_id,
    )


def _kind(entry: AuditLogEntry) -> SwitchKind:
    if entry.action == FORCE_DOWN:
        return SwitchKind.FORCED_DOWN if entry.after.get("forced_down") else SwitchKind.FORCED_DOWN_END
    return SwitchKind.DISABLED if entry.action == DISABLE else SwitchKind.ENABLED
