"""Services, compute nodes and cells in the admin, with their removal, which looks at instances and agents as well."""

from typing import Any
from urllib.parse import quote

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.kernel.texts import gettext_noop
from controlplane.work.control import Operator
from scheduling.admin.fleet import CellAdmin, ComputeNodeAdmin, ServiceAdmin
from servers.admin.bulk_jobs import bulk_admin_action
from servers.bulk.domain import BulkKind
from servers.hosts.services.cells import cell_delete
from servers.hosts.services.removal import host_remove

QUESTION = gettext_noop(
    "These hosts are removed with their compute nodes, providers, memberships of aggregates and the secrets of their "
    "agents. One that takes instances, or has instances or work, stays."
)
FORCE_QUESTION = gettext_noop(
    "These hosts are removed even with instances on them, which stay in the database without a host that runs them and "
    "hold nothing any more; nothing is moved elsewhere. One that is not forced down stays."
)


REMOVALS = ["remove_hosts", "remove_hosts_by_force"]


class RemovesHosts(ReadOnlyAdmin):
    """Both removals as actions on rows that name a host: a line for each that is refused. "View on site" leads to the
    host's page in the panel.
    """

    def view_on_site(self, row: Any) -> str:
        """The page of the row's host."""
        return f"/hosts/{quote(row.host, safe='')}/"

    @destructive(description=gettext_noop("Remove selected hosts"), permissions=["operate"], question=QUESTION)
    def remove_hosts(self, request: HttpRequest, queryset: QuerySet) -> None:  # type: ignore[type-arg]  # of either model
        _remove(self, request, queryset, force=False)

    @destructive(
        description=gettext_noop("Remove selected hosts by force: they are dead"),
        permissions=["operate"],
        question=FORCE_QUESTION,
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
        said=gettext_noop("%(count)s removed."),
    )


class ServiceLifeAdmin(RemovesHosts, ServiceAdmin):
    """Services with their state by the database's clock; fenced, and removed with their hosts."""

    actions = [*ServiceAdmin.actions, *REMOVALS]


class ComputeNodeLifeAdmin(RemovesHosts, ComputeNodeAdmin):
    """Hypervisors as they reported themselves; their hosts are enabled, disabled and removed."""

    actions = [
        bulk_admin_action(
            BulkKind.HOST,
            "enable",
            name="enable_hosts",
            description=gettext_noop("Enable the hosts: new instances may come"),
        ),
        bulk_admin_action(
            BulkKind.HOST,
            "disable",
            name="disable_hosts",
            description=gettext_noop("Disable the hosts: no new instances"),
        ),
        *REMOVALS,
    ]


class CellLifeAdmin(CellAdmin):
    """Cells; new instances can be kept out of one, and one that nobody is in can go."""

    actions = [*CellAdmin.actions, "delete_cells"]

    @destructive(
        description=gettext_noop("Delete selected cells"),
        permissions=["operate"],
        question=gettext_noop(
            "These cells are deleted. One that has hosts or instances stays, and so do cell0 and cell1."
        ),
    )
    def delete_cells(self, request: HttpRequest, queryset: QuerySet) -> None:  # type: ignore[type-arg]
        """One after the other; a refusal does not keep the others."""
        run_on_each(
            self,
            request,
            list(queryset),
            lambda cell: cell_delete(cell_id=cell.pk),
            said=gettext_noop("%(count)s deleted."),
        )


for name, shown in (("Service", ServiceLifeAdmin), ("ComputeNode", ComputeNodeLifeAdmin), ("Cell", CellLifeAdmin)):
    # The scheduler's own admin cannot know of instances, which are above it.
    model = apps.get_model("scheduling", name)
    admin.site.unregister(model)
    admin.site.register(model, shown)
