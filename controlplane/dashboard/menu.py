"""The menu of every page: subjects with their pages, and how much of each needs a look."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.dashboard.menu_counts import MenuCount
from controlplane.dashboard.shortcuts import GO_KEYS
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import gettext_noop


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of the menu. `section` is what its views say they belong to; `action` is what a caller needs. `title` is
    English, as all titles of the menu are: pages translate it.
    """

    section: str
    title: str
    path: str
    action: str

    @property
    def key(self) -> str:
        """The letter that leads there after G; empty where there is none."""
        return GO_KEYS.get(self.section, "")


@dataclass(frozen=True, slots=True)
class MenuSubject:
    """Pages that belong together, under one heading."""

    title: str
    pages: tuple[MenuPage, ...]


MENU: tuple[MenuSubject, ...] = (
    MenuSubject(gettext_noop("Overview"), (MenuPage("overview", gettext_noop("Overview"), "/", "overview:read"),)),
    MenuSubject(
        gettext_noop("Compute"),
        (
            MenuPage("instances", gettext_noop("Instances"), "/instances/", "instances:read"),
            MenuPage("images", gettext_noop("Images"), "/images/", "images:read"),
            MenuPage("flavors", gettext_noop("Flavors"), "/flavors/", "flavors:read"),
            MenuPage("keypairs", gettext_noop("Key pairs"), "/keypairs/", "keypairs:read"),
            MenuPage("server-groups", gettext_noop("Server groups"), "/server-groups/", "server_groups:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Network"),
        (
            MenuPage("networks", gettext_noop("Networks"), "/networks/", "networks:read"),
            MenuPage("ports", gettext_noop("Ports"), "/ports/", "ports:read"),
            MenuPage("routers", gettext_noop("Routers"), "/routers/", "routers:read"),
            MenuPage("floating-ips", gettext_noop("Floating addresses"), "/floating-ips/", "floating_ips:read"),
            MenuPage("security-groups", gettext_noop("Security groups"), "/security-groups/", "security_groups:read"),
            MenuPage("reachability", gettext_noop("Reachability"), "/reachability/", "reachability:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Storage"),
        (
            MenuPage("volumes", gettext_noop("Volumes"), "/volumes/", "volumes:read"),
            MenuPage("volume-snapshots", gettext_noop("Snapshots"), "/volume-snapshots/", "volume_snapshots:read"),
            MenuPage("volume-backups", gettext_noop("Backups"), "/volume-backups/", "volume_backups:read"),
            MenuPage("volume-types", gettext_noop("Types"), "/volume-types/", "volume_types:read"),
            MenuPage("storage-pools", gettext_noop("Pools"), "/storage-pools/", "storage_pools:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Fleet"),
        (
            MenuPage("hosts", gettext_noop("Hosts"), "/hosts/", "hosts:read"),
            MenuPage("fleet-map", gettext_noop("Map"), "/hosts/map/", "hosts:read"),
            MenuPage("aggregates", gettext_noop("Aggregates"), "/aggregates/", "aggregates:read"),
            MenuPage("providers", gettext_noop("Providers"), "/providers/", "placement:read"),
            MenuPage("capacity", gettext_noop("Capacity"), "/capacity/", "capacity:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Scheduling"),
        (
            MenuPage("decisions", gettext_noop("Decisions"), "/decisions/", "decisions:read"),
            MenuPage("policies", gettext_noop("Policies"), "/policies/", "policies:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Operations"),
        (
            MenuPage("work", gettext_noop("Work"), "/work/", "work:read"),
            MenuPage("bulk-jobs", gettext_noop("Bulk jobs"), "/bulk-jobs/", "bulk_jobs:read"),
            MenuPage("consoles", gettext_noop("Consoles"), "/consoles/", "instances:console"),
            MenuPage("drift", gettext_noop("Drift"), "/drift/", "drift:read"),
            MenuPage("webhooks", gettext_noop("Webhooks"), "/webhooks/", "webhooks:read"),
            MenuPage("audit-log", gettext_noop("Audit log"), "/audit-log/", "audit_log:read"),
            MenuPage("settings", gettext_noop("Settings"), "/settings/", "settings:read"),
        ),
    ),
    MenuSubject(
        gettext_noop("Identity"),
        (
            MenuPage("projects", gettext_noop("Projects"), "/projects/", "projects:read"),
            MenuPage("users", gettext_noop("Users"), "/users/", "users:read"),
            MenuPage("user-groups", gettext_noop("Groups"), "/user-groups/", "groups:read"),
            MenuPage("access-rules", gettext_noop("Access rules"), "/access-rules/", "access_rules:read"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class MenuPageShown:
    """A page as one caller sees it from one page. `count` is what needs a look there; None where nothing is counted."""

    page: MenuPage
    is_current: bool
    count: MenuCount | None


@dataclass(frozen=True, slots=True)
class MenuSubjectShown:
    """A subject as one caller sees it from one page."""

    title: str
    pages: tuple[MenuPageShown, ...]


def menu_of(caller: Caller, section: str, counts: Mapping[str, MenuCount] | None = None) -> list[MenuSubjectShown]:
    """The subjects of which the caller may open a page, each with those pages."""
    known = counts or {}
    entries = []
    for subject in MENU:
        pages = tuple(
            MenuPageShown(one, one.section == section, known.get(one.section))
            for one in subject.pages
            if allows(caller, one.action)
        )
        if pages:
            entries.append(MenuSubjectShown(subject.title, pages))
    return entries
