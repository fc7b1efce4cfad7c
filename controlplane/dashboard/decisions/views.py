"""Pages of scheduling decisions: the verdict, the funnel, why not a host, the scores, replay and what would help."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from controlplane.dashboard.decisions.funnel import asked_for, funnel, placed_instances, time_steps
from controlplane.dashboard.decisions.listing import DECISIONS, OUTCOMES
from controlplane.dashboard.decisions.refused_hosts import RefusedHosts, RefusedQuery, rule_counts
from controlplane.dashboard.decisions.score_table import score_table
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.natural import natural_key
from scheduling.decisions.selectors.context import decision_context
from scheduling.decisions.selectors.decisions import DecisionContent, decision_content, decision_get
from scheduling.decisions.services.replay import decision_replay
from scheduling.domain.trace.explanation import Explanation, why_not
from servers.instances.selectors.request_people import people_of_requests
from servers.instances.selectors.work_subjects import subject_names
from servers.trials.decision_help import decision_help

HOSTS_PAGE_SIZE = 25
SCORES_PAGE_SIZE = 25
INSTANCES_PAGE_SIZE = 25
NAMES_OFFERED = 100
LONGEST_ROUND = 5
# The part of the page that htmx asks for alone.
LISTS = "decision-lists"


@require_safe
@page("decisions:read")
def decision_list_view(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """The newest first. A page costs a constant number of queries."""
    return list_response(request, caller, DECISIONS, outcomes=OUTCOMES)


@require_safe
@page("decisions:read")
def decision_detail(request: HttpRequest, caller: Caller, decision_id: uuid.UUID) -> HttpResponse:
    """One decision; `?round=` is which instance of the batch. For admins `?host=` asks why not that host, and lists of
    refused hosts and of scores are filtered, sorted and paged. A part of the page may be asked for alone.
    """
    decision = decision_get(caller=caller, decision_id=decision_id)
    content = decision_content(decision=decision)
    if caller.is_admin and _target(request) == LISTS:
        return show(request, caller, "dashboard/decision_lists.html", "decisions", **_lists(request, decision, content))
    return _whole(request, caller, decision, content)


@require_POST
@page("decisions:read_all")
def decision_replay_view(request: HttpRequest, caller: Caller, decision_id: uuid.UUID) -> HttpResponse:
    """Run it again on the fleet that it saw, and say whether the answer is the same. Claims nothing."""
    started = time.monotonic()
    report = decision_replay(caller=caller, decision_id=decision_id)
    context = {"replay": report, "replay_seconds": time.monotonic() - started}
    return _answered(request, caller, decision_id, "dashboard/decision_replay.html", context)


@require_POST
@page("schedule:explain")
def decision_help_view(request: HttpRequest, caller: Caller, decision_id: uuid.UUID) -> HttpResponse:
    """What would make the request fit now; with `host` (admins) on that host. Writes nothing."""
    asked = request.POST.get("host", "").replace("\x00", "").strip()[:255]
    context: dict[str, Any] = {"help_host": asked}
    try:
        context["help"] = decision_help(caller=caller, decision_id=decision_id, host=asked or None)
    except KilonovaError as error:
        if error.field != "host":
            raise
        context["help_error"] = refusal_text(error)
    return _answered(request, caller, decision_id, "dashboard/decision_help.html", context)


def _answered(
    request: HttpRequest, caller: Caller, decision_id: uuid.UUID, template: str, context: dict[str, Any]
) -> HttpResponse:
    """The answer alone for htmx; in the page for a browser without JavaScript."""
    decision = decision_get(caller=caller, decision_id=decision_id)
    if is_htmx(request):
        return show(request, caller, template, "decisions", decision=decision, redacted=not caller.is_admin, **context)
    return _whole(request, caller, decision, decision_content(decision=decision), context)


def _whole(
    request: HttpRequest, caller: Caller, decision: Any, content: DecisionContent, more: Mapping[str, Any] | None = None
) -> HttpResponse:
    redacted = not caller.is_admin
    context: dict[str, Any] = {
        **_address(decision),
        "outcomes": OUTCOMES,
        "verdict": decision.verdict_redacted if redacted else decision.verdict,
        "redacted": redacted,
        "asked": content.request,
        "rules": [] if content.trace is None else rule_counts(content.trace),
        "nearest": None if content.trace is None else content.trace.nearest,
        "times": time_steps(decision.timings_us, decision.duration_us),
        "asked_by": people_of_requests({decision.request_id}).get(decision.request_id, ""),
        "subject": _subject(decision),
        **_round(request, decision, content),
        **_instances(request, decision, content, redacted=redacted),
        **(more or {}),
    }
    if not redacted:
        context |= _for_operators(request, decision, content)
    return show(request, caller, "dashboard/decision_detail.html", "decisions", **context)


def _subject(decision: Any) -> str:
    """The name of the first instance that it was about; empty where none is known any more."""
    first = next(iter(decision.instances.all()), None)
    names = subject_names(ids=[first.instance_uuid]) if first is not None else {}
    return next((name for name, _ in names.values()), "")


def _for_operators(request: HttpRequest, decision: Any, content: DecisionContent) -> dict[str, Any]:
    return {
        "around": decision_context(decision=decision),
        "narrowed": asked_for(content.request),
        "lost_claims": content.lost_claims,
        "notes": () if content.trace is None else content.trace.notes,
        **_lists(request, decision, content),
        **_why_not(request, content),
    }


def _lists(request: HttpRequest, decision: Any, content: DecisionContent) -> dict[str, Any]:
    """Refused hosts and scores, which share one part of the page and so one address."""
    return {**_address(decision), **_refused(request, content), **_scores(request, content)}


def _address(decision: Any) -> dict[str, Any]:
    """Where links of the page lead to, also where it is the answer to a form."""
    return {"decision": decision, "decision_path": reverse("decision", args=[decision.pk])}


def _target(request: HttpRequest) -> str:
    """Which part of the page htmx asks for; empty for all of it."""
    htmx = getattr(request, "htmx", None)
    return (htmx.target or "") if htmx else ""


def _round_number(request: HttpRequest) -> int:
    raw = request.GET.get("round", "1")
    return int(raw) if raw.isascii() and raw.isdecimal() and len(raw) <= LONGEST_ROUND else 1


def _round(request: HttpRequest, decision: Any, content: DecisionContent) -> dict[str, Any]:
    """The funnel of one round, and the instances whose rounds there are."""
    rounds = () if content.trace is None else content.trace.rounds
    number = _round_number(request)
    chosen = rounds[number - 1] if 0 < number <= len(rounds) else None
    return {
        "round_number": number,
        "rounds": [each.instance_uuid for each in rounds],
        "funnel": [] if chosen is None else funnel(chosen, decision.host_count),
    }


def _instances(request: HttpRequest, decision: Any, content: DecisionContent, *, redacted: bool) -> dict[str, Any]:
    """Who got what, a page of it. Tenants see their instances without hosts."""
    rows = list(decision.instances.all())
    hosts = {} if redacted else {str(one.instance_uuid): one.host for one in rows if one.host}
    trace = None if redacted else content.trace
    placements = placed_instances([str(one.instance_uuid) for one in rows], trace, hosts)
    return {"instances": Paginator(placements, INSTANCES_PAGE_SIZE).get_page(request.GET.get("ipage"))}


def _refused(request: HttpRequest, content: DecisionContent) -> dict[str, Any]:
    """Refused hosts by reason: those asked for, a page of them."""
    query = RefusedQuery(filter_text(request, "stage"), filter_text(request, "reason"), filter_text(request, "name"))
    if content.trace is None:
        return {"refused_wish": query, "refused_rules": [], "refused_groups": [], "refused": None}
    found = RefusedHosts(content.trace, query)
    here = Paginator(found, HOSTS_PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "refused_wish": query,
        "refused_rules": found.counts,
        "refused_stages": list(dict.fromkeys(one.stage for one in found.counts)),
        "refused_reasons": sorted({(one.reason.value, one.reason.label) for one in found.counts}),
        "refused_groups": found.grouped(list(here)),
        "refused": here,
    }


def _scores(request: HttpRequest, content: DecisionContent) -> dict[str, Any]:
    """The scores of one round, sorted as asked, a page of them."""
    number = _round_number(request)
    table = score_table(content.trace, number, ranked=content.ranked, sort=filter_text(request, "sort"))
    here = None if table is None else Paginator(table, SCORES_PAGE_SIZE).get_page(request.GET.get("spage"))
    left = _left(content, number)
    return {
        "scores": table,
        "scores_page": here,
        "scores_stored": content.rows_stored,
        "left": left,
        "round_number": number,
    }


def _left(content: DecisionContent, number: int) -> int:
    """How many hosts passed every filter in this round."""
    rounds = () if content.trace is None else content.trace.rounds
    stages = rounds[number - 1].stages if 0 < number <= len(rounds) else ()
    return stages[-1].hosts_out if stages else 0


def _why_not(request: HttpRequest, content: DecisionContent) -> dict[str, Any]:
    """The answer for one host, and names to ask for."""
    asked = filter_text(request, "host")
    if content.trace is None:
        return {"asked_host": asked, "answer": None, "host_names": ()}
    names = sorted(dict.fromkeys(content.trace.hosts[:NAMES_OFFERED]), key=natural_key)
    answer: Explanation | None = why_not(content.trace, asked) if asked else None
    return {"asked_host": asked, "answer": answer, "host_names": names}
