"""Saved views: a list of the panel as somebody wants to find it again."""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl, urlencode

from controlplane.kernel.texts import gettext_noop


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A list's title and address in the panel."""

    title: str
    path: str


LISTS: dict[str, ListPlace] = {
    "instances": ListPlace(gettext_noop("Instances"), "/instances/"),
    "images": ListPlace(gettext_noop("Images"), "/images/"),
    "flavors": ListPlace(gettext_noop("Flavors"), "/flavors/"),
    "keypairs": ListPlace(gettext_noop("Key pairs"), "/keypairs/"),
    "server-groups": ListPlace(gettext_noop("Server groups"), "/server-groups/"),
    "networks": ListPlace(gettext_noop("Networks"), "/networks/"),
    "ports": ListPlace(gettext_noop("Ports"), "/ports/"),
    "routers": ListPlace(gettext_noop("Routers"), "/routers/"),
    "floating-ips": ListPlace(gettext_noop("Floating addresses"), "/floating-ips/"),
    "security-groups": ListPlace(gettext_noop("Security groups"), "/security-groups/"),
    "volumes": ListPlace(gettext_noop("Volumes"), "/volumes/"),
    "volume-snapshots": ListPlace(gettext_noop("Volume snapshots"), "/volume-snapshots/"),
    "volume-backups": ListPlace(gettext_noop("Volume backups"), "/volume-backups/"),
    "volume-types": ListPlace(gettext_noop("Volume types"), "/volume-types/"),
    "storage-pools": ListPlace(gettext_noop("Storage pools"), "/storage-pools/"),
    "hosts": ListPlace(gettext_noop("Hosts"), "/hosts/"),
    "aggregates": ListPlace(gettext_noop("Aggregates"), "/aggregates/"),
    "providers": ListPlace(gettext_noop("Resource providers"), "/providers/"),
    "decisions": ListPlace(gettext_noop("Scheduling decisions"), "/decisions/"),
    "policies": ListPlace(gettext_noop("Scheduler policies"), "/policies/"),
    "work": ListPlace(gettext_noop("Work"), "/work/"),
    "bulk-jobs": ListPlace(gettext_noop("Bulk jobs"), "/bulk-jobs/"),
    "consoles": ListPlace(gettext_noop("Console sessions"), "/consoles/"),
    "drift": ListPlace(gettext_noop("Drift"), "/drift/"),
    "heals": ListPlace(gettext_noop("Repairs"), "/heals/"),
    "audit-log": ListPlace(gettext_noop("Audit log"), "/audit-log/"),
    "webhooks": ListPlace(gettext_noop("Webhooks"), "/webhooks/"),
    "projects": ListPlace(gettext_noop("Projects"), "/projects/"),
    "users": ListPlace(gettext_noop("Users"), "/users/"),
    "user-groups": ListPlace(gettext_noop("Groups"), "/user-groups/"),
}
"""The lists that have views, by the name that a view holds, and where each is."""
NAME_MAX, QUERY_MAX = 80, 2000
# What says where in a list one is, or how one got there, is no part of a view.
_NOT_SAVED = {"page", "view", "export"}


class Sharing(StrEnum):
    """Who sees a view besides its owner."""

    PRIVATE = "private"
    PROJECT = "project"
    ALL = "all"


def query_saved(text: str) -> str:
    """A query as a view holds it: without the page. Raises ValueError for what is no query."""
    pairs = parse_qsl(text.removeprefix("?"), keep_blank_values=True, strict_parsing=bool(text.removeprefix("?")))
    if any("\x00" in part for pair in pairs for part in pair):
        raise ValueError("NUL")
    return urlencode([(name, value) for name, value in pairs if name not in _NOT_SAVED])


def list_choices() -> list[tuple[str, str]]:
    """(name, title) of each list. A function, so that a new list needs no migration."""
    return [(name, place.title) for name, place in LISTS.items()]
