"""Pages of scheduling decisions: the verdict, the funnel, why not a host, the scores."""

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.score_table import score_table
from controlplane.dashboard.views.pages import filter_text, page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from scheduling.selectors.decision_report import decision_report, explanation_report
from scheduling.selectors.decisions import decision_get, decision_list, decision_why_not

PAGE_SIZE = 25
REFUSED_SHOWN = 100
OUTCOMES = {"selected": "Host chosen", "no_valid_host": "No valid host", "error": "Error"}


@require_safe
@page("decisions:read")
def decision_list_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The newest first."""
    rows = decision_list(caller=caller)
    if outcome := filter_text(request, "outcome"):
        rows = rows.filter(outcome=outcome)
    here = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": here, "outcome": outcome, "outcomes": OUTCOMES, "redacted": not caller.is_admin}
    return show(request, caller, "dashboard/decision_list.html", "decisions", **context)


@require_safe
@page("decisions:read")
def decision_detail(request: HttpRequest, caller: Caller, decision_id: uuid.UUID) -> HttpResponse:
    """One decision; `?host=` asks why not that host (admins), `?round=` which instance of the batch."""
    decision = decision_get(caller=caller, decision_id=decision_id)
    redacted = not caller.is_admin
    number = _round_number(request)
    report = decision_report(decision=decision, redacted=redacted, round_number=number)
    context = {
        "decision": decision,
        "outcomes": OUTCOMES,
        "verdict": decision.verdict_redacted if redacted else decision.verdict,
        "report": report,
        "redacted": redacted,
        "round_number": number,
        "alternates": {one["instance_uuid"]: one["alternates"] for one in report.get("selections", ())},
        "scores": score_table(report.get("scores")),
        **_stages(report["rounds"], number),
        **_refused(report.get("hosts", [])),
        **({} if redacted else _answer(decision, filter_text(request, "host"))),
    }
    return show(request, caller, "dashboard/decision_detail.html", "decisions", **context)


def _round_number(request: HttpRequest) -> int:
    raw = request.GET.get("round", "1")
    return int(raw) if raw.isascii() and raw.isdecimal() and len(raw) < 6 else 1


def _stages(rounds: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """The stages of one round, those that took hosts away apart from those that let all through."""
    if not 0 < number <= len(rounds):
        return {"round": None}
    stages = rounds[number - 1]["stages"]
    narrowing = [stage for stage in stages if stage["hosts_out"] < stage["hosts_in"]]
    idle = [stage for stage in stages if stage["hosts_out"] >= stage["hosts_in"]]
    hosts = {"hosts_first": stages[0]["hosts_in"], "hosts_last": stages[-1]["hosts_out"]} if stages else {}
    return {"round": rounds[number - 1], "narrowing": narrowing, "idle": idle, **hosts}


def _refused(hosts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"refused": hosts[:REFUSED_SHOWN], "refused_more": max(0, len(hosts) - REFUSED_SHOWN)}


def _answer(decision: Any, asked: str) -> dict[str, Any]:
    if not asked:
        return {"asked": "", "answer": ""}
    try:
        return {
            "asked": asked,
            "answer": explanation_report(decision_why_not(decision=decision, host=asked))["sentence"],
        }
    except NotFound as error:
        return {"asked": asked, "answer": error.message}
