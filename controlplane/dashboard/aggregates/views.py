"""One aggregate: its page, its editor with the effect before the save, and its end. For admins."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from controlplane.audit_log.selectors import audit_entries_of
from controlplane.dashboard.aggregates.editor import WHICH, AggregateEditor, draft_digest
from controlplane.dashboard.aggregates.host_picker import host_picker, tick_matching
from controlplane.dashboard.form_errors import reasons_by_field
from controlplane.dashboard.pages import LONGEST_FILTER, filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError, NotFound
from controlplane.kernel.moments import in_utc
from controlplane.kernel.natural import natural_key
from controlplane.kernel.texts import gettext_noop
from scheduling.domain.policy import Policy
from scheduling.fleet.domain.aggregate_keys import KNOWN_KEYS, readers_of
from scheduling.fleet.selectors.aggregates import aggregate_get, hosts_of_aggregate
from scheduling.fleet.selectors.zones import zones_named
from scheduling.fleet.services.aggregates import aggregate_create_whole, aggregate_delete, aggregate_save
from scheduling.policies.selectors.policies import policy_active
from scheduling.whatif.domain.aggregate_effect import AggregateDraft
from servers.trials.aggregate_trial import aggregate_trial

SECTION = "aggregates"
PROPOSED = gettext_noop("It is filled in as the advice says. Nothing is saved before “Save”.")
MEMBERS_A_PAGE = 100
BLANK_ROWS = 2


@require_safe
@page("aggregates:read")
def aggregate_detail(request: HttpRequest, caller: Caller, aggregate_id: uuid.UUID) -> HttpResponse:
    """Its hosts, its metadata with who reads it, and who changed it."""
    aggregate, policy = aggregate_get(aggregate_id=aggregate_id), policy_active()
    hosts = sorted(hosts_of_aggregate(aggregate_id=aggregate_id), key=natural_key)
    context = {
        "aggregate": aggregate,
        "page": Paginator(hosts, MEMBERS_A_PAGE).get_page(request.GET.get("page")),
        "metadata": [(key, value, _readers(key, value, policy)) for key, value in sorted(aggregate.metadata.items())],
        "policy": policy.version,
        "audit_entries": audit_entries_of(kind="aggregate", ids=[str(aggregate.pk)]),
    }
    return show(request, caller, "dashboard/aggregates/detail.html", SECTION, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("aggregates:write")
def aggregate_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A new one, with hosts and metadata at once."""
    if request.method != "POST":
        return _shown(request, caller, None, AggregateEditor(zone=filter_text(request, "zone")))
    return _posted(request, caller, None, AggregateEditor.from_post(request.POST, frozenset()))


@require_http_methods(["GET", "HEAD", "POST"])
@page("aggregates:write")
def aggregate_edit(request: HttpRequest, caller: Caller, aggregate_id: uuid.UUID) -> HttpResponse:
    """The editor of one that exists."""
    aggregate = aggregate_get(aggregate_id=aggregate_id)
    members = hosts_of_aggregate(aggregate_id=aggregate_id)
    if request.method != "POST":
        since = aggregate.updated_at.isoformat()
        editor = AggregateEditor.from_stored(aggregate.name, aggregate.metadata, members, since)
        return _shown(
            request, caller, aggregate, editor, notice=gettext(PROPOSED) if editor.propose(request.GET) else ""
        )
    return _posted(request, caller, aggregate, AggregateEditor.from_post(request.POST, members))


@require_POST
@page("aggregates:write")
def aggregate_delete_view(request: HttpRequest, caller: Caller, aggregate_id: uuid.UUID) -> HttpResponse:
    """Delete one without hosts; one with hosts stays, and its page says so."""
    name = aggregate_get(aggregate_id=aggregate_id).name
    try:
        aggregate_delete(aggregate_id=aggregate_id)
    except NotFound:
        raise
    except KilonovaError as error:
        messages.error(request, refusal_text(error), extra_tags="bad")
        return redirect("aggregate", aggregate_id=aggregate_id)
    messages.success(request, gettext("%(name)s was deleted.") % {"name": name}, extra_tags="good")
    return redirect("aggregates")


