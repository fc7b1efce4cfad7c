"""Services, compute nodes and cells in the admin, with their removal, which looks at instances and agents as well."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.work.control import Operator
from scheduling.admin.fleet import CellAdmin, ComputeNodeAdmin, ServiceAdmin
from servers.hosts.services.cells import cell_delete
from servers.hosts.services.removal import host_remove

QUESTION = (
    "These hosts are removed with their compute nodes, providers, memberships of aggregates and the secrets of their "
    "agents. One that takes instances, or has instances or work, stays."
)
FORCE_QUESTION = (
    "These hosts are removed even with instances on them, which stay in the database without a host that runs them and "
    "hold nothing any more; nothing is moved elsewhere. One that is not forced down stays."
)


REMOVALS = ["remove_hosts", "remove_hosts_by_force"]


class RemovesHosts(ReadOnlyAdmin):
    """Both removals as actions on rows that name a host: a line for each that is refused."""

    @destructive(description="Remove selected hosts", permissions=["operate"], question=QUESTION)
    def remove_hosts(self, request: HttpRequest, queryset: QuerySet) -> None:  # type: ignore[type-arg]  # of either model
        _remove(self, request, queryset, force=False)

    @destructive(
        description="Remove selected hosts by force: they are dead", permissions=["operate"], question=FORCE_QUESTION
    )
    def remove_hosts_by_force(self, request: HttpRequest, queryset: QuerySet) -> None:  # type: ignore[type-arg]
        _remove(self, request, queryset, force=True)


def _remove(model_admin: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet, *, force: bool) -> None:  # type: ignore[type-arg]
    user_id: Any = request.user.pk
    operator = Operator(user_id=user_id, name=request.user.get_username())
    run_on_each(
        model_admin,
        request,
        list(rows),
        lambda row: host_remove(host=row.host, force=force, operator=operator),
        word="removed",
    )


class ServiceLifeAdmin(RemovesHosts, ServiceAdmin):
    """Services with their state by the database's clock; fenced, and removed with their hosts."""

    actions = [*ServiceAdmin.actions, *REMOVALS]


class ComputeNodeLifeAdmin(RemovesHosts, ComputeNodeAdmin):
    """Hypervisors as they reported themselves; removed with their hosts."""

    actions = REMOVALS


class CellLifeAdmin(CellAdmin):
    """Cells; new instances can be kept out of one, and one that nobody is in can go."""

    actions = [*CellAdmin.actions, "delete_cells"]

    @destructive(
        description="Delete selected cells",
        permissions=["operate"],
        question="These cells are deleted. One that has hosts or instances stays, and so do cell0 and cell1.",
    )
    def delete_cells(self, request: HttpRequest, queryset: QuerySet) -> None:  # type: ignore[type-arg]
        """One after the other; a refusal does not keep the others."""
        run_on_each(self, request, list(queryset), lambda cell: cell_delete(cell_id=cell.pk), word="deleted")


for name, shown in (("Service", ServiceLifeAdmin), ("ComputeNode", ComputeNodeLifeAdmin), ("Cell", CellLifeAdmin)):
    # The scheduler's own admin cannot know of instances, which are above it.
    model = apps.get_model("scheduling", name)
    admin.site.unregister(model)
    admin.site.register(model, shown)
