"""Reading the audit log."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.audit_log.models import AuditLogEntry
from controlplane.audit_log.recording.actor_scope import CallerLike
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _

MAX_SHOWN = 20
NO_REQUEST = "-"
"""What stands for the request of something that nobody asked for."""


def audit_entries(*, project_id: UUID | None = None) -> QuerySet[AuditLogEntry]:
    """All of them, or those of one project; the newest first."""
    rows = AuditLogEntry.objects.order_by("-id")
    return rows if project_id is None else rows.filter(project_id=project_id)


def audit_entry_get(*, entry_id: int, project_id: UUID | None = None) -> AuditLogEntry:
    """One. Raises NotFound, also for another project's."""
    entry = audit_entries(project_id=project_id).filter(pk=entry_id).first()
    if entry is None:
        raise NotFound(_("There is no entry {entry_id} in the audit log.", entry_id=entry_id))
    return entry


def audit_entries_of(
    *,
    kind: str,
    ids: Collection[str] = (),
    name: str = "",
    actions: Collection[str] = (),
    project_id: UUID | None = None,
    limit: int = MAX_SHOWN,
) -> list[AuditLogEntry]:
    """The newest about one thing, by any of its ids or by its name; only of these actions, where some are named, and of
    one project where that is named. One query.
    """
    named = Q(target_id__in=list(ids)) | (Q(target_name=name) if name else Q())
    rows = audit_entries(project_id=project_id).filter(named, target_kind=kind)
    return list((rows.filter(action__in=list(actions)) if actions else rows)[:limit])


def askers_of(request_ids: Collection[str]) -> dict[str, str]:
    """{request: the name of who made it}; what the log knows nothing of is missing. One query."""
    asked = {one for one in request_ids if one and one != NO_REQUEST}
    if not asked:
        return {}
    rows = AuditLogEntry.objects.filter(request_id__in=asked).order_by("-id").values_list("request_id", "user_name")
    # The first entry of a request counts, whatever it was about.
    return {request_id: name for request_id, name in rows if name}


def audit_scope(caller: CallerLike, *, sees_all: bool) -> UUID | None:
    """The project whose entries the caller may see; None for those of all."""
    return None if sees_all else caller.project_id
