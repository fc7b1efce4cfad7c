"""Which instances hosts have, and how many of them are busy, for lists of hosts."""

import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, F, Sum

from servers.models import Instance


def instances_by_host(hosts: Collection[str]) -> dict[str, list[tuple[uuid.UUID, str]]]:
    """Ids and names of the living instances of each of these hosts. One query."""
    found: dict[str, list[tuple[uuid.UUID, str]]] = defaultdict(list)
    rows = Instance.objects.filter(host__in=list(hosts), deleted_at__isnull=True).order_by("name", "pk")
    for host, pk, name in rows.values_list("host", "pk", "name"):
        found[host].append((pk, name))
    return dict(found)


def busy_by_host(hosts: Collection[str] | None = None) -> dict[str, int]:
    """How many living instances of each of these hosts, or of all, have a task under way. One query."""
    rows = Instance.objects.filter(deleted_at__isnull=True).exclude(task_state="").exclude(host="")
    if hosts is not None:
        rows = rows.filter(host__in=list(hosts))
    return dict(rows.order_by().values("host").annotate(busy=Count("pk")).values_list("host", "busy"))


@dataclass(frozen=True, slots=True)
class ProjectOnHost:
    """What the living instances of one project have of a host together."""

    project_id: uuid.UUID
    vcpus: int
    memory_mib: int
    disk_gib: int


def projects_on_host(*, host: str) -> list[ProjectOnHost]:
    """Of each project that has an instance there. One query."""
    rows = Instance.objects.filter(host=host, deleted_at__isnull=True).order_by("project_id").values("project_id")
    found = rows.annotate(
        cpus=Sum("vcpus"), memory=Sum("memory_mib"), disk=Sum(F("root_gib") + F("ephemeral_gib"))
    ).values_list("project_id", "cpus", "memory", "disk")
    return [ProjectOnHost(*values) for values in found]