@require_safe
@page("aggregates:write")
def metadata_hint(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Who reads one key, for the row of the editor that asks."""
    key, value = (request.GET.get(name, "").strip()[:LONGEST_FILTER] for name in ("spec_key", "spec_value"))
    readers = _readers(key, value, policy_active()) if key else ()
    return show(request, caller, "dashboard/aggregates/readers.html", SECTION, readers=readers)


def _posted(request: HttpRequest, caller: Caller, aggregate: Any, editor: AggregateEditor) -> HttpResponse:
    """What the pressed button says. Only "save" writes, and only what was shown with its effect."""
    do, _, rest = request.POST.get("do", "effect").partition(":")
    if do == "page" and rest.isascii() and rest.isdecimal() and len(rest) < 6:
        editor.page = int(rest)
        return _shown(request, caller, aggregate, editor)
    if do in ("filter", "more"):
        editor.page = 1 if do == "filter" else editor.page
        return _shown(request, caller, aggregate, editor, rows=BLANK_ROWS * (2 if do == "more" else 1))
    if do in ("tick", "untick"):
        return _shown(request, caller, aggregate, editor, notice=tick_matching(editor, is_in=do == "tick"))
    draft = editor.draft()
    if editor.problems:
        return _shown(request, caller, aggregate, editor)
    if do == "save" and editor.seen == draft_digest(draft):
        return _saved(request, caller, aggregate, editor, draft)
    notice = gettext("Something was changed since: this is the effect now.") if do == "save" and editor.seen else ""
    return _with_effect(request, caller, aggregate, editor, draft, with_room=do == "room", notice=notice)


def _saved(
    request: HttpRequest, caller: Caller, aggregate: Any, editor: AggregateEditor, draft: AggregateDraft
) -> HttpResponse:
    try:
        if aggregate is None:
            saved = aggregate_create_whole(name=draft.name, metadata=draft.metadata, hosts=draft.hosts_added)
        else:
            saved = aggregate_save(
                aggregate_id=aggregate.pk,
                name=draft.name,
                metadata=draft.metadata,
                hosts_added=draft.hosts_added,
                hosts_removed=draft.hosts_removed,
                unchanged_since=_moment(editor.since),
            )
    except NotFound as error:
        if error.field is None:
            raise
        editor.problems = reasons_by_field(error)
    except KilonovaError as error:
        editor.problems = reasons_by_field(error)
    else:
        said = gettext("%(name)s was changed.") if aggregate else gettext("%(name)s was created.")
        messages.success(request, said % {"name": saved.name}, extra_tags="good")
        there = reverse("aggregate", args=[saved.pk])
        return HttpResponseClientRedirect(there) if is_htmx(request) else redirect(there)
    return _shown(request, caller, aggregate, editor)


def _with_effect(
    request: HttpRequest,
    caller: Caller,
    aggregate: Any,
    editor: AggregateEditor,
    draft: AggregateDraft,
    *,
    with_room: bool,
    notice: str,
) -> HttpResponse:
    aggregate_id = aggregate.pk if aggregate else None
    try:
        effect = aggregate_trial(
            caller=caller, aggregate_id=aggregate_id, draft=draft, with_room=with_room, translate=gettext
        )
    except NotFound:
        raise
    except KilonovaError as error:
        editor.problems = reasons_by_field(error)
        return _shown(request, caller, aggregate, editor)
    editor.seen = "" if effect["clash_count"] else draft_digest(draft)
    return _shown(request, caller, aggregate, editor, effect=effect, notice=notice)


def _shown(
    request: HttpRequest,
    caller: Caller,
    aggregate: Any,
    editor: AggregateEditor,
    *,
    effect: dict[str, Any] | None = None,
    notice: str = "",
    rows: int = BLANK_ROWS,
) -> HttpResponse:
    policy = policy_active()
    picker = host_picker(editor, aggregate.pk if aggregate else None)
    context = {
        "aggregate": aggregate,
        "editor": editor,
        "picker": picker,
        "effect": effect,
        "notice": notice,
        "which": WHICH,
        "zones": zones_named(),
        "known_keys": KNOWN_KEYS,
        "policy": policy.version,
        "rows": [(key, value, _readers(key, value, policy) if key else ()) for key, value in editor.pairs]
        + [("", "", ())] * rows,
        "there": reverse("aggregate-edit", args=[aggregate.pk]) if aggregate else reverse("aggregate-new"),
        "is_wrong": bool(editor.problems),
    }
    template = "dashboard/aggregates/editor.html" if is_htmx(request) else "dashboard/aggregates/edit.html"
    return show(request, caller, template, SECTION, **context)


def _readers(key: str, value: str, policy: Policy) -> Sequence[Mapping[str, object]]:
    """Who reads a key and what it does there, in the reader's language."""
    return [one.plain(gettext) for one in readers_of(key, value, policy)]


def _moment(text: str) -> datetime | None:
    """When the form was opened; None for what is no moment, as a program may send it."""
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        return None
