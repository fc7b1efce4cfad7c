"""Pages of server groups: instances that should be, or should not be, on one host."""

import uuid

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.catalog.server_group_listing import SERVER_GROUPS
from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.groups import GroupPolicy
from servers.catalog.selectors.server_group import server_group_get
from servers.catalog.services.server_group import server_group_create, server_group_delete
from servers.instances.selectors.group_members import group_members

POLICY_WORDS = {
    GroupPolicy.AFFINITY: gettext_noop("all on one host"),
    GroupPolicy.ANTI_AFFINITY: gettext_noop("each on another host"),
    GroupPolicy.SOFT_AFFINITY: gettext_noop("on as few hosts as there is room on"),
    GroupPolicy.SOFT_ANTI_AFFINITY: gettext_noop("on as many hosts as there are"),
}


class ServerGroupForm(forms.Form):
    """Name, policy, and for anti-affinity how many may share a host."""

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    policy = forms.ChoiceField(
        label=_("Policy"),
        choices=lambda: [(one.value, f"{one.value}: {gettext(words)}") for one, words in POLICY_WORDS.items()],
    )
    max_server_per_host = forms.IntegerField(
        label=_("Most on one host"),
        required=False,
        min_value=1,
        help_text=_("With anti-affinity only. Empty: one."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )


@require_safe
@page("server_groups:read")
def server_group_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Those of the project; of every project for an admin."""
    words = {one.value: text for one, text in POLICY_WORDS.items()}
    return list_response(request, caller, SERVER_GROUPS, words=words)


@require_safe
@page("server_groups:read")
def server_group_detail(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """One group with its members; hosts are for admins."""
    group = server_group_get(caller=caller, group_id=group_id)
    members = group_members([row.instance_uuid for row in group.members.all()])
    hosts = {one.host for one in members if one.host} if caller.is_admin else set()
    context = {"group": group, "members": members, "hosts": hosts, "words": POLICY_WORDS.get(GroupPolicy(group.policy))}
    return show(request, caller, "dashboard/catalog/server_group_detail.html", "server-groups", **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("server_groups:write")
def server_group_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Make an empty group in the caller's project."""
    form = ServerGroupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        max_per_host = form.cleaned_data["max_server_per_host"]
        rules = {} if max_per_host is None else {"max_server_per_host": max_per_host}
        try:
            group = server_group_create(
                caller=caller, name=form.cleaned_data["name"], policy=form.cleaned_data["policy"], rules=rules
            )
        except KilonovaError as error:
            errors_add(form, error, {"rules": "max_server_per_host"})
        else:
            messages.success(
                request,
                gettext("%(name)s was created. Choose it when you create an instance.") % {"name": group.name},
                "good",
            )
            return redirect("server-group", group_id=group.pk)
    return show(request, caller, "dashboard/catalog/server_group_form.html", "server-groups", form=form)


@require_POST
@page("server_groups:write")
def server_group_delete_view(request: HttpRequest, caller: Caller, group_id: uuid.UUID) -> HttpResponse:
    """Remove the group; its instances run on."""
    group = server_group_get(caller=caller, group_id=group_id)
    server_group_delete(caller=caller, group_id=group_id)
    messages.success(
        request,
        gettext("%(name)s was deleted. Its instances are bound by it no longer.") % {"name": group.name},
        extra_tags="good",
    )
    return redirect("server-groups")
