"""Webhooks: the list, one with its deliveries, one delivery with every answer, and what can be done to them."""

import json
import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.audit_log.selectors import audit_entries_of
from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.webhooks.forms import WebhookPageForm
from controlplane.dashboard.webhooks.listing import WEBHOOKS
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from controlplane.notifications.fan_out import delivery_resend
from controlplane.notifications.models import OPEN_DELIVERIES, DeliveryState
from controlplane.notifications.patterns import PATTERNS
from controlplane.notifications.selectors import (
    deliveries_counted,
    deliveries_listed,
    delivery_shown,
    webhook_shown,
)
from controlplane.notifications.serializer import message
from controlplane.notifications.test_delivery import webhook_try
from controlplane.notifications.webhooks import webhook_create, webhook_delete, webhook_get, webhook_update

SECTION = "webhooks"
PAGE_SIZE = 50
STATES = {
    DeliveryState.WAITING.value: "busy",
    DeliveryState.RUNNING.value: "busy",
    DeliveryState.DONE.value: "good",
    DeliveryState.FAILED.value: "bad",
}


@require_safe
@page("webhooks:read")
def webhook_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Who is told of what, and whether it arrives."""
    return list_response(request, caller, WEBHOOKS)


@require_safe
@page("webhooks:read")
def webhook_detail(request: HttpRequest, caller: Caller, webhook_id: uuid.UUID) -> HttpResponse:
    """One with its deliveries, which come by themselves while something is on its way."""
    webhook = webhook_shown(webhook_id=webhook_id)
    state = filter_text(request, "state")
    counts = deliveries_counted(webhook_id=webhook_id)
    rows = deliveries_listed(webhook_id=webhook_id, state=state if state in counts else "")
    context = {
        "webhook": webhook,
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
        "state": state,
        "states": STATES,
        "counts": counts,
        "is_live": any(counts[one.value] for one in OPEN_DELIVERIES),
    }
    if is_htmx(request):
        return show(request, caller, "dashboard/webhooks/deliveries.html", SECTION, **context)
    context["audit_entries"] = audit_entries_of(kind="webhook", ids=[str(webhook.pk)])
    return show(request, caller, "dashboard/webhooks/detail.html", SECTION, **context)


@require_safe
@page("webhooks:read")
def delivery_detail(request: HttpRequest, caller: Caller, delivery_id: uuid.UUID) -> HttpResponse:
    """What was sent, and what each attempt brought."""
    delivery = delivery_shown(delivery_id=delivery_id)
    context = {
        "delivery": delivery,
        "states": STATES,
        "body": json.dumps(message(delivery.notification), indent=2, sort_keys=True),
        "is_live": delivery.state in OPEN_DELIVERIES,
    }
    template = "dashboard/webhooks/delivery_live.html" if is_htmx(request) else "dashboard/webhooks/delivery.html"
    return show(request, caller, template, SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("webhooks:write")
def webhook_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Subscribe somebody."""
    form = WebhookPageForm(request.POST or None, is_new=True)
    if request.method == "POST" and form.is_valid():
        try:
            made = webhook_create(**form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            notice = _("%(name)s gets what happens from now on. Send it a test to see whether it arrives.")
            messages.success(request, notice % {"name": made.name}, extra_tags="good")
            return redirect("webhook", webhook_id=made.pk)
    return _form_shown(request, caller, form, None)


@require_http_methods(["GET", "HEAD", "POST"])
@page("webhooks:write")
def webhook_edit(request: HttpRequest, caller: Caller, webhook_id: uuid.UUID) -> HttpResponse:
    """Change it. What is on its way goes to the new address."""
    webhook = webhook_get(webhook_id=webhook_id)
    initial = {"url": webhook.url, "events": "\n".join(webhook.events), "enabled": webhook.enabled}
    form = WebhookPageForm(request.POST or None, initial=initial, is_new=False)
    if request.method == "POST" and form.is_valid():
        try:
            webhook_update(webhook_id=webhook_id, **form.cleaned_data)
        except NotFound:
            raise
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            said = _("%(name)s was changed.") % {"name": webhook.name}
            messages.success(request, said, extra_tags="good")
            return redirect("webhook", webhook_id=webhook_id)
    return _form_shown(request, caller, form, webhook)


@require_POST
@page("webhooks:write")
def webhook_delete_view(request: HttpRequest, caller: Caller, webhook_id: uuid.UUID) -> HttpResponse:
    """Unsubscribe it; its deliveries go with it."""
    name = webhook_get(webhook_id=webhook_id).name
    webhook_delete(webhook_id=webhook_id)
    messages.success(request, _("%(name)s was deleted.") % {"name": name}, extra_tags="good")
    return redirect("webhooks")


@require_POST
@page("webhooks:write")
def webhook_test_view(request: HttpRequest, caller: Caller, webhook_id: uuid.UUID) -> HttpResponse:
    """Send it an event of its own; the page of the delivery shows what it answers."""
    try:
        made = webhook_try(webhook_id=webhook_id)
    except Conflict as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("webhook", webhook_id=webhook_id)
    return redirect("delivery-log", delivery_id=made.pk)


@require_POST
@page("webhooks:write")
def delivery_resend_view(request: HttpRequest, caller: Caller, delivery_id: uuid.UUID) -> HttpResponse:
    """Send one event again, whatever became of it."""
    delivery = delivery_shown(delivery_id=delivery_id)
    try:
        delivery_resend(delivery_id=delivery_id)
        is_on = delivery.webhook.enabled
        text = _("It is sent again.") if is_on else _("It is sent again once the webhook is enabled.")
        messages.success(request, text, extra_tags="good")
    except Conflict as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    return redirect("delivery-log", delivery_id=delivery_id)


def _form_shown(request: HttpRequest, caller: Caller, form: WebhookPageForm, webhook: Any) -> HttpResponse:
    context = {"form": form, "webhook": webhook, "patterns": PATTERNS, "is_wrong": bool(form.errors)}
    return show(request, caller, "dashboard/webhooks/form.html", SECTION, **context)
