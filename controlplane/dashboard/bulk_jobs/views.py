"""Choosing rows of a list leads here: the question for what destroys, then the job with its items."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.bulk_jobs.listing import BULK_JOBS
from controlplane.dashboard.hosts.listing import HOSTS
from controlplane.dashboard.images.listing import IMAGES
from controlplane.dashboard.instances.listing import INSTANCES
from controlplane.dashboard.lists.declaration import ListDeclaration
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.lists.query import ListQuery
from controlplane.dashboard.networks.floating_ip_listing import FLOATING_IPS
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.texts import translated
from controlplane.dashboard.volumes.listing import VOLUMES
from controlplane.dashboard.work.listing import WORK
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows, require
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid
from servers.bulk.domain import BULK_RULES, NOUNS, BulkItemState, BulkKind, BulkRule, word_to_type
from servers.bulk.selectors import bulk_items, bulk_job_get, bulk_progress
from servers.bulk.services.jobs import (
    bulk_action_of,
    bulk_job_cancel,
    bulk_job_create,
    bulk_job_retry,
    bulk_kind_of,
    size_require,
)
from servers.bulk.things.table import THINGS
from servers.conf import server_options
from servers.instances.actions.lifecycle import DELETE, RESTORE
from servers.instances.actions.opposites import OPPOSITES

PAGE_SIZE = 50
MAX_NAMED = 200
MAX_QUERY = 2000
"""Letters of a list's query."""
LISTED: dict[BulkKind, ListDeclaration] = {
    BulkKind.INSTANCE: INSTANCES,
    BulkKind.HOST: HOSTS,
    BulkKind.VOLUME: VOLUMES,
    BulkKind.IMAGE: IMAGES,
    BulkKind.FLOATING_IP: FLOATING_IPS,
    BulkKind.WORK: WORK,
}
"""Where things of each kind are chosen."""
PLACES = {BulkKind.INSTANCE: "/instances/", BulkKind.VOLUME: "/volumes/", BulkKind.IMAGE: "/images/"}
"""Before the id of a thing that has a page by its id."""
OPPOSITES_OF_OTHERS = {
    (BulkKind.HOST, "enable"): "disable",
    (BulkKind.HOST, "disable"): "enable",
    (BulkKind.IMAGE, "deactivate"): "reactivate",
    (BulkKind.IMAGE, "reactivate"): "deactivate",
}
"""What takes an action back, of things that are no instances."""


@require_POST
@page("bulk_jobs:write")
def bulk_job_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Begin the job; for what destroys or interrupts first the page that names the instances and asks."""
    kind = bulk_kind_of(request.POST.get("kind", BulkKind.INSTANCE.value))
    rule = bulk_action_of(request.POST.get("action", ""), kind)
    require(caller, rule.policy)
    ids = _chosen(request, caller, kind)
    if rule.question or rule.takes_note:
        word, typed = word_to_type(rule, count=len(ids)), request.POST.get("word", "").strip()
        is_asked = request.POST.get("confirm") == str(len(ids))
        if not is_asked or (word and typed.lower() != word):
            warning = _("Nothing was done: type %(word)s to confirm.") % {"word": word} if is_asked else ""
            return _ask(request, caller, rule, ids, warning)
    note = request.POST.get("note", "") if rule.takes_note else ""
    job = bulk_job_create(caller=caller, action=rule.name, kind=kind, ids=ids, confirmed=len(ids), note=note)
    return redirect("bulk-job", job_id=job.pk)


def _chosen(request: HttpRequest, caller: Caller, kind: BulkKind) -> list[uuid.UUID]:
    """The boxes that were ticked, the ids that were asked about, or all that the list's filters match."""
    if request.POST.get("everything") == "1":
        return _matching(caller, kind, request.POST.get("filters", "")[:MAX_QUERY])
    texts = [*request.POST.getlist("item"), *request.POST.get("ids", "").split()]
    found = [parse_uuid(text) for text in texts]
    if None in found:
        text = _("One of the chosen %(things)s has no id.")
        raise Invalid(text % {"things": translated(NOUNS[kind].plural)}, field="item")
    return list(dict.fromkeys(one for one in found if one is not None))


def _matching(caller: Caller, kind: BulkKind, text: str) -> list[uuid.UUID]:
    """All that the list shows for this query, those without a row yet first; one more than a job takes tells that
    there are too many.
    """
    declared = LISTED[kind]
    query, limit = ListQuery(declared, caller, QueryDict(text)), server_options().bulk_job_max_items + 1
    if query.errors:
        raise Invalid(" ".join(query.errors.values()), field="filters")
    ahead = declared.ahead(caller, query.asked) if declared.ahead else None
    ids = [one.pk for one in ahead.between(0, limit)] if ahead else []
    ids += query.rows.prefetch_related(None).values_list("pk", flat=True)[:limit]
    return list(dict.fromkeys(ids))[:limit]


