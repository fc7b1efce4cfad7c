"""Pages of users, for admins: who may log in, with which roles, by which tokens."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.identity.user_listing import USERS
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import LONGEST_FILTER, page, show
from controlplane.identity.domain import Caller, Role
from controlplane.identity.selectors import project_get, project_list, tokens_of_user
from controlplane.identity.selectors.groups import groups_of, roles_by_groups, system_roles_of
from controlplane.identity.selectors.people import OFFERED, roles_of, source_of, user_get, user_named
from controlplane.identity.selectors.second_factors import second_factor_of
from controlplane.identity.services import (
    role_grant,
    role_revoke,
    second_factor_remove,
    token_revoke,
    user_create,
    user_update,
)
from controlplane.kernel.errors import Invalid, KilonovaError
from controlplane.kernel.ids import parse_uuid

PAGE_SIZE = 50


class UserPageForm(forms.Form):
    """A user. The password of one that exists stays where it is left empty."""

    username = forms.CharField(
        label=_("Username"), max_length=150, help_text=_("Up to 150 letters, digits and @ . + - _")
    )
    email = forms.EmailField(label=_("Email"), required=False)
    password = forms.CharField(
        label=_("Password"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    is_active = forms.BooleanField(
        label=_("Active"), required=False, initial=True, help_text=_("Off: the user is refused everywhere, at once.")
    )

    def __init__(self, *args: Any, is_new: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            self.fields["password"].required = False
            self.fields["password"].label = _("New password")
            self.fields["password"].help_text = _("It ends the user's tokens and sessions. Empty: it stays as it is.")


@require_safe
@page("users:read")
def user_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Everybody who may log in."""
    return list_response(request, caller, USERS)


@require_safe
@page("users:read")
def user_detail(request: HttpRequest, caller: Caller, user_id: uuid.UUID) -> HttpResponse:
    """One user with roles and tokens."""
    person = user_get(user_id=user_id)
    context = {
        "person": person,
        "assignments": roles_of(user=person),
        "groups": groups_of(user=person),
        "group_grants": roles_by_groups(user=person),
        "system_grants": system_roles_of(user=person),
        "source": source_of(user=person),
        "factor": second_factor_of(user=person),
        "tokens": tokens_of_user(user_id=person.pk)[:PAGE_SIZE],
        "offered": project_list()[:OFFERED],
        "roles": [role.value for role in Role],
    }
    return show(request, caller, "dashboard/identity/user_detail.html", "users", **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("users:write")
def user_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Make a user, who can do nothing until somebody gives a role."""
    form = UserPageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            person = user_create(**form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(
                request,
                gettext("%(name)s was created. Give a role in a project.") % {"name": person.username},
                extra_tags="good",
            )
            return redirect("user", user_id=person.pk)
    return show(request, caller, "dashboard/identity/user_form.html", "users", form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("users:write")
def user_edit(request: HttpRequest, caller: Caller, user_id: uuid.UUID) -> HttpResponse:
    """Change name, address, password, or whether the user may log in."""
    person = user_get(user_id=user_id)
    name = person.username
    initial = {one: getattr(person, one) for one in ("username", "email", "is_active")}
    form = UserPageForm(request.POST or None, initial=initial, is_new=False)
    if request.method == "POST" and form.is_valid():
        # An empty password is none.
        changes: Any = {one: value for one, value in form.cleaned_data.items() if one != "password" or value}
        try:
            user_update(user=person, **changes)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, gettext("%(name)s was changed.") % {"name": person.username}, extra_tags="good")
            return redirect("user", user_id=person.pk)
    context = {"form": form, "user_id": user_id, "name": name}
    return show(request, caller, "dashboard/identity/user_form.html", "users", **context)


@require_POST
@page("roles:write")
def role_change(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Give a role or take it away, from the page of the project or of the user that asked."""
    typed = parse_uuid(request.POST.get("user", ""))
    person = user_get(user_id=typed) if typed else user_named(username=_name_posted(request))
    project_id = parse_uuid(request.POST.get("project", ""))
    if project_id is None:
        raise Invalid(gettext("Choose a project."), field="project")
    project = project_get(project_id=project_id)
    wanted = request.POST.get("role", "")
    if wanted not in set(Role):
        raise Invalid(gettext("The role is none of %(roles)s.") % {"roles": ", ".join(Role)}, field="role")
    role = Role(wanted)
    if request.POST.get("do") == "revoke":
        role_revoke(user=person, project=project, role=role)
        said = gettext("%(name)s is no longer %(role)s in %(project)s.")
    else:
        role_grant(user=person, project=project, role=role)
        said = gettext("%(name)s is %(role)s in %(project)s.")
    said %= {"name": person.username, "role": role.value, "project": project.name}
    messages.success(request, said, extra_tags="good")
    if request.POST.get("from") == "user":
        return redirect("user", user_id=person.pk)
    return redirect("project", project_id=project.pk)


@require_POST
@page("users:write")
def user_token_revoke(request: HttpRequest, caller: Caller, user_id: uuid.UUID) -> HttpResponse:
    """End one token of a user, at once."""
    person = user_get(user_id=user_id)
    token_id = parse_uuid(request.POST.get("token", ""))
    if token_id is None or not token_revoke(token_id=token_id, user_id=person.pk):
        raise Invalid(gettext("That token has ended already."), field="token")
    messages.success(request, gettext("The token was revoked."), extra_tags="good")
    return redirect("user", user_id=person.pk)


@require_POST
@page("users:write")
def user_second_factor_remove(request: HttpRequest, caller: Caller, user_id: uuid.UUID) -> HttpResponse:
    """Take away the second factor of somebody whose device is lost."""
    person = user_get(user_id=user_id)
    second_factor_remove(user=person)
    messages.success(
        request, gettext("The second factor of %(name)s was removed.") % {"name": person.username}, extra_tags="good"
    )
    return redirect("user", user_id=person.pk)


def _name_posted(request: HttpRequest) -> str:
    """Databases cannot hold a NUL, so no user has one in the name."""
    return request.POST.get("username", "").replace("\x00", "").strip()[:LONGEST_FILTER]
