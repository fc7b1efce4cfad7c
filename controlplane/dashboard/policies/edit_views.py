"""Changing policies, for admins: a new draft, its editor, the steps of its life. All through the services."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from controlplane.dashboard.form_errors import reasons_by_field
from controlplane.dashboard.pages import is_htmx, page, show
from controlplane.dashboard.policies.differences import value_label
from controlplane.dashboard.policies.editor import (
    PolicyEditor,
    filter_rows,
    names_to_add,
    setting_rows,
    stray_errors,
    weigher_rows,
)
from controlplane.dashboard.policies.steps import step_input
from controlplane.dashboard.policies.values import OPTION_SETTINGS, SCHEDULER_SETTINGS, NotAValue, json_object
from controlplane.dashboard.policies.views import policy_page
from controlplane.dashboard.toasts import Undo, toast
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, KilonovaError
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.policy import policy_to_dict
from scheduling.policies.selectors.policies import DEFAULTS, active_id, policy_get, policy_of_body
from scheduling.policies.services.policies import policy_create, policy_deactivate, policy_update
from scheduling.policies.services.steps import policy_step_take

ENTER = "enter"
NOTICE = gettext_noop("{label} {notice}")
BECOMES_ACTIVE = frozenset({"activate", "rollback"})
"""Steps that put another version in the place of the active one."""


@require_POST
@page("policies:write")
def policy_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A draft that begins as a copy of another version, or of the defaults; then its editor.

    `changes` is JSON of settings that are other than in the copy, as advice about a failed instance gives them.
    """
    source, comment = request.POST.get("copy_of", ""), request.POST.get("comment", "")
    name = request.POST.get("name", "").strip() or "default"
    body = _merged(_copied(source), request.POST.get("changes", ""))
    made = policy_create(body=body, name=name, comment=comment, author=caller.username)
    messages.success(
        request,
        gettext("%(label)s is a draft: it counts once it is activated.") % {"label": made.label},
        extra_tags="good",
    )
    return redirect("policy-edit", policy_id=made.pk)


def _copied(source: str) -> Mapping[str, Any]:
    """The body of a version; of the defaults only what is the scheduler's own, so that options stay the settings'."""
    if not source or source == DEFAULTS:
        body = policy_to_dict(policy_of_body({}, version=DEFAULTS))
        return {name: body[name] for name in ("filters", "weighers")}
    uuid = parse_uuid(source)
    if uuid is None:
        raise Invalid(gettext_noop("copy_of is the id of a version."), field="copy_of")
    found: Mapping[str, Any] = policy_get(policy_id=uuid).body
    return found


def _merged(body: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """The body with these settings; of the options, those that are named."""
    if not text:
        return body
    try:
        changes = json_object(text)
    except NotAValue as error:
        raise Invalid(str(error), field="changes") from error
    options, more = body.get("options"), changes.get("options")
    if isinstance(options, Mapping) and isinstance(more, Mapping):
        changes["options"] = {**options, **more}
    return {**body, **changes}


@require_http_methods(["GET", "HEAD", "POST"])
@page("policies:write")
def policy_edit(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """The editor of a draft. Buttons of its rows change what is shown; "Save" writes it, if nothing is wrong."""
    row = policy_get(policy_id=policy_id)
    if row.immutable:
        raise Conflict(
            gettext("%(label)s has decided or run as shadow: it stays what it was. Copy it into a new draft.")
            % {"label": row.label}
        )
    if request.method != "POST":
        editor = PolicyEditor.from_body(row.body, comment=row.comment, revision=row.revision)
        return _editor(request, caller, row, editor)
    editor = PolicyEditor.from_post(request.POST)
    do = _entered(editor) if request.POST.get("do") == ENTER else request.POST.get("do", "")
    if do:
        return _editor(request, caller, row, editor, notice=editor.change(do))
    if not _saved(policy_id, editor):
        return _editor(request, caller, row, editor)
    messages.success(request, gettext("%(label)s is saved.") % {"label": row.label}, extra_tags="good")
    there = reverse("policy", args=[policy_id])
    return HttpResponseClientRedirect(there) if is_htmx(request) else redirect(there)


def _entered(editor: PolicyEditor) -> str:
    """What the Enter key means in a field: add what is about to be added; else save, which is no change."""
    return next((f"add:{kind}" for kind in editor.adding), "")


def _saved(policy_id: UUID, editor: PolicyEditor) -> bool:
    body = editor.body()
    if editor.errors:
        return False
    try:
        policy_update(policy_id=policy_id, revision=editor.revision, body=body, comment=editor.comment)
    except KilonovaError as error:
        editor.add_problems(reasons_by_field(error))
        return False
    return True


def _editor(request: HttpRequest, caller: Caller, row: Any, editor: PolicyEditor, notice: str = "") -> HttpResponse:
    defaults = _defaults()
    context = {
        "policy": row,
        "editor": editor,
        "message": notice,
        "filters": filter_rows(editor),
        "weighers": weigher_rows(editor),
        "scheduler_rows": setting_rows(editor, SCHEDULER_SETTINGS, defaults),
        "option_rows": setting_rows(editor, OPTION_SETTINGS, defaults),
        "options_open": any(path.startswith("options.") for path in editor.errors),
        "to_add": names_to_add(editor),
        "stray": {path: texts for path, texts in stray_errors(editor).items() if path != "comment"},
    }
    template = "dashboard/policy_editor.html" if is_htmx(request) else "dashboard/policy_edit.html"
    return show(request, caller, template, "policies", **context)


def _defaults() -> dict[str, str]:
    """What counts for each setting that a draft does not name, by path."""
    body = policy_to_dict(policy_of_body({}, version=DEFAULTS))
    options = body.pop("options")
    words = {one.path: gettext(value_label(body.get(one.name))) for one in SCHEDULER_SETTINGS}
    return words | {one.path: gettext(value_label(options.get(one.name))) for one in OPTION_SETTINGS}


@require_POST
@page("policies:write")
def policy_act(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """One step of a version's life. The version's page shows by field what prevents it."""
    verb = request.POST.get("step", "")
    label, before = policy_get(policy_id=policy_id).label, active_id()
    try:
        notice = policy_step_take(verb=verb, policy_id=policy_id, given=step_input(verb, request.POST))
    except InvalidFields as error:
        return policy_page(request, caller, policy_id, problems=error.errors)
    except KilonovaError as error:
        where = f"{error.field}: " if error.field else ""
        messages.error(request, f"{where}{refusal_text(error)}", extra_tags="bad")
        return redirect("policy", policy_id=policy_id)
    said = Phrase(NOTICE, label=label, notice=notice).sentence(gettext)
    toast(request, said, undo=_undo(before) if verb in BECOMES_ACTIVE else None)
    return redirect("policies") if verb == "delete" else redirect("policy", policy_id=policy_id)


@require_POST
@page("policies:write")
def policy_defaults(request: HttpRequest, caller: Caller) -> HttpResponse:
    """No version is active any more."""
    before = active_id()
    policy_deactivate()
    toast(request, gettext("The defaults count from the next decision on."), undo=_undo(before) if before else None)
    return redirect("policies")


def _undo(before: UUID | None) -> Undo:
    """Back to the version that was active before, or to the defaults."""
    if before is None:
        return Undo(reverse("policy-defaults"), "step", "defaults", gettext("Undo: back to the defaults"))
    return Undo(reverse("policy-act", kwargs={"policy_id": before}), "step", "rollback", gettext("Undo: roll back"))
