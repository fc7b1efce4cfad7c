"""The audit log as a page: who changed what, with filters, and what was before and after."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from controlplane.dashboard.audit_log.listing import AUDIT_LOG
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page
from controlplane.identity.domain import Caller


@require_safe
@page("audit_log:read")
def audit_log_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Administrators see all of it, members what was done in their project. The newest first."""
    return list_response(request, caller, AUDIT_LOG)
