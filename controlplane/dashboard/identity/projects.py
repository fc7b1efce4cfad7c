"""Pages of projects, for admins: what each may use and uses, and who may work in it."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.dashboard.form_errors import errors_add
from controlplane.dashboard.identity.project_listing import PROJECTS
from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.identity.domain import Caller, Role
from controlplane.identity.selectors import project_get, quota_defaults, user_quotas_of
from controlplane.identity.selectors.groups import group_roles_in
from controlplane.identity.selectors.people import roles_in, usernames_offered
from controlplane.identity.services import project_create, project_update
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.units import bytes_text
from servers.catalog.selectors.quota import image_quota_state, owner_quota_state, quota_state
from servers.networks.selectors.quota import network_quota_state
from servers.volumes.selectors.quota import volume_quota_state

QUOTAS = {
    "quota_instances": _("Instances"),
    "quota_cores": _("vCPUs"),
    "quota_ram_mib": _("Memory (MiB)"),
    "quota_images": _("Images"),
    "quota_image_bytes": _("Image data (bytes)"),
    "quota_image_uploads": _("Image uploads at a time"),
    "quota_networks": _("Networks"),
    "quota_subnets": _("Subnets"),
    "quota_ports": _("Ports"),
    "quota_routers": _("Routers"),
    "quota_floating_ips": _("Floating addresses"),
    "quota_security_groups": _("Security groups"),
    "quota_security_group_rules": _("Security group rules"),
    "quota_volumes": _("Volumes"),
    "quota_volume_gib": _("Volumes and snapshots (GiB)"),
    "quota_volume_snapshots": _("Volume snapshots"),
    "quota_volume_backups": _("Volume backups"),
    "quota_volume_backup_gib": _("Volume backups (GiB)"),
    "quota_metadata_items": _("Metadata items of an instance"),
    "quota_injected_files": _("Injected files of a request"),
    "quota_injected_file_content_bytes": _("Bytes of an injected file"),
    "quota_injected_file_path_bytes": _("Bytes of its path"),
    "quota_key_pairs": _("Key pairs of a user"),
    "quota_server_groups": _("Server groups"),
    "quota_server_group_members": _("Members of a server group"),
}


class ProjectForm(forms.Form):
    """Name and quotas; an empty quota is the installation's default."""

    name = forms.CharField(label=_("Name"), max_length=64, help_text=_("Up to 64 characters."))
    description = forms.CharField(label=_("Description"), required=False, max_length=255)
    enabled = forms.BooleanField(
        label=_("Enabled"),
        required=False,
        initial=True,
        help_text=_("Off: nobody can act in it. What runs goes on running."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        defaults = quota_defaults()
        for name, label in QUOTAS.items():
            default = getattr(defaults, name.removeprefix("quota_"))
            self.fields[name] = forms.IntegerField(
                label=label,
                required=False,
                min_value=-1,
                widget=forms.NumberInput(attrs={"class": "short"}),
                help_text=gettext("Empty: the default, unlimited. -1: unlimited.")
                if default < 0
                else gettext("Empty: the default, %(default)s. -1: unlimited.") % {"default": _readable(name, default)},
            )

    @property
    def about(self) -> list[forms.BoundField]:
        """What is no quota and no switch."""
        return [self["name"], self["description"]]

    @property
    def quotas(self) -> list[forms.BoundField]:
        """The limits."""
        return [self[name] for name in QUOTAS]


def _readable(name: str, default: int) -> str:
    """As it would be written into the field; of many bytes, in larger units as well."""
    return f"{default} ({bytes_text(default)})" if name.endswith("_bytes") and default >= 1024 else str(default)


@require_safe
@page("projects:read")
def project_list_view(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Every project with its use; a page costs a constant number of queries."""
    return list_response(request, caller, PROJECTS)


@require_safe
@page("projects:read")
def project_detail(request: HttpRequest, caller: Caller, project_id: uuid.UUID) -> HttpResponse:
    """One project: use, limits, and who has which role."""
    project = project_get(project_id=project_id)
    context = {
        "project": project,
        "quota": quota_state(project_id=project.pk),
        "image_quota": image_quota_state(project_id=project.pk),
        "network_quota": network_quota_state(project_id=project.pk),
        "volume_quota": volume_quota_state(project_id=project.pk),
        "owner_quota": owner_quota_state(project_id=project.pk),
        "user_quotas": list(user_quotas_of(project_id=project.pk)),
        "assignments": roles_in(project=project),
        "group_assignments": group_roles_in(project=project),
        "usernames": usernames_offered(),
        "roles": [role.value for role in Role],
    }
    return show(request, caller, "dashboard/identity/project_detail.html", "projects", **context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("projects:write")
def project_new(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Make a project."""
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = project_create(**form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(
                request,
                gettext("%(name)s was created. Give somebody a role in it.") % {"name": project.name},
                extra_tags="good",
            )
            return redirect("project", project_id=project.pk)
    return show(request, caller, "dashboard/identity/project_form.html", "projects", form=form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("projects:write")
def project_edit(request: HttpRequest, caller: Caller, project_id: uuid.UUID) -> HttpResponse:
    """Change name, quotas and whether it is enabled."""
    project = project_get(project_id=project_id)
    name = project.name
    form = ProjectForm(request.POST or None, initial={one: getattr(project, one) for one in ProjectForm().fields})
    if request.method == "POST" and form.is_valid():
        try:
            project_update(project=project, **form.cleaned_data)
        except KilonovaError as error:
            errors_add(form, error, {})
        else:
            messages.success(request, gettext("%(name)s was changed.") % {"name": project.name}, extra_tags="good")
            return redirect("project", project_id=project.pk)
    context = {"form": form, "project_id": project_id, "name": name}
    return show(request, caller, "dashboard/identity/project_form.html", "projects", **context)
