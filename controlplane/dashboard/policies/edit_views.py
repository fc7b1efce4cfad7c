"""Changing policies, for admins: a new draft, its editor, the steps of its life. All through the services."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
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
from controlplane.dashboard.policies.values import OPTION_SETTINGS, SCHEDULER_SETTINGS
from controlplane.dashboard.policies.views import policy_page
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, KilonovaError
from controlplane.kernel.ids import parse_uuid
from scheduling.domain.policy import policy_to_dict
from scheduling.policies.selectors.policies import DEFAULTS, policy_get, policy_of_body
from scheduling.policies.services.policies import policy_create, policy_deactivate, policy_update
from scheduling.policies.services.steps import policy_step_take

ENTER = "enter"


@require_POST
@page("policies:write")
def policy_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A draft that begins as a copy of another version, or of the defaults; then its editor."""
    source = request.POST.get("copy_of", "")
    name = request.POST.get("name", "").strip() or "default"
    made = policy_create(body=_copied(source), name=name, author=caller.username)
    messages.success(request, f"{made.label} is a draft: it counts once it is activated.", extra_tags="good")
    return redirect("policy-edit", policy_id=made.pk)


def _copied(source: str) -> Mapping[str, Any]:
    """The body of a version; of the defaults only what is the scheduler's own, so that options stay the settings'."""
    if not source or source == DEFAULTS:
        body = policy_to_dict(policy_of_body({}, version=DEFAULTS))
        return {name: body[name] for name in ("filters", "weighers")}
    uuid = parse_uuid(source)
    if uuid is None:
        raise Invalid("copy_of is the id of a version.", field="copy_of")
    found: Mapping[str, Any] = policy_get(policy_id=uuid).body
    return found


@require_http_methods(["GET", "HEAD", "POST"])
@page("policies:write")
def policy_edit(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """The editor of a draft. Buttons of its rows change what is shown; "Save" writes it, if nothing is wrong."""
    row = policy_get(policy_id=policy_id)
    if row.immutable:
        raise Conflict(f"{row.label} has decided or run as shadow: it stays what it was. Copy it into a new draft.")
    if request.method != "POST":
        editor = PolicyEditor.from_body(row.body, comment=row.comment, revision=row.revision)
        return _editor(request, caller, row, editor)
    editor = PolicyEditor.from_post(request.POST)
    do = _entered(editor) if request.POST.get("do") == ENTER else request.POST.get("do", "")
    if do:
        return _editor(request, caller, row, editor, notice=editor.change(do))
    if not _saved(policy_id, editor):
        return _editor(request, caller, row, editor)
    messages.success(request, f"{row.label} is saved.", extra_tags="good")
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
    words = {one.path: value_label(body.get(one.name)) for one in SCHEDULER_SETTINGS}
    return words | {one.path: value_label(options.get(one.name)) for one in OPTION_SETTINGS}


@require_POST
@page("policies:write")
def policy_act(request: HttpRequest, caller: Caller, policy_id: UUID) -> HttpResponse:
    """One step of a version's life. The version's page shows by field what prevents it."""
    verb = request.POST.get("step", "")
    label = policy_get(policy_id=policy_id).label
    try:
        notice = policy_step_take(verb=verb, policy_id=policy_id, given=step_input(verb, request.POST))
    except InvalidFields as error:
        return policy_page(request, caller, policy_id, problems=error.errors)
    except KilonovaError as error:
        where = f"{error.field}: " if error.field else ""
        messages.error(request, f"{where}{error.message}", extra_tags="bad")
        return redirect("policy", policy_id=policy_id)
    messages.success(request, f"{label} {notice}", extra_tags="good")
    return redirect("policies") if verb == "delete" else redirect("policy", policy_id=policy_id)


@require_POST
@page("policies:write")
def policy_defaults(request: HttpRequest, caller: Caller) -> HttpResponse:
    """No version is active any more."""
    policy_deactivate()
    messages.success(request, "The defaults count from the next decision on.", extra_tags="good")
    return redirect("policies")
