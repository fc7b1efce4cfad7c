"""The page of work, for admins: what runs, waits, was retried, is overdue; wake again, cancel."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.bulk_jobs.bar import bulk_list_response
from controlplane.dashboard.pages import page
from controlplane.dashboard.texts import translated
from controlplane.dashboard.work.listing import WORK
from controlplane.dashboard.work.rows import kind_label
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.work.control import CANCEL, RETRY, Operator, work_cancel_one, work_counts, work_retry
from servers.bulk.domain import BulkKind


@require_safe
@page("work:read")
def work_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Filtered as the API filters it, open work unless asked otherwise. A page costs a constant number of queries."""
    return bulk_list_response(request, caller, WORK, BulkKind.WORK, counts=work_counts())


@require_POST
@page("work:write")
def work_act(request: HttpRequest, caller: Caller, work_id: uuid.UUID) -> HttpResponse:
    """Retry or cancel, then the list as it was filtered. The list shows what was refused."""
    action = request.POST.get("action", "")
    if action not in {RETRY, CANCEL}:
        raise Invalid(_("The action is neither retry nor cancel."), field="action")
    try:
        notice = _act(action, work_id, Operator(user_id=caller.user_id, name=caller.username))
    except Conflict as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
    else:
        messages.success(request, notice, extra_tags="good")
    return redirect(_back(request.POST.get("filters", "")))


def _act(action: str, work_id: uuid.UUID, operator: Operator) -> str:
    if action == RETRY:
        work = work_retry(work_id=work_id, operator=operator)
        text = _("%(kind)s: woken again. Whoever serves %(queue)s takes it now.")
        return text % {"kind": translated(kind_label(work.kind)), "queue": work.queue}
    work = work_cancel_one(work_id=work_id, operator=operator)
    text = _("%(kind)s: cancelled. Its instance says so, and that it was you.")
    return text % {"kind": translated(kind_label(work.kind))}


def _back(filters: str) -> str:
    """The list with its filters; whatever else was sent stays a filter and never becomes another address."""
    query = QueryDict(filters[:2000]).urlencode()
    return reverse("work") + (f"?{query}" if query else "")
