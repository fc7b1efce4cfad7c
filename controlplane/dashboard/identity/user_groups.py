"""Pages of groups of users, for admins: who is in them, and which roles that gives. And roles in the system."""

import uuid

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.identity.user_group_listing import USER_GROUPS
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import LONGEST_FILTER, page, show
from controlplane.identity.domain import Caller, Role
from controlplane.identity.selectors import project_get, project_list
from controlplane.identity.selectors.groups import group_get, members_of, roles_of_group
from controlplane.identity.selectors.people import OFFERED, user_get, user_named, usernames_offered
from controlplane.identity.services import (
    group_create,
    group_member_add,
    group_member_remove,
    group_role_grant,
    group_role_revoke,
    group_update,
    groups_delete,
    system_role_grant,
    system_role_revoke,
)
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid

SYSTEM = "system"
"""Stands in place of a project's id for a role in the system."""


class UserGroupForm(forms.Form):
    """What a group says about itself."""

    name = forms.CharField(max_length=64)
    description = forms.CharField(max_length=255, required=False)


@require_safe
@page("groups:read")
def user_group_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every group of users."""
    return list_response(request, caller, USER_GROUPS)


@require_safe
@page("groups:read")
def user_group_detail(request: HttpRequest, caller: Caller, user_group_id: uuid.UUID) -> HttpResponse:
    """One group with members and roles."""
    group = group_get(group_id=user_group_id)
    context = {
        "group": group,
        "members": members_of(group=group),
        "grants": roles_of_group(group=group),
        "usernames": usernames_offered(),
        "offered": project_list()[:OFFERED],
        "roles": [role.value for role in Role],
    }
    return show(request, caller, "dashboard/identity/user_group_detail.html", "user-groups", **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("groups:write")
def user_group_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Make a group, which is empty and gives no role."""
    form = UserGroupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            group = group_create(**form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, f"{group.name} was created. Add members and roles.", extra_tags="good")
            return redirect("user-group", user_group_id=group.pk)
    return show(request, caller, "dashboard/identity/user_group_form.html", "user-groups", form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("groups:write")
def user_group_edit(request: HttpRequest, caller: Caller, user_group_id: uuid.UUID) -> HttpResponse:
    """Change name and description."""
    group = group_get(group_id=user_group_id)
    initial = {"name": group.name, "description": group.description}
    form = UserGroupForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            group_update(group=group, **form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, f"{group.name} was changed.", extra_tags="good")
            return redirect("user-group", user_group_id=group.pk)
    context = {"form": form, "group_id": user_group_id, "name": initial["name"]}
    return show(request, caller, "dashboard/identity/user_group_form.html", "user-groups", **context)


@require_POST
@page("groups:write")
def user_group_delete(request: HttpRequest, caller: Caller, user_group_id: uuid.UUID) -> HttpResponse:
    """Delete a group; its members lose the roles that they had by it."""
    group = group_get(group_id=user_group_id)
    groups_delete(group_ids=[group.pk])
    messages.success(request, f"{group.name} was deleted.", extra_tags="good")
    return redirect("user-groups")


@require_POST
@page("groups:write")
def user_group_member_change(request: HttpRequest, caller: Caller, user_group_id: uuid.UUID) -> HttpResponse:
    """Put a user in, by name, or take one out."""
    group = group_get(group_id=user_group_id)
    typed = parse_uuid(request.POST.get("user", ""))
    name = request.POST.get("username", "").replace("\x00", "").strip()[:LONGEST_FILTER]
    person = user_get(user_id=typed) if typed else user_named(username=name)
    if request.POST.get("do") == "remove":
        group_member_remove(group=group, user=person)
        said = f"{person.username} is no longer in {group.name}."
    else:
        group_member_add(group=group, user=person)
        said = f"{person.username} is in {group.name}."
    messages.success(request, said, extra_tags="good")
    return redirect("user-group", user_group_id=group.pk)


@require_POST
@page("roles:write")
def user_group_role_change(request: HttpRequest, caller: Caller, user_group_id: uuid.UUID) -> HttpResponse:
    """Give all members a role, in a project or in the system, or take it away."""
    group = group_get(group_id=user_group_id)
    wanted = request.POST.get("project", "")
    project_id = parse_uuid(wanted)
    if project_id is None and wanted != SYSTEM:
        raise Invalid(_("Choose a project, or the system."), field="project")
    project, role = project_get(project_id=project_id) if project_id else None, _role_posted(request)
    where = project.name if project else "the system"
    if request.POST.get("do") == "revoke":
        group_role_revoke(group=group, project=project, role=role)
        said = f"{group.name} is no longer {role.value} in {where}."
    else:
        group_role_grant(group=group, project=project, role=role)
        said = f"{group.name} is {role.value} in {where}."
    messages.success(request, said, extra_tags="good")
    return redirect("user-group", user_group_id=group.pk)


@require_POST
@page("roles:write")
def system_role_change(request: HttpRequest, caller: Caller, user_id: uuid.UUID) -> HttpResponse:
    """Give a user a role in the system, or take it away."""
    person, role = user_get(user_id=user_id), _role_posted(request)
    if request.POST.get("do") == "revoke":
        system_role_revoke(user=person, role=role)
        said = f"{person.username} is no longer {role.value} in the system."
    else:
        system_role_grant(user=person, role=role)
        said = f"{person.username} is {role.value} in the system."
    messages.success(request, said, extra_tags="good")
    return redirect("user", user_id=person.pk)


def _role_posted(request: HttpRequest) -> Role:
    wanted = request.POST.get("role", "")
    if wanted not in set(Role):
        raise Invalid(_("The role is none of %(roles)s.") % {"roles": ", ".join(Role)}, field="role")
    return Role(wanted)
