"""All pages of the dashboard as its URL conf has them, each at an address at which there is something to see.

A new page needs nothing here unless its address names something that no other page's does: then OBJECTS learns it.
"""

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.staticfiles import finders
from django.db import connection
from django.db.models import Count, Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern

from controlplane.dashboard.urls import urlpatterns
from controlplane.identity.models import Project, SavedView, User, UserGroup
from controlplane.notifications.models import Delivery, Webhook
from controlplane.work.models import Work
from scheduling.models import Aggregate, ComputeNode, SchedulerPolicy, SchedulingDecision
from servers.models import (
    BulkJob,
    Flavor,
    FloatingIP,
    Image,
    Instance,
    Network,
    Port,
    Router,
    SecurityGroup,
    ServerGroup,
    StoragePool,
    Subnet,
    Volume,
    VolumeBackup,
    VolumeSnapshot,
    VolumeType,
)

NOT_PAGES = {
    "healthz",  # for programs
    "readyz",
    "metrics",
    "events",  # a stream that does not end
    "favicon",
    "script-texts",  # a script
    "instance-console-log",  # files
    "instance-screen",
    "console-stream",  # a socket
    "login-oidc",  # ways to a provider and back, where there is one
    "login-oidc-callback",
    "console-open-vnc",  # windows that a token opens
    "console-open-serial",
}
NOBODY = "00000000-0000-0000-0000-00000000000a"
QUERIES = {
    "instances": "?all_projects=1",
    "simulate": "?run=1",
    "policy-preview": "?now=1",
}
"""What must be asked for so that a page is drawn at its fullest."""


@dataclass(frozen=True, slots=True)
class Route:
    """One entry of the URL conf: the names of what its address has, by the converter of each."""

    name: str
    pattern: str
    converters: dict[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page as a client got it, or a part of one. Bytes are compressed; those of its files are counted once."""

    name: str
    path: str
    status: int
    is_whole: bool
    page_bytes: int
    file_bytes: int
    queries: int


def routes() -> Iterator[Route]:
    """All that may be pages."""
    for entry in urlpatterns:
        if isinstance(entry, URLPattern) and entry.name not in NOT_PAGES:
            converters = {key: type(one).__name__ for key, one in entry.pattern.converters.items()}
            yield Route(str(entry.name), str(entry.pattern), converters)


def _first(model: type[Model], **where: Any) -> Callable[[], Any]:
    return lambda: model._default_manager.filter(**where).order_by("pk").values_list("pk", flat=True).first()


def _fullest_host() -> Any:
    here = Instance.objects.filter(vm_state="active", deleted_at=None).exclude(host="")
    return here.values("host").annotate(many=Count("pk")).order_by("-many", "host").values_list("host", flat=True)[0]


def _instance() -> Any:
    """One that runs on the fullest host, with a decision if there is such a one."""
    there = Instance.objects.filter(vm_state="active", task_state="", deleted_at=None)
    return there.order_by("decision_id", "pk").exclude(decision_id=None).values_list("pk", flat=True).first()


OBJECTS: dict[str, Callable[[], Any]] = {
    "instance_id": _instance,
    "host": _fullest_host,
    "image_id": _first(Image, status="active"),
    "flavor_id": _first(Flavor, name="m1.small"),
    "network_id": _first(Network, is_external=False),
    "subnet_id": _first(Subnet),
    "port_id": _first(Port),
    "router_id": _first(Router),
    "floating_ip_id": _first(FloatingIP),
    "project_id": _first(Project, name="shop"),
    "user_group_id": _first(UserGroup),
    "user_id": _first(User, username="shop-deploy"),
    "volume_id": _first(Volume),
    "snapshot_id": _first(VolumeSnapshot),
    "backup_id": _first(VolumeBackup),
    "type_id": _first(VolumeType),
    "pool_id": _first(StoragePool),
    "view_id": _first(SavedView),
    "aggregate_id": _first(Aggregate),
    "provider_uuid": lambda: ComputeNode.objects.get(host=_fullest_host()).pk,
    "work_id": _first(Work),
    "job_id": _first(BulkJob),
    "decision_id": _first(SchedulingDecision, outcome="no_valid_host"),
    "policy_id": _first(SchedulerPolicy),
    "webhook_id": _first(Webhook),
    "delivery_id": _first(Delivery),
    "action": lambda: "lock",
}
"""What stands in an address under this name. Names that are not here are of addresses for forms only."""
GROUPS = {"server": _first(ServerGroup), "security": _first(SecurityGroup)}


def _value(route: Route, name: str, kind: str) -> str:
    if name == "group_id":
        return str(next(found() for begin, found in GROUPS.items() if route.name.startswith(begin)))
    found = OBJECTS[name]() if name in OBJECTS else None
    return str(found if found is not None else NOBODY if kind == "UUIDConverter" else "nothing")


def address(route: Route) -> str:
    """Where it is seen."""
    path = re.sub(r"<(?:\w+:)?(\w+)>", lambda name: _value(route, name[1], route.converters[name[1]]), route.pattern)
    return f"/{path}{QUERIES.get(route.name, '')}"


def drawn_pages(client: Client) -> list[Drawn]:
    """All of them. What a page reads once in a process is read before its queries are counted."""
    return [drawn for route in routes() if (drawn := _drawn(client, route)) is not None]


def _drawn(client: Client, route: Route) -> Drawn | None:
    path = address(route)
    answer = client.get(path)
    if answer.status_code == 405:
        return None  # for forms
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path)
    text = answer.content if answer.status_code == 200 and not answer.streaming else b""
    is_whole = text.lstrip()[:14].lower() == b"<!doctype html"
    return Drawn(route.name, path, answer.status_code, is_whole, _packed(text), _files_bytes(text.decode()), len(seen))


def _packed(content: bytes) -> int:
    return len(gzip.compress(content, 6))


def _files_bytes(html: str) -> int:
    """Of the stylesheets and scripts that it names."""
    linked = set(re.findall(r"<(?:link[^>]*rel=\"stylesheet\"[^>]*href|script[^>]*src)=\"([^\"]+)\"", html))
    total = 0
    for one in linked:
        found = finders.find(re.sub(r"\.[0-9a-f]{12}(?=\.\w+$)", "", one.partition("/static/")[2]))
        assert found, f"{one} is no file of ours"
        with open(found, "rb") as file:
            total += _packed(file.read())
    return total
