"""Pages of scheduling decisions: the verdict, the funnel, why not a host, the scores."""

import uuid

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.views.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from scheduling.selectors.decision_report import decision_report, explanation_report
from scheduling.selectors.decisions import decision_get, decision_list, decision_why_not

PAGE_SIZE = 25
OUTCOMES = [("selected", "Selected"), ("no_valid_host", "No valid host"), ("error", "Error")]


@require_safe
@page("decisions:read")
def decision_list_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The newest first."""
    rows = decision_list(caller=caller)
    if outcome := request.GET.get("outcome", ""):
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
    raw_round = request.GET.get("round", "1")
    number = int(raw_round) if raw_round.isdecimal() and len(raw_round) < 6 else 1
    report = decision_report(decision=decision, redacted=redacted, round_number=number)
    rounds = report["rounds"]
    context = {
        "decision": decision,
        "verdict": decision.verdict_redacted if redacted else decision.verdict,
        "report": report,
        "redacted": redacted,
        "round": rounds[number - 1] if 0 < number <= len(rounds) else None,
        "round_number": number,
        "asked": (asked := request.GET.get("host", "").strip()),
        "answer": None,
    }
    if scores := report.get("scores"):
        context["weigher_names"] = [name.removesuffix("Weigher") for name in scores["hosts"][0]["weighers"]]
    if asked and not redacted:
        try:
            context["answer"] = explanation_report(decision_why_not(decision=decision, host=asked))
        except NotFound as error:
            context["answer"] = {"sentence": error.message}
    return show(request, caller, "dashboard/decision_detail.html", "decisions", **context)
