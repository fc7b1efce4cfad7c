"""The page that removes a host: what stands in the way, what force would leave, and the name typed by hand."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.work.control import Operator
from servers.hosts.domain.removal import RemovalRefused
from servers.hosts.selectors.contents import removal_preview
from servers.hosts.services.removal import HostRemoved, host_remove

TEMPLATE = "dashboard/host_remove.html"


@require_http_methods(["GET", "HEAD", "POST"])
@page("hosts:write")
def host_remove_view(request: HttpRequest, caller: Caller, host: str) -> HttpResponse:
    """Show what would become of it; remove it when its name was typed. What is refused is shown with its reasons."""
    preview = removal_preview(host=host)
    typed = request.POST.get("typed", "").strip()
    context = {"host": host, "preview": preview, "may_force": not preview.obstacles_to_force}
    if request.method != "POST":
        return show(request, caller, TEMPLATE, "hosts", **context)
    if typed != host:
        return show(
            request,
            caller,
            TEMPLATE,
            "hosts",
            **context,
            typed=typed[:255],
            error=gettext("Type %(host)s to remove it.") % {"host": host},
        )
    operator = Operator(user_id=caller.user_id, name=caller.username)
    try:
        removed = host_remove(host=host, force=request.POST.get("force") == "1", operator=operator)
    except RemovalRefused as error:
        context |= {"preview": removal_preview(host=host), "error": refusal_text(error)}
        refused = show(request, caller, TEMPLATE, "hosts", **context, typed=typed)
        refused.status_code = 409
        return refused
    messages.success(request, _notice(removed), extra_tags="good")
    return redirect("hosts")


def _notice(removed: HostRemoved) -> str:
    sentences = [gettext("Host %(host)s is removed.") % {"host": removed.host}]
    if left := removed.instances_left:
        names = ", ".join(one.name for one in left[:5]) + (", ..." if len(left) > 5 else "")
        said = gettext("Left without a host: %(names)s (%(count)s); Drift lists them.")
        sentences.append(said % {"names": names, "count": len(left)})
    return " ".join(sentences)
