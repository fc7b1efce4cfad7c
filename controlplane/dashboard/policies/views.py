"""Pages of the scheduler's policies, for admins: all versions, one of them, two against each other, a preview."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from controlplane.dashboard.pages import filter_text, is_htmx, page, show
from controlplane.dashboard.policies.differences import DifferenceTable, difference_table, policy_differences
from controlplane.dashboard.policies.editor import PolicyEditor, filter_rows, stray_errors, weigher_rows
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid, InvalidFields, KilonovaError
from controlplane.kernel.ids import parse_uuid
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

PAGE_SIZE = 25
RESULTS_SHOWN = 20
PREVIEW_LAST = 50
AGREEMENTS = {
    Agreement.SAME.value: "same hosts",
    Agreement.ELSEWHERE.value: "elsewhere",
    Agreement.WOULD_FAIL.value: "would fail",
    Agreement.WOULD_SUCCEED.value: "would succeed",
    Agreement.BOTH_FAIL.value: "both fail",
    "error": "could not run",
}
TONES = {Agreement.WOULD_FAIL.value: "bad", "error": "bad", Agreement.ELSEWHERE.value: "warn", "same": "good"}
TONES |= {Agreement.WOULD_SUCCEED.value: "good"}


@require_safe
@page("policies:read")
def policy_list_view(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Every version, the newest of each name first, and which one counts."""
    choices = list(policy_list())
    here = Paginator(choices, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": here,
        "active": next((row for row in choices if row.active), None),
        "choices": choices,
        "name": "default",
    }
    return show(request, caller, "dashboard/policy_list.html", "policies", **context)


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


def _previewed(policy_id: UUID, raw: str) -> dict[str, Any]:
    """What the replay found: what differs, and what does not, apart."""
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 6):
        return {"refused": {"last": [f"Must be a whole number from 1 to {MAX_DECISIONS}."]}}
    try:
        found: PolicyPreview = policy_preview(policy_id=policy_id, last=int(raw))
    except InvalidFields as error:
        return {"refused": error.errors}
    except KilonovaError as error:
        return {"refused": {error.field or "": [error.message]}}
    alike = {Agreement.SAME.value, Agreement.BOTH_FAIL.value}
    return {
        "found": found,
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
        return None, error.message


def _side(reference: str) -> tuple[str, Policy | None, str]:
    """(label, policy, problem) of one side of a comparison. Raises NotFound."""
    if reference == DEFAULTS:
        return DEFAULTS, _defaults(), ""
    uuid = parse_uuid(reference)
    if uuid is None:
        return reference[:80], None, "there is no such version."
    row = policy_get(policy_id=uuid)
    return (row.label, *_policy(row))
