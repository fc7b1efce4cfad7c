"""Pages of security groups: who may reach the instances that are in them."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from computeagent.protocol.networks import Direction
from controlplane.dashboard.form_saved import changed_text, form_saved
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.networks.rule_form import RulePageForm
from controlplane.dashboard.networks.security_group_listing import SECURITY_GROUPS
from controlplane.dashboard.networks.tags import tagged_form_saved, tags_field
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from servers.networks.domain.tags import tags_text
from servers.networks.selectors.group_ports import group_port_counts, group_ports
from servers.networks.selectors.groups import group_get, groups_visible, rule_get, sentence_of_row
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.groups import (
    default_group_make,
    security_group_create,
    security_group_delete,
    security_group_update,
)
from servers.networks.services.rules import security_group_rule_delete, security_group_rules_add

SECTION = "security-groups"
MAX_REMOTES = 500
FORM_FIELDS = {"port_min": "ports", "port_max": "ports", "ip_version": "version"}


class SecurityGroupForm(forms.Form):
    """Name, description and tags."""

    name = forms.CharField(label=gettext_lazy("Name"), strip=False, help_text=gettext_lazy("Up to 255 characters."))
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        help_text=gettext_lazy("What its instances have in common."),
    )
    tags = tags_field()

    def values(self) -> dict[str, Any]:
        """What the filled-in form says, but for the tags."""
        return {name: self.cleaned_data[name] for name in ("name", "description")}


@require_safe
@page("security_groups:read")
def security_group_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project, its default group among them; of every project for an admin."""
    default_group_make(project_id=caller.project_id)
    return list_response(request, caller, SECURITY_GROUPS)


@require_safe
@page("security_groups:read")
def security_group_detail(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """One group: its rules as sentences, and what is in it."""
    return _detail_shown(request, caller, group_get(caller=caller, group_id=group_id), None)


@require_POST
@page("security_groups:write")
def security_group_rule_add(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """Add what the form says; refusals stand at its fields, above the rules."""
    group = group_get(caller=caller, group_id=group_id)
    form = _rule_form(caller, group, request.POST)
    made = form_saved(
        request,
        form,
        lambda: security_group_rules_add(caller=caller, group=group, rules=form.rules()),
        lambda rules: " ".join(sentence_of_row(rule, gettext) for rule in rules),
        names=FORM_FIELDS,
    )
    if made is not None:
        return redirect("security-group", group_id=group.pk)
    return _detail_shown(request, caller, group, form)


@require_POST
@page("security_groups:write")
def security_group_rule_remove(request: HttpRequest, caller: Caller, rule_id: uuid.UUID) -> HttpResponse:
    """Remove one rule. What it alone let through is cut."""
    rule = rule_get(caller=caller, rule_id=rule_id)
    security_group_rule_delete(caller=caller, rule_id=rule_id)
    said = gettext("Removed: %(rule)s What it alone let through is cut.") % {"rule": sentence_of_row(rule, gettext)}
    messages.success(request, said, extra_tags="good")
    return redirect("security-group", group_id=rule.group_id)


@require_http_methods(["GET", "HEAD", "POST"])
@page("security_groups:write")
def security_group_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A group whose instances may send to anywhere and receive nothing, until rules say more."""
    form = SecurityGroupForm(request.POST or None)
    group = tagged_form_saved(
        request,
        caller,
        form,
        lambda: security_group_create(caller=caller, **form.values()),
        lambda made: gettext("%(name)s was created. Say what it lets in.") % {"name": made.name},
        kind=TaggedKind.SECURITY_GROUP,
    )
    if group is not None:
        return redirect("security-group", group_id=group.pk)
    return show(request, caller, "dashboard/networks/security_group_form.html", SECTION, form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("security_groups:write")
def security_group_edit(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """Another name or description, or other tags."""
    group = group_get(caller=caller, group_id=group_id)
    initial = {"name": group.name, "description": group.description, "tags": tags_text(group.tags)}
    form = SecurityGroupForm(request.POST or None, initial=initial)

    def write() -> Any:
        return security_group_update(caller=caller, group_id=group_id, changes=form.values())

    saved = tagged_form_saved(
        request, caller, form, write, changed_text, kind=TaggedKind.SECURITY_GROUP, tags_before=group.tags
    )
    if saved is not None:
        return redirect("security-group", group_id=group_id)
    return show(request, caller, "dashboard/networks/security_group_form.html", SECTION, form=form, group=group)


@require_POST
@page("security_groups:write")
def security_group_delete_view(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """Remove a group that nothing is in."""
    group = group_get(caller=caller, group_id=group_id)
    security_group_delete(caller=caller, group_id=group_id)
    messages.success(request, gettext("%(name)s was deleted.") % {"name": group.name}, extra_tags="good")
    return redirect("security-groups")


def _rule_form(caller: Caller, group: Any, data: Any = None) -> RulePageForm:
    """Remote groups are of the same project."""
    remotes = groups_visible(caller=caller).filter(project=group.project_id).order_by("name", "pk")[:MAX_REMOTES]
    return RulePageForm(data, groups=list(remotes))


def _detail_shown(request: HttpRequest, caller: Caller, group: Any, form: RulePageForm | None) -> HttpResponse:
    rules = [(rule, sentence_of_row(rule, gettext)) for rule in group.rules.all()]
    context = {
        "group": group,
        "incoming": [pair for pair in rules if pair[0].direction == Direction.INGRESS],
        "outgoing": [pair for pair in rules if pair[0].direction == Direction.EGRESS],
        "ports": group_ports(group.pk),
        "port_count": group_port_counts([group.pk]).get(group.pk, 0),
        "form": form or _rule_form(caller, group),
        "is_open": form is not None,
    }
    return show(request, caller, "dashboard/networks/security_group_detail.html", SECTION, **context)
