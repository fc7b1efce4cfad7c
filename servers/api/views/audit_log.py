"""The audit log. It is here because its app stands below users and roles; reading it needs both."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from controlplane.audit_log.filtersets import AuditLogFilterSet
from controlplane.audit_log.models import AuditLogEntry
from controlplane.audit_log.selectors import audit_entries, audit_entry_get, audit_scope
from controlplane.identity.api.callers import caller_of
from controlplane.identity.policy import allows
from controlplane.kernel.errors import NotFound
from servers.api.serializers.audit_log import AuditLogEntryOutput


class AuditLogViewSet(GenericViewSet[AuditLogEntry]):
    """Who changed what, the newest first. Administrators see all of it, members what was done in their project."""

    policy = {"list": "audit_log:read", "retrieve": "audit_log:read"}
    queryset = AuditLogEntry.objects.none()
    serializer_class = AuditLogEntryOutput
    filterset_class = AuditLogFilterSet
    ordering_fields = ["id", "occurred_at"]

    def get_queryset(self) -> QuerySet[AuditLogEntry]:
        caller = caller_of(self.request)
        return audit_entries(project_id=audit_scope(caller, sees_all=allows(caller, "audit_log:read_all")))

    def get_serializer_context(self) -> dict[str, Any]:
        """Who asks decides what is shown of an entry."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def list(self, request: Request) -> Response:
        """Filtered by action, kind, user, target, door, result, request, project and time."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, pk: str) -> Response:
        """One entry by its id."""
        if not (pk.isascii() and pk.isdecimal() and len(pk) < 19):
            raise NotFound(f"There is no entry {pk:.40} in the audit log.")
        caller = caller_of(request)
        scope = audit_scope(caller, sees_all=allows(caller, "audit_log:read_all"))
        return Response(self.get_serializer(audit_entry_get(entry_id=int(pk), project_id=scope)).data)