def _ask(request: HttpRequest, caller: Caller, rule: BulkRule, ids: Sequence[uuid.UUID], warning: str) -> HttpResponse:
    size_require(rule.noun, len(ids))
    names = THINGS[rule.kind].names(caller, ids)
    context = {
        "rule": rule,
        "list": LISTED[rule.kind],
        "counted": rule.noun.counted(len(ids), _),
        "note": request.POST.get("note", ""),
        "names": [names.get(one, str(one)) for one in ids[:MAX_NAMED]],
        "unnamed": max(0, len(ids) - MAX_NAMED),
        "count": len(ids),
        "ids": " ".join(map(str, ids)),
        "word": word_to_type(rule, count=len(ids)),
        "warning": warning,
    }
    return show(request, caller, "dashboard/bulk_jobs/confirm.html", "bulk-jobs", **context)


@require_safe
@page("bulk_jobs:read")
def bulk_job_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The caller's jobs, of administrators everybody's, the newest first. A constant number of queries."""
    return list_response(request, caller, BULK_JOBS)


@require_safe
@page("bulk_jobs:read")
def bulk_job_detail(request: HttpRequest, caller: Caller, job_id: uuid.UUID) -> HttpResponse:
    """How far it is, and what became of each thing; asks again while something is under way."""
    job = bulk_job_get(caller=caller, job_id=job_id)
    state = filter_text(request, "state")
    here = Paginator(bulk_items(job=job, state=state), PAGE_SIZE).get_page(request.GET.get("page"))
    progress = bulk_progress([job.pk])[job.pk]
    context = {
        "job": job,
        "rule": job.rule,
        "place": PLACES.get(BulkKind(job.kind), ""),
        "progress": progress,
        "page": here,
        "state": state,
        "states": [(one.value, getattr(progress, one.value)) for one in BulkItemState],
        "is_own": job.user_id == caller.user_id and job.project_id == caller.own_project_id and caller.can_write,
        "may_cancel": caller.can_write,
        "is_live": progress.is_open,
        "watch": BULK_JOBS.watch_of(caller),
        "opposite": None if progress.is_open else _opposite(caller, job),
    }
    template = "dashboard/bulk_jobs/live.html" if is_htmx(request) else "dashboard/bulk_jobs/detail.html"
    return show(request, caller, template, "bulk-jobs", **context)


@require_POST
@page("bulk_jobs:write")
def bulk_job_act(request: HttpRequest, caller: Caller, job_id: uuid.UUID) -> HttpResponse:
    """Try again what failed, cancel what has not begun, or take back what was done; the job's page shows what was
    refused.
    """
    action = request.POST.get("action", "")
    if action == "undo":
        return _undo(request, caller, bulk_job_get(caller=caller, job_id=job_id))
    services = {"retry": bulk_job_retry, "cancel": bulk_job_cancel}
    if action not in services:
        raise Invalid(_("The action is none of retry, cancel and undo."), field="action")
    try:
        services[action](caller=caller, job_id=job_id)
    except (Conflict, Forbidden) as error:
        _refused(request, error)
    return redirect("bulk-job", job_id=job_id)


def _opposite(caller: Caller, job: Any) -> BulkRule | None:
    """The action for many that takes this one back, if the caller may ask for it."""
    kind = BulkKind(job.kind)
    if kind is not BulkKind.INSTANCE:
        name = OPPOSITES_OF_OTHERS.get((kind, job.action), "")
    elif job.action == DELETE.name and server_options().reclaim_instance_interval_s > 0:
        name = RESTORE.name
    else:
        name = OPPOSITES[job.action].name if job.action in OPPOSITES else ""
    found = BULK_RULES[kind].get(name)
    return found if found is not None and allows(caller, found.policy) else None


def _undo(request: HttpRequest, caller: Caller, job: Any) -> HttpResponse:
    """Another job that does the opposite to all that this one did; for what interrupts first the question."""
    rule = _opposite(caller, job)
    if rule is None:
        raise Invalid(_("What this job did has no opposite."), field="action")
    ids = list(bulk_items(job=job, state=BulkItemState.DONE).values_list("subject", flat=True))
    if not ids:
        raise Invalid(_("It did nothing that could be taken back."), field="action")
    if rule.question or rule.takes_note:
        return _ask(request, caller, rule, ids, "")
    made = bulk_job_create(caller=caller, action=rule.name, kind=rule.kind, ids=ids, confirmed=len(ids))
    return redirect("bulk-job", job_id=made.pk)


def _refused(request: HttpRequest, error: KilonovaError) -> None:
    messages.error(request, refusal_text(error), extra_tags="bad")
