"""Which page of the panel shows the same as which page of the admin: links lead both ways."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode

from controlplane.infra.admin.site import Reference


@dataclass(frozen=True, slots=True)
class PanelPage:
    """A model's list in the panel, and the page of one: its route, what the route calls it, and by what it is found.

    Without a route for one the list is all that there is. `of` is the row's attribute whose page it is, for rows that
    are shown on the page of something else.
    """

    model: str
    listed: str
    route: str = ""
    argument: str = ""
    of: str = "pk"


PANEL_PAGES: tuple[PanelPage, ...] = (
    PanelPage("servers.Instance", "instances", "instance", "instance_id"),
    PanelPage("servers.InstanceAction", "work", "instance", "instance_id", "instance_uuid"),
    PanelPage("servers.InstanceFault", "instances", "instance", "instance_id", "instance_uuid"),
    PanelPage("servers.BulkJob", "bulk-jobs", "bulk-job", "job_id"),
    PanelPage("servers.Flavor", "flavors", "flavor", "flavor_id"),
    PanelPage("servers.Image", "images", "image", "image_id"),
    PanelPage("servers.ImageTask", "images", "image", "image_id", "image_id"),
    PanelPage("servers.KeyPair", "keypairs"),
    PanelPage("servers.ServerGroup", "server-groups", "server-group", "group_id"),
    PanelPage("servers.ConsoleSession", "console-sessions", "instance", "instance_id", "instance_uuid"),
    PanelPage("servers.Network", "networks", "network", "network_id"),
    PanelPage("servers.Subnet", "networks", "network", "network_id", "network_id"),
    PanelPage("servers.Port", "ports", "port", "port_id"),
    PanelPage("servers.Router", "routers", "router", "router_id"),
    PanelPage("servers.FloatingIP", "floating-ips"),
    PanelPage("servers.SecurityGroup", "security-groups", "security-group", "group_id"),
    PanelPage("servers.SecurityGroupRule", "security-groups", "security-group", "group_id", "group_id"),
    PanelPage("servers.Volume", "volumes", "volume", "volume_id"),
    PanelPage("servers.VolumeSnapshot", "volume-snapshots", "volume", "volume_id", "volume_id"),
    PanelPage("servers.VolumeBackup", "volume-backups"),
    PanelPage("servers.VolumeType", "volume-types"),
    PanelPage("servers.StoragePool", "storage-pools", "storage-pool", "pool_id"),
    PanelPage("scheduling.ComputeNode", "hosts", "host", "host", "host"),
    PanelPage("scheduling.Service", "hosts", "host", "host", "host"),
    PanelPage("scheduling.BuildFailures", "hosts", "host", "host", "host"),
    PanelPage("servers.AgentCredential", "hosts", "host", "host", "host"),
    PanelPage("servers.OrphanGuest", "drift"),
    PanelPage("servers.PoolSighting", "drift"),
    PanelPage("servers.DriftSighting", "drift"),
    PanelPage("scheduling.Aggregate", "aggregates"),
    PanelPage("scheduling.SchedulingDecision", "decisions", "decision", "decision_id"),
    PanelPage("scheduling.SchedulerPolicy", "policies", "policy", "policy_id"),
    PanelPage("placement.ResourceProvider", "providers", "provider", "provider_uuid", "uuid"),
    PanelPage("identity.Project", "projects", "project", "project_id"),
    PanelPage("identity.User", "users", "user", "user_id"),
    PanelPage("identity.UserGroup", "user-groups", "user-group", "user_group_id"),
    PanelPage("identity.SavedView", "saved-views"),
    PanelPage("audit_log.AuditLogEntry", "audit-log"),
    PanelPage("work.Work", "work"),
    PanelPage("work.Heal", "heals"),
)
_BY_MODEL = {page.model: page for page in PANEL_PAGES}
_OWN = [page for page in PANEL_PAGES if page.route and page.of in {"pk", "uuid"}]
_BY_ROUTE = {page.route: page for page in _OWN}
_BY_LIST = {page.listed: page for page in reversed(PANEL_PAGES)}

REFERENCES: dict[str, Reference] = {
    "project_id": Reference("identity.Project"),
    "user_project_id": Reference("identity.Project"),
    "user_id": Reference("identity.User", "username"),
    "created_by_id": Reference("identity.User", "username"),
    "revoked_by_id": Reference("identity.User", "username"),
    "instance_uuid": Reference("servers.Instance"),
    "instance_id": Reference("servers.Instance"),
    "volume_id": Reference("servers.Volume"),
    "volume_type_id": Reference("servers.VolumeType"),
    "image_id": Reference("servers.Image"),
    "shelved_image_id": Reference("servers.Image"),
    "flavor_id": Reference("servers.Flavor"),
    "aggregate_uuid": Reference("scheduling.Aggregate"),
    "cell_id": Reference("scheduling.Cell"),
    "compute_node_uuid": Reference("scheduling.ComputeNode", "hypervisor_hostname"),
    "decision_id": Reference("scheduling.SchedulingDecision", "verdict"),
}
"""What columns of ids without a foreign key mean, by their name, in every table."""

OF_ONE_TABLE: dict[tuple[str, str], Reference] = {
    ("work.Work", "subject"): Reference("servers.Instance"),
    ("work.Heal", "subject"): Reference("servers.Instance"),
    ("placement.Consumer", "uuid"): Reference("servers.Instance"),
    ("placement.PlacementAggregate", "uuid"): Reference("scheduling.Aggregate"),
    ("scheduling.SchedulingDecision", "subject"): Reference("servers.Instance"),
}
"""And what they mean in one table; an id that is of something else stays an id."""


def panel_path_of(row: Model) -> str:
    """The panel's page of a row of the admin; empty where it has none."""
    page = _BY_MODEL.get(row._meta.label)
    value = getattr(row, page.of, None) if page is not None and page.route else None
    if page is None or not value:
        return ""
    try:
        return reverse(page.route, kwargs={page.argument: value})
    except NoReverseMatch:  # a host's name that no path can have
        return ""


def has_page(model: type[Model]) -> bool:
    """Whether one such row is shown on a page of the panel."""
    page = _BY_MODEL.get(model._meta.label)
    return page is not None and bool(page.route)


def panel_list_of(model: type[Model]) -> str:
    """The panel's list of the same things; empty where it has none."""
    page = _BY_MODEL.get(model._meta.label)
    return reverse(page.listed) if page is not None else ""


def admin_path_of(request: HttpRequest) -> str:
    """The admin's page of what a page of the panel shows, for whoever may see it there; else empty."""
    found, user = request.resolver_match, request.user
    if found is None or not (user.is_authenticated and user.is_staff):
        return ""
    page = _BY_ROUTE.get(found.view_name)
    if page is not None and (one := found.kwargs.get(page.argument)):
        return _admin_page(user, page, one)
    if found.view_name == "host":
        return _admin_list(user, _BY_MODEL["scheduling.Service"], {"host": found.kwargs["host"]})
    listed = _BY_LIST.get(found.view_name)
    return _admin_list(user, listed, {}) if listed is not None else ""


def _may_see(user: Any, model: type[Model]) -> bool:
    return bool(user.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}"))


def _admin_page(user: Any, page: PanelPage, one: Any) -> str:
    model = apps.get_model(page.model)
    if not _may_see(user, model):
        return ""
    if page.of != "pk":
        return _admin_list(user, page, {"q": one})
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[one])


def _admin_list(user: Any, page: PanelPage, query: dict[str, Any]) -> str:
    model = apps.get_model(page.model)
    if not _may_see(user, model):
        return ""
    path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{path}?{urlencode(query)}" if query else path
