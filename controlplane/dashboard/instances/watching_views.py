"""Pages of what one sees of an instance from outside: its screen, its whole kept log, its counters as numbers."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from servers.api.views.instance_watching import console_file, screenshot_file
from servers.conf import server_options
from servers.instances.selectors.diagnostics import POLICY as DIAGNOSTICS
from servers.instances.selectors.diagnostics import instance_diagnostics
from servers.instances.selectors.instances import console_log_stored, instance_get
from servers.instances.selectors.screenshots import screenshot_state
from servers.instances.services.screenshot import screenshot_request
from servers.states import POWERED_ON


@require_http_methods(["GET", "HEAD", "POST"])
@page("instances:console")
def instance_screenshot(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The newest picture of its screen; a press on the button asks its host for another one."""
    if request.method == "POST":
        try:
            screenshot_request(caller=caller, instance_id=instance_id)
        except NotFound:
            raise
        except KilonovaError as error:
            messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("instance-screenshot", instance_id=instance_id)
    instance = instance_get(caller=caller, instance_id=instance_id)
    template = "dashboard/instance_screen.html" if is_htmx(request) else "dashboard/instance_screenshot.html"
    context = {
        "instance": instance,
        "screen": screenshot_state(instance),
        "kept_s": server_options().screenshot_retention_s,
        "is_on": instance.power_state in POWERED_ON,
    }
    return show(request, caller, template, "instances", **context)


@require_safe
@page("instances:console")
def instance_screenshot_image(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The picture itself."""
    return screenshot_file(instance_get(caller=caller, instance_id=instance_id))


@require_safe
@page("instances:console")
def instance_console_download(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """All that is kept of its serial log, as a file."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    return console_file(instance, console_log_stored(instance_id=instance.pk), request.headers.get("Range", ""))


@require_safe
@page(DIAGNOSTICS)
def instance_diagnostics_page(request: HttpRequest, caller: Caller, instance_id: uuid.UUID) -> HttpResponse:
    """The newest counters as numbers, for administrators."""
    instance = instance_get(caller=caller, instance_id=instance_id)
    refusal, document = "", None
    try:
        document = instance_diagnostics(caller=caller, instance=instance)
    except Conflict as error:
        refusal = refusal_text(error)
    context = {"instance": instance, "document": document, "refusal": refusal}
    return show(request, caller, "dashboard/instance_diagnostics.html", "instances", **context)
