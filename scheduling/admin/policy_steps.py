"""The pages behind a version's links: each asks first, and does it when that is confirmed."""

from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from controlplane.infra.reader_texts import refusal_reasons
from controlplane.kernel.errors import KilonovaError, NotFound
from controlplane.kernel.texts import gettext_noop
from scheduling.models import SchedulerPolicy
from scheduling.policies.selectors.policies import active_id, policy_get
from scheduling.policies.selectors.preview import MAX_DECISIONS, PolicyPreview, policy_preview
from scheduling.policies.services.policies import ANYONE
from scheduling.policies.services.steps import (
    DELETE,
    POLICY_STEPS,
    PolicyStep,
    StepInput,
    policy_step_take,
    policy_steps_for,
)


class ReplacesForm(forms.Form):
    """Compare and set: what was active when the page was shown."""

    replaces = forms.UUIDField(required=False, widget=forms.HiddenInput)


class ShareForm(forms.Form):
    """How much a shadow sees."""

    share = forms.FloatField(
        min_value=0.0, max_value=1.0, initial=0.1, help_text=gettext_lazy("Part of the requests, 0 to 1.")
    )


class PreviewForm(forms.Form):
    """How many decisions are replayed."""

    last = forms.IntegerField(
        min_value=1, max_value=MAX_DECISIONS, initial=50, help_text=gettext_lazy("Decisions to replay.")
    )


PREVIEW = "preview"
PREVIEW_TITLE = gettext_noop("Preview")
PREVIEW_QUESTION = gettext_noop("How would the last decisions have gone? Nothing is claimed.")


def policy_admin_steps(row: SchedulerPolicy) -> dict[str, str]:
    """What can be done with this version now, by title: a preview on past decisions, and the steps of its life.

    Deletion is the admin's own.
    """
    steps = {verb: step.title for verb, step in policy_steps_for(row).items() if verb != DELETE}
    return {PREVIEW: PREVIEW_TITLE, **steps}


def _form(step: PolicyStep | None) -> type[forms.Form]:
    if step is None:
        return PreviewForm
    if step.wants_share:
        return ShareForm
    return ReplacesForm if step.wants_replaces else forms.Form


def step_view(
    model_admin: "admin.ModelAdmin[SchedulerPolicy]", request: HttpRequest, policy_id: UUID, name: str
) -> HttpResponseBase:
    """Ask; when confirmed, do it and say so. A refusal is shown on the same page."""
    row, step = _found(policy_id, name)
    may = model_admin.has_view_permission if step is None else model_admin.has_change_permission
    if not may(request):
        raise PermissionDenied
    form_class = _form(step)
    form = form_class(request.POST if request.method == "POST" else None, initial={"replaces": active_id()})
    if request.method != "POST" or not form.is_valid():
        return _page(model_admin, request, row, step, form)
    try:
        if step is None:
            preview = policy_preview(policy_id=row.pk, last=form.cleaned_data["last"])
            return _page(model_admin, request, row, step, form, preview=preview)
        given = StepInput(
            replaces=form.cleaned_data.get("replaces") if step.wants_replaces else ANYONE,
            share=form.cleaned_data.get("share", 0.0),
        )
        done = policy_step_take(verb=name, policy_id=row.pk, given=given)
    except KilonovaError as error:
        return _page(model_admin, request, row, step, form_class(initial={"replaces": active_id()}), error=error)
    model_admin.message_user(request, f"{row.label} {done}", messages.SUCCESS)
    return HttpResponseRedirect(reverse("admin:scheduling_schedulerpolicy_change", args=[row.pk]))


def _found(policy_id: UUID, name: str) -> tuple[SchedulerPolicy, PolicyStep | None]:
    """The version and the step; None is the preview, which changes nothing."""
    if name != PREVIEW and (name == DELETE or name not in POLICY_STEPS):
        raise Http404
    try:
        return policy_get(policy_id=policy_id), POLICY_STEPS.get(name)
    except NotFound as error:
        raise Http404 from error


def _page(
    model_admin: "admin.ModelAdmin[SchedulerPolicy]",
    request: HttpRequest,
    row: SchedulerPolicy,
    step: PolicyStep | None,
    form: forms.Form,
    *,
    error: KilonovaError | None = None,
    preview: PolicyPreview | None = None,
) -> TemplateResponse:
    title = PREVIEW_TITLE if step is None else step.title
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "original": row,
        "title": f"{gettext(title)}: {row.label}",
        "step": {"title": title, "question": PREVIEW_QUESTION if step is None else step.question},
        "form": form,
        "problems": _problems(error),
        "preview": preview,
    }
    return TemplateResponse(request, "admin/scheduling/policy/step.html", context)


def _problems(error: KilonovaError | None) -> list[tuple[str, str]]:
    """(field, sentence) of everything that was refused."""
    reasons = {} if error is None else refusal_reasons(error)
    return [(name, text) for name, texts in reasons.items() for text in texts]
