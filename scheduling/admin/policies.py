"""Versions of the policy: edit a draft, validate, preview, activate, roll back, let it run as shadow."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ThroughServicesAdmin
from controlplane.infra.admin.filters import named, typed
from controlplane.kernel.texts import gettext_noop
from scheduling.admin.policy_steps import policy_admin_steps, step_view
from scheduling.models import SchedulerPolicy, ShadowResult
from scheduling.policies.check import policy_problems
from scheduling.policies.selectors.policies import body_completed
from scheduling.policies.selectors.shadow import shadow_report
from scheduling.policies.services.policies import policy_create, policy_deactivate, policy_delete, policy_update

NEW_ONLY = ["name", "body", "comment"]
READ_ONLY = ["state", "author", "revision", "immutable", "activated_at", "retired_at", "shadow", "shadow_share"]


class BodyField(forms.JSONField):
    """A policy's body as indented text. The panel's editor has a field for each part of it."""

    def __init__(self, **options: Any) -> None:
        attrs = {"class": "vLargeTextField mono", "rows": 24, "spellcheck": "false"}
        super().__init__(widget=forms.Textarea(attrs=attrs), required=False, **options)

    def prepare_value(self, value: Any) -> Any:
        """Indented as it is stored; as it was typed where it is no JSON."""
        if isinstance(value, forms.fields.InvalidJSONInput):
            return value
        return json.dumps({} if value is None else value, indent=2, ensure_ascii=False)

    def clean(self, value: Any) -> Any:
        """Nothing is an empty body. What is no JSON is refused with its line and column."""
        if not isinstance(value, str) or not value.strip():
            return {}
        try:
            json.loads(value)
        except ValueError as error:
            raise forms.ValidationError(gettext("This is no JSON: %(error)s.") % {"error": error}) from error
        return super().clean(value)


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A draft's body and comment; whether it can be used is what validation says."""

    body = BodyField(
        help_text=_(
            "JSON: filters in their order, weighers with multipliers, settings. The panel's editor has fields "
            "for all of it, and moves filters by buttons."
        )
    )
    seen_revision = forms.IntegerField(required=False, widget=forms.HiddenInput, label="")

    class Meta:
        model = SchedulerPolicy
        fields = NEW_ONLY

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields["seen_revision"].initial = self.instance.revision


@admin.register(SchedulerPolicy)
class SchedulerPolicyAdmin(ThroughServicesAdmin):
    """Drafts can be edited; what decided or ran as shadow stays what it was."""

    form = PolicyForm
    list_display = ["label", "state", "shadow", "shadow_share", "comment", "author", "created_at", "activated_at"]
    list_filter = ["state", "shadow", typed("name")]
    search_fields = ["name", "id", "comment", "author"]
    actions = ["defaults"]

    def get_readonly_fields(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> list[str]:
        """The name belongs to the version for good."""
        return [] if obj is None else ["name", "steps", "problems", *READ_ONLY, "shadow_findings"]

    def get_fields(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> list[Any]:
        """Steps are on top, then what can be edited, then what is read-only."""
        if obj is None:
            return NEW_ONLY
        guard = ["seen_revision"] if self.has_change_permission(request, obj) else []
        return ["steps", "name", "body", "problems", "comment", *guard, *READ_ONLY, "shadow_findings"]

    def has_change_permission(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> bool:
        """An immutable version stays what it was: decisions name it."""
        return (obj is None or not obj.immutable) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> bool:
        return (obj is None or not obj.immutable) and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: SchedulerPolicy, form: PolicyForm, change: bool) -> None:
        body, comment = form.cleaned_data["body"], form.cleaned_data["comment"]
        if change:
            changes = {name: form.cleaned_data[name] for name in ("body", "comment") if name in form.changed_data}
            policy_update(policy_id=obj.pk, revision=form.cleaned_data["seen_revision"], **changes)
            return
        author = request.user.get_username()
        made = policy_create(body=body, name=form.cleaned_data["name"], comment=comment, author=author)
        obj.pk, obj.version = made.pk, made.version

    def service_delete(self, obj: SchedulerPolicy) -> None:
        policy_delete(policy_id=obj.pk)

    def get_urls(self) -> list[URLPattern]:
        """A page for each step."""
        step = self.admin_site.admin_view(self.step)
        name = f"{self.opts.app_label}_{self.opts.model_name}_step"
        return [path("<uuid:policy_id>/step/<slug:step>/", step, name=name), *super().get_urls()]

    def step(self, request: HttpRequest, policy_id: UUID, step: str) -> HttpResponseBase:
        """Ask, then do: whoever may change versions may take every step; a preview needs only the right to view."""
        return step_view(self, request, policy_id, step)

    @admin.display(description=_("Steps"))
    def steps(self, policy: SchedulerPolicy) -> SafeString:
        """Links to what can be done with this version now."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_step"
        links = (
            (reverse(name, args=[policy.pk, step]), gettext(title))
            for step, title in policy_admin_steps(policy).items()
        )
        return format_html_join(" · ", '<a href="{}">{}</a>', links)

    @admin.display(description=_("Problems of the body"))
    def problems(self, policy: SchedulerPolicy) -> SafeString | str:
        """For what it could not be activated, by the field of the body."""
        found = policy_problems(body_completed(policy.body)) if isinstance(policy.body, Mapping) else ()
        lines = format_html_join("", "<li><b>{}</b>: {}</li>", ((one.field, one.message) for one in found))
        return format_html('<ul class="problems">{}</ul>', lines) if found else "None."

    @admin.display(description=_("Found as shadow"))
    def shadow_findings(self, policy: SchedulerPolicy) -> SafeString | str:
        """The report, without the pairs of hosts; those are in the list of results."""
        found = shadow_report(policy_id=policy.pk)
        if not found.runs:
            return "It has not run as shadow."
        shown = {name: value for name, value in asdict(found).items() if name not in ("policy", "share", "moves")}
        rows = format_html_join("", "<tr><th>{}</th><td>{}</td></tr>", shown.items())
        results = reverse("admin:scheduling_shadowresult_changelist")
        link = format_html('<a href="{}?policy__id__exact={}">every run</a>', results, policy.pk)
        return format_html("<table>{}</table>{}", rows, link)

    @destructive(
        description=gettext_noop("Back to the defaults (no version active)"),
        permissions=["change"],
        question=gettext_noop(
            "Whichever version is active is retired, and the defaults decide from the next request on."
        ),
    )
    def defaults(self, request: HttpRequest, queryset: QuerySet[SchedulerPolicy]) -> None:
        """The action needs no choice: it counts for all versions."""
        policy_deactivate()
        self.message_user(request, gettext("The defaults count from the next decision on."))


@admin.register(ShadowResult)
class ShadowResultAdmin(ReadOnlyAdmin):
    """What shadows found, run by run."""

    list_display = [
        "created_at",
        "policy",
        "outcome",
        "decided_host",
        "shadow_host",
        "moved_count",
        "score_difference",
        "error",
    ]
    list_filter = ["outcome", named("policy")]
    list_select_related = ["policy"]
    search_fields = ["id", "decision__id", "decided_host", "shadow_host", "live_version"]
    raw_id_fields = ["decision", "policy"]
