"""The pages behind a version's links: each asks first, and does it when that is confirmed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from controlplane.kernel.errors import InvalidFields, KilonovaError, NotFound
from scheduling.models import SchedulerPolicy
from scheduling.policies.domain.states import PolicyState
from scheduling.policies.selectors.policies import active_id, policy_get
from scheduling.policies.selectors.preview import MOST_DECISIONS, PolicyPreview, policy_preview
from scheduling.policies.services.policies import (
    policy_activate,
    policy_retire,
    policy_rollback,
    policy_shadow_end,
    policy_shadow_start,
    policy_validate,
)


class ReplacesForm(forms.Form):
    """Compare and set: what was active when the page was shown."""

    replaces = forms.UUIDField(required=False, widget=forms.HiddenInput)


class ShareForm(forms.Form):
    """How much a shadow sees."""

    share = forms.FloatField(min_value=0.0, max_value=1.0, initial=0.1, help_text="Part of the requests, 0 to 1.")


class PreviewForm(forms.Form):
    """How many decisions are replayed."""

    last = forms.IntegerField(min_value=1, max_value=MOST_DECISIONS, initial=50, help_text="Decisions to replay.")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be done with a version in one of `states`."""

    title: str
    question: str
    act: Callable[[SchedulerPolicy, Mapping[str, Any]], str | PolicyPreview]
    states: frozenset[PolicyState]
    form: type[forms.Form] = forms.Form
    is_look: bool = False
    shadow: bool | None = field(default=None)


def _validate(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    verdict = policy_validate(policy_id=row.pk)
    if verdict.valid:
        return f"{row.label} has no problem and is {verdict.state}."
    raise InvalidFields({each.field: [each.message] for each in verdict.problems})


def _preview(row: SchedulerPolicy, given: Mapping[str, Any]) -> PolicyPreview:
    return policy_preview(policy_id=row.pk, last=given["last"])


def _activate(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    policy_activate(policy_id=row.pk, replaces=given["replaces"])
    return f"{row.label} counts from the next decision on."


def _roll_back(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    policy_rollback(policy_id=row.pk, replaces=given["replaces"])
    return f"Rolled back: {row.label} counts from the next decision on."


def _retire(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    policy_retire(policy_id=row.pk)
    return f"{row.label} is retired."


def _shadow(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    policy_shadow_start(policy_id=row.pk, share=given["share"])
    return f"{row.label} runs beside the active version on {given['share']:.0%} of the requests."


def _shadow_end(row: SchedulerPolicy, given: Mapping[str, Any]) -> str:
    policy_shadow_end(policy_id=row.pk)
    return f"{row.label} is no shadow any more."


DRAFT, VALIDATED, ACTIVE, RETIRED = (frozenset({state}) for state in PolicyState)
STEPS: Mapping[str, Step] = {
    "validate": Step("Validate", "Do all plug-ins load, and are all settings in range?", _validate, DRAFT | VALIDATED),
    "preview": Step(
        "Preview",
        "How would the last decisions have gone? Nothing is claimed.",
        _preview,
        frozenset(PolicyState),
        form=PreviewForm,
        is_look=True,
    ),
    "activate": Step(
        "Activate",
        "From the next decision on every request follows this version, and it never changes again.",
        _activate,
        VALIDATED,
        form=ReplacesForm,
    ),
    "rollback": Step(
        "Roll back to this version",
        "From the next decision on every request follows this older version again.",
        _roll_back,
        RETIRED,
        form=ReplacesForm,
    ),
    "shadow": Step(
        "Run as shadow",
        "It runs beside the active version, claims nothing, and never changes again. Another shadow ends.",
        _shadow,
        VALIDATED | RETIRED,
        form=ShareForm,
        shadow=False,
    ),
    "shadow-end": Step("End the shadow", "What it found stays.", _shadow_end, VALIDATED | RETIRED, shadow=True),
    "retire": Step(
        "Retire", "It is not wanted any more; if it is active, the defaults count.", _retire, VALIDATED | ACTIVE
    ),
}


def steps_for(row: SchedulerPolicy) -> list[str]:
    """What can be done with this version now."""
    return [
        name
        for name, step in STEPS.items()
        if PolicyState(row.state) in step.states and step.shadow in (None, row.shadow)
    ]


def step_view(
    model_admin: "admin.ModelAdmin[SchedulerPolicy]", request: HttpRequest, policy_id: UUID, name: str
) -> HttpResponseBase:
    """Ask; when confirmed, do it and say so. A refusal is shown on the same page."""
    row, step = _found(policy_id, name)
    may = model_admin.has_view_permission if step.is_look else model_admin.has_change_permission
    if not may(request):
        raise PermissionDenied
    form = step.form(request.POST if request.method == "POST" else None, initial={"replaces": active_id()})
    if request.method != "POST" or not form.is_valid():
        return _page(model_admin, request, row, step, form)
    try:
        answer = step.act(row, form.cleaned_data)
    except KilonovaError as error:
        return _page(model_admin, request, row, step, step.form(initial={"replaces": active_id()}), error=error)
    if isinstance(answer, PolicyPreview):
        return _page(model_admin, request, row, step, form, preview=answer)
    model_admin.message_user(request, answer, messages.SUCCESS)
    return HttpResponseRedirect(reverse("admin:scheduling_schedulerpolicy_change", args=[row.pk]))


def _found(policy_id: UUID, name: str) -> tuple[SchedulerPolicy, Step]:
    try:
        return policy_get(policy_id=policy_id), STEPS[name]
    except (NotFound, KeyError) as error:
        raise Http404 from error


def _page(
    model_admin: "admin.ModelAdmin[SchedulerPolicy]",
    request: HttpRequest,
    row: SchedulerPolicy,
    step: Step,
    form: forms.Form,
    *,
    error: KilonovaError | None = None,
    preview: PolicyPreview | None = None,
) -> TemplateResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "original": row,
        "title": f"{step.title}: {row.label}",
        "step": step,
        "form": form,
        "problems": _problems(error),
        "preview": preview,
    }
    return TemplateResponse(request, "admin/scheduling/policy/step.html", context)


def _problems(error: KilonovaError | None) -> list[tuple[str, str]]:
    """(field, sentence) of everything that was refused."""
    if isinstance(error, InvalidFields):
        return [(name, text) for name, texts in error.errors.items() for text in texts]
    return [] if error is None else [(error.field or "", error.message)]
