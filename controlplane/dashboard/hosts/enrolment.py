"""Pages that let a hypervisor in and lock its agent out, for admins."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from servers.agent_api.credentials import credential_revoke, enrolment_command, enrolment_create

TEMPLATE = "dashboard/host_add.html"


@require_http_methods(["GET", "HEAD", "POST"])
@page("hosts:write")
def host_add(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask for a name, and show the command to run on the machine. Its token is in no address and is shown this once."""
    if request.method != "POST":
        return show(request, caller, TEMPLATE, "hosts", host="")
    host = request.POST.get("host", "").strip()
    try:
        enrolment = enrolment_create(host=host, user_id=caller.user_id)
    except Invalid as error:
        return show(request, caller, TEMPLATE, "hosts", host=host[:100], error=error.message)
    command = enrolment_command(enrolment, request.build_absolute_uri("/").rstrip("/"))
    return show(request, caller, TEMPLATE, "hosts", host=host, command=command, expires_at=enrolment.expires_at)


@require_POST
@page("hosts:write")
def host_revoke(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """Lock the host's agent out at once."""
    credential_revoke(host=host, user_id=caller.user_id)
    notice = f"The agent of {host} is locked out. Its guests go on; the host may be enrolled again."
    messages.success(request, notice, extra_tags="good")
    return redirect("host", host=host)
