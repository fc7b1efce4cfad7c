"""Pages of the scheduler's policies, for admins: all versions, one of them, two against each other, a preview."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from controlplane.audit_log.selectors import audit_entries_of
from controlplane.dashboard.form_errors import reasons_by_field
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.policies.differences import DifferenceTable, difference_table, policy_differences
from controlplane.dashboard.policies.editor import PolicyEditor, filter_rows, stray_errors, weigher_rows
from controlplane.dashboard.policies.listing import POLICIES
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Invalid, InvalidFields, KilonovaError, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import gettext_noop
from scheduling.domain.policy import Policy
from scheduling.policies.domain.comparison import Agreement
from scheduling.policies.selectors.policies import (
    DEFAULTS,
    active_id,
    policy_get,
    policy_list,
    policy_of_body,
    policy_of_row,
)
from scheduling.policies.selectors.preview import MAX_DECISIONS, PolicyPreview, policy_preview
from scheduling.policies.selectors.shadow import shadow_report, shadow_results
from scheduling.policies.services.steps import policy_steps_for
from servers.catalog.selectors.flavor import flavors_visible
from servers.trials.policy_batch import policy_batch_trial
from servers.trials.schedule_trial import TrialWanted

RESULTS_SHOWN = 20
PREVIEW_LAST = 50
AGREEMENTS = {
    Agreement.SAME.value: gettext_noop("same hosts"),
    Agreement.ELSEWHERE.value: gettext_noop("elsewhere"),
    Agreement.WOULD_FAIL.value: gettext_noop("would fail"),
    Agreement.WOULD_SUCCEED.value: gettext_noop("would succeed"),
    Agreement.BOTH_FAIL.value: gettext_noop("both fail"),
    "error": gettext_noop("could not run"),
}
TONES = {Agreement.WOULD_FAIL.value: "bad", "error": "bad", Agreement.ELSEWHERE.value: "warn", "same": "good"}
TONES |= {Agreement.WOULD_SUCCEED.value: "good"}


@require_safe
@page("policies:read")
def policy_list_view(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every version, the newest of each name first, and which one counts."""
    choices = list(policy_list())
    active = next((row for row in choices if row.active), None)
    return list_response(request, caller, POLICIES, choices=choices, active=active)


