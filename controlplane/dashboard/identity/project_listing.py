"""The list of projects, for admins."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.identity.filtersets import ProjectFilterSet
from controlplane.identity.selectors import limits_of_project, quota_defaults
from controlplane.identity.selectors.people import projects_listed
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.quota import QuotaAmounts
from servers.catalog.selectors.project_use import quota_usages, use_order
from servers.catalog.selectors.quota import QuotaLine


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project with what it uses of its limits."""

    project: Any
    instances: QuotaLine
    cores: QuotaLine
    memory: QuotaLine


def _prepared(_caller: Caller, projects: Sequence[Any], _asked: Asked) -> list[ProjectRow]:
    """Three queries, however many projects."""
    used = quota_usages(project_ids=[one.pk for one in projects])
    nothing = QuotaAmounts(**{each.name: 0 for each in fields(QuotaAmounts)})
    defaults = quota_defaults()
    rows = []
    for one in projects:
        own, limits = used.get(one.pk, nothing), limits_of_project(one, defaults)
        rows.append(
            ProjectRow(
                one,
                QuotaLine("Instances", "", own.instances, limits.instances),
                QuotaLine("vCPUs", "", own.cores, limits.cores),
                QuotaLine("Memory", "MiB", own.ram_mib, limits.ram_mib),
            )
        )
    return rows


PROJECTS = ListDeclaration(
    name="projects",
    thing="project",
    section="projects",
    cells="dashboard/identity/project_cells.html",
    columns=(
        Column(
            "name",
            gettext_noop("Project"),
            lambda row: row.project.name,
            natural_order("name"),
            is_fixed=True,
            css="name",
        ),
        Column("people", gettext_noop("Users"), lambda row: row.project.people, ("people",), is_number=True),
        Column(
            "instances", gettext_noop("Instances"), lambda row: row.instances.used, (use_order("pk"),), is_number=True
        ),
        Column("cores", gettext_noop("vCPUs"), lambda row: row.cores.used, (use_order("vcpus"),), is_number=True),
        Column(
            "memory", gettext_noop("Memory"), lambda row: row.memory.used, (use_order("memory_mib"),), is_number=True
        ),
        Column("enabled", gettext_noop("Enabled"), lambda row: row.project.enabled, ("enabled",), False),
        Column(
            "description", gettext_noop("Description"), lambda row: row.project.description, ("description",), False
        ),
        Column(
            "created", gettext_noop("Created"), lambda row: row.project.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.project.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: projects_listed(),
    prepare=_prepared,
    filterset=lambda _caller: ProjectFilterSet,
    filters=(
        ListFilter("enabled", gettext_noop("Enabled"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("name__icontains", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, description, user, id …"),
    head="dashboard/identity/project_list_head.html",
    empty="dashboard/identity/project_list_empty.html",
)
