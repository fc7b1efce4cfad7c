"""The audit log in the Django admin: read only."""

from django.contrib import admin

from controlplane.audit_log.models import AuditLogChain, AuditLogEntry
from controlplane.infra.admin.bases import ReadOnlyAdmin
from controlplane.infra.admin.filters import typed


@admin.register(AuditLogEntry)
class AuditLogEntryAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = ["occurred_at", "user_name", "action", "target_name", "result", "door", "request_id"]
    list_filter = ["result", typed("door"), typed("target_kind", "kind"), typed("user_name", "user")]
    search_fields = ["user_name", "action", "target_id", "target_name", "request_id"]
    show_full_result_count = False


@admin.register(AuditLogChain)
class AuditLogChainAdmin(ReadOnlyAdmin):
    """Where the chain begins and ends."""

    list_display = ["__str__", "head_hash", "pruned_hash"]