@require_safe
@page("policies:read")
def policy_detail(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """One version: its rules, what can be done with it, what it found as shadow."""
    return policy_page(request, caller, policy_id)


def policy_page(
    request: HttpRequest, caller: Caller, policy_id: UUID, problems: Mapping[str, list[str]] | None = None
) -> HttpResponse:
    """The page of one version, with problems (by field) where a step found some."""
    row = policy_get(policy_id=policy_id)
    editor = PolicyEditor.from_body(row.body)
    editor.add_problems(problems or {})
    policy, _ = _policy(row)
    context = {
        "policy": row,
        "filters": filter_rows(editor),
        "weighers": weigher_rows(editor),
        "table": _table(_defaults(), policy) if policy else None,
        "unreadable": policy is None,
        "body": json.dumps(row.body, indent=2),
        "problems": problems or {},
        "stray": stray_errors(editor),
        "steps": policy_steps_for(row),
        "active_id": active_id(),
        "report": shadow_report(policy_id=row.pk),
        "results": list(shadow_results(policy_id=row.pk)[:RESULTS_SHOWN]),
        "agreements": AGREEMENTS,
        "tones": TONES,
        "audit_entries": audit_entries_of(kind="policy", ids=[str(row.pk)]),
    }
    return show(request, caller, "dashboard/policy_detail.html", "policies", **context)


@require_safe
@page("policies:read")
def policy_compare(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Two versions, or one and the defaults, setting by setting."""
    old, new = filter_text(request, "old") or DEFAULTS, filter_text(request, "new") or DEFAULTS
    context: dict[str, Any] = {"old": old, "new": new, "choices": list(policy_list())}
    sides = [_side(reference) for reference in (old, new)]
    context |= {"old_label": sides[0][0], "new_label": sides[1][0]}
    wrong = [f"{label}: {problem}" for label, policy, problem in sides if policy is None]
    if wrong:
        context["refused"] = wrong
    else:
        context["table"] = _table(*(policy for _, policy, _ in sides if policy is not None))
    return show(request, caller, "dashboard/policy_compare.html", "policies", **context)


@require_safe
@page("policies:read")
def policy_preview_view(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """How the last decisions would have gone under this version. The page comes first, the replay after it."""
    row = policy_get(policy_id=policy_id)
    raw = filter_text(request, "last") or str(PREVIEW_LAST)
    is_later = not is_htmx(request) and request.GET.get("now") != "1"
    context: dict[str, Any] = {"policy": row, "last": raw, "maximum": MAX_DECISIONS, "is_later": is_later}
    context |= {"agreements": AGREEMENTS, "tones": TONES}
    if not is_later:
        context |= _previewed(row.pk, raw)
    template = "dashboard/policy_preview_table.html" if is_htmx(request) else "dashboard/policy_preview.html"
    return show(request, caller, template, "policies", **context)


@require_safe
@page("policies:read")
def policy_batch_view(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """What this version makes of a batch, beside the active one: recent requests, or so many of one flavor."""
    row = policy_get(policy_id=policy_id)
    context: dict[str, Any] = {"policy": row, "flavors": flavors_visible(caller=caller).filter(disabled=False)}
    asked = {name: filter_text(request, name) for name in ("flavor", "count", "last")}
    context |= {"asked": {**asked, "count": asked["count"] or "40", "last": asked["last"] or str(PREVIEW_LAST)}}
    if is_htmx(request) or request.GET.get("run") == "1":
        context |= _batched(caller, row.pk, context["asked"])
    template = "dashboard/policy_batch_table.html" if is_htmx(request) else "dashboard/policy_batch.html"
    return show(request, caller, template, "policies", **context)


def _batched(caller: Caller, policy_id: UUID, asked: Mapping[str, str]) -> dict[str, Any]:
    numbers = {name: whole_number(asked[name]) for name in ("count", "last")}
    wrong = [name for name, number in numbers.items() if number is None]
    if wrong:
        return {"refused": {name: [gettext("Must be a whole number.")] for name in wrong}}
    wanted = TrialWanted(flavor=asked["flavor"]) if asked["flavor"] else None
    count, last = numbers["count"] or 0, numbers["last"] or 0
    try:
        found = policy_batch_trial(caller=caller, policy_id=policy_id, last=last, wanted=wanted, count=count)
        return {**found, "rooms": _rooms(found["batch"])}
    except NotFound:
        raise
    except KilonovaError as error:
        return {"refused": reasons_by_field(error)}


def _rooms(batch: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The room of each flavor under both policies, side by side."""
    pairs = zip(batch["live"]["room"], batch["draft"]["room"], strict=True) if batch else ()
    return [{"flavor": one["flavor"], "live": one, "draft": other} for one, other in pairs]


def whole_number(text: str) -> int | None:
    """The number that was typed; None for what is none, or too long for one that is meant."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


def _previewed(policy_id: UUID, raw: str) -> dict[str, Any]:
    """What the replay found: what differs, and what does not, apart."""
    last = whole_number(raw)
    if last is None:
        return {
            "refused": {"last": [gettext("Must be a whole number from 1 to %(maximum)s.") % {"maximum": MAX_DECISIONS}]}
        }
    try:
        found: PolicyPreview = policy_preview(policy_id=policy_id, last=last)
    except InvalidFields as error:
        return {"refused": error.errors}
    except KilonovaError as error:
        return {"refused": {error.field or "": [refusal_text(error)]}}
    alike = {Agreement.SAME.value, Agreement.BOTH_FAIL.value}
    return {
        "found": found,
        "sides": (found.decided, found.previewed),
        "different": [case for case in found.cases if case.agreement not in alike],
        "alike": [case for case in found.cases if case.agreement in alike],
    }


def _table(old: Policy, new: Policy) -> DifferenceTable | None:
    """None where they do the same."""
    differences = policy_differences(old, new)
    return difference_table(differences) if differences else None


def _defaults() -> Policy:
    return policy_of_body({}, version=DEFAULTS)


def _policy(row: Any) -> tuple[Policy | None, str]:
    """What the scheduler makes of a row, or why it cannot."""
    try:
        return policy_of_row(row), ""
    except Invalid as error:
        return None, refusal_text(error)


def _side(reference: str) -> tuple[str, Policy | None, str]:
    """(label, policy, problem) of one side of a comparison. Raises NotFound."""
    if reference == DEFAULTS:
        return DEFAULTS, _defaults(), ""
    uuid = parse_uuid(reference)
    if uuid is None:
        return reference[:80], None, gettext("there is no such version.")
    row = policy_get(policy_id=uuid)
    return (row.label, *_policy(row))
