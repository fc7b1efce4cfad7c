"""The page of work, for admins: what runs, waits, was retried, is overdue; wake again, cancel."""

import uuid
from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.work.rows import kind_label, kinds_on_offer, work_query, work_rows
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.work.control import CANCEL, RETRY, Operator, work_cancel_one, work_counts, work_retry
from controlplane.work.filtersets import STATES
from controlplane.work.models import Work

PAGE_SIZE = 25
MAX_COUNTED = 1000


class BoundedPaginator(Paginator[Work]):
    """Pages of the first MAX_COUNTED rows. The page asks again every few seconds while something is open: counting all
    that ended in ninety days each time would read the whole table.
    """

    @cached_property
    def count(self) -> int:
        """At most MAX_COUNTED, so that the database stops there."""
        rows = cast("QuerySet[Work]", self.object_list)
        return rows.order_by()[:MAX_COUNTED].count()

    @property
    def is_bounded(self) -> bool:
        """Whether there may be more."""
        return self.count == MAX_COUNTED


@require_safe
@page("work:read")
def work_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Filtered as the API filters it, open work unless asked otherwise. A page costs a constant number of queries."""
    query = work_query(request.GET)
    here = BoundedPaginator(query.rows, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = work_rows(list(here))
    context = {
        "page": here,
        "rows": rows,
        "query": query,
        "counts": work_counts(),
        "states": STATES,
        "kinds": kinds_on_offer(),
        "is_live": any(row.is_open for row in rows),
    }
    template = "dashboard/work_rows.html" if is_htmx(request) else "dashboard/work_list.html"
    return show(request, caller, template, "work", **context)


@require_POST
@page("work:write")
def work_act(request: HttpRequest, caller: Caller, work_id: uuid.UUID) -> HttpResponse:
    """Retry or cancel, then the list as it was filtered. The list shows what was refused."""
    action = request.POST.get("action", "")
    if action not in {RETRY, CANCEL}:
        raise Invalid("The action is neither retry nor cancel.", field="action")
    try:
        notice = _act(action, work_id, Operator(user_id=caller.user_id, name=caller.username))
    except Conflict as error:
        messages.error(request, error.message, extra_tags="bad")
    else:
        messages.success(request, notice, extra_tags="good")
    return redirect(_back(request.POST.get("filters", "")))


def _act(action: str, work_id: uuid.UUID, operator: Operator) -> str:
    if action == RETRY:
        work = work_retry(work_id=work_id, operator=operator)
        return f"{kind_label(work.kind)}: woken again. Whoever serves {work.queue} takes it now."
    work = work_cancel_one(work_id=work_id, operator=operator)
    return f"{kind_label(work.kind)}: cancelled. Its instance says so, and that it was you."


def _back(filters: str) -> str:
    """The list with its filters; whatever else was sent stays a filter and never becomes another address."""
    query = QueryDict(filters[:2000]).urlencode()
    return reverse("work") + (f"?{query}" if query else "")
