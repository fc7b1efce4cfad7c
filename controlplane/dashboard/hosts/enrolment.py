"""Pages that let a hypervisor in and lock its agent out, for admins."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.pages import filter_text, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Invalid
from scheduling.fleet.selectors.hosts import host_exists
from scheduling.fleet.selectors.liveness import host_is_up
from servers.agent_api.credentials import (
    credential_of_host,
    credential_revoke,
    enrolment_command,
    enrolment_create,
    enrolment_is_awaited,
)

TEMPLATE, ARRIVAL = "dashboard/host_add.html", "dashboard/hosts/host_arrival.html"
# htmx's own status: show this, and ask no more.
HTMX_STOP_POLLING = 286


@require_http_methods(["GET", "HEAD", "POST"])
@page("hosts:write")
def host_add(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask for a name, and show the command to run on the machine. Its token is in no address and is shown this once."""
    if request.method != "POST":
        return show(request, caller, TEMPLATE, "hosts", host="")
    host = request.POST.get("host", "").strip()
    try:
        enrolment = enrolment_create(host=host, user_id=caller.user_id)
    except (Invalid, Conflict) as error:
        return show(request, caller, TEMPLATE, "hosts", host=host[:100], error=refusal_text(error))
    command = enrolment_command(enrolment, request.build_absolute_uri("/").rstrip("/"))
    return show(request, caller, TEMPLATE, "hosts", host=host, command=command, expires_at=enrolment.expires_at)


@require_safe
@page("hosts:write")
def host_arrival(request: HttpRequest, caller: Caller) -> HttpResponse:
    """How far a host is on its way in, for the page that shows its command: enrolled, registered, up."""
    host = filter_text(request, "host")
    # What is known of the machine that had the name before says nothing of the one that is to come.
    is_here = not enrolment_is_awaited(host)
    is_up = is_here and host_is_up(host=host)
    credential = credential_of_host(host) if is_here else None
    context = {
        "host": host,
        "enrolled_at": credential.enrolled_at if credential and not credential.revoked_at else None,
        "is_registered": is_here and host_exists(host=host),
        "is_up": is_up,
    }
    answer = show(request, caller, ARRIVAL, "hosts", **context)
    answer.status_code = HTMX_STOP_POLLING if is_up else 200
    return answer


@require_POST
@page("hosts:write")
def host_revoke(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """Lock the host's agent out at once."""
    credential_revoke(host=host, user_id=caller.user_id)
    template = gettext("The agent of %(host)s is locked out. Its guests go on; the host may be enrolled again.")
    notice = template % {"host": host}
    messages.success(request, notice, extra_tags="good")
    return redirect("host", host=host)
