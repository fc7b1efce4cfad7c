"""Cells, services and compute nodes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from scheduling.fleet.selectors.liveness import with_is_up
from scheduling.fleet.services.cells import cell_set_disabled
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from scheduling.models import Cell, ComputeNode, HostMapping, Service


@admin.register(Cell)
class CellAdmin(ReadOnlyAdmin):
    """Cells; new instances can be kept out of one."""

    list_display = ["name", "id", "disabled", "created_at"]
    list_filter = ["disabled"]
    search_fields = ["name", "id"]
    actions = ["disable", "enable"]

    @admin.action(description="No new instances in the chosen cells", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        run_on_each(self, request, queryset, lambda cell: cell_set_disabled(cell_id=cell.id, disabled=True))

    @admin.action(description="New instances in the chosen cells again", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        run_on_each(self, request, queryset, lambda cell: cell_set_disabled(cell_id=cell.id, disabled=False))


@admin.register(HostMapping)
class HostMappingAdmin(ReadOnlyAdmin):
    """Which host is in which cell."""

    list_display = ["host", "cell", "created_at"]
    list_filter = ["cell"]
    list_select_related = ["cell"]
    search_fields = ["host"]


@admin.register(Service)
class ServiceAdmin(ReadOnlyAdmin):
    """Services with their state by the database's clock."""

    list_display = ["host", "binary", "is_up", "disabled", "disabled_reason", "forced_down", "last_seen_up", "version"]
    list_filter = ["disabled", "forced_down", "binary", "version"]
    search_fields = ["host", "id", "disabled_reason"]
    actions = ["enable", "disable", "force_down", "force_down_end"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Service]:
        return with_is_up(super().get_queryset(request))

    @admin.display(description="up", boolean=True)
    def is_up(self, service: Service) -> bool:
        return bool(getattr(service, "is_up", False))

    @admin.action(description="Enable: new instances may come", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_enable(host=row.host))

    @admin.action(description="Disable: no new instances", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service; the reason names who did it."""
        reason = f"disabled in the admin by {request.user.get_username()}"
        run_on_each(self, request, queryset, lambda row: service_disable(host=row.host, reason=reason))

    @destructive(
        description="Force down: the host is dead",
        permissions=["operate"],
        question="These hosts count as dead. Say so only where no guest can still run: another may take their place.",
    )
    def force_down(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_force_down(host=row.host, forced_down=True))

    @admin.action(description="No longer forced down", permissions=["operate"])
    def force_down_end(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_force_down(host=row.host, forced_down=False))


@admin.register(ComputeNode)
class ComputeNodeAdmin(ReadOnlyAdmin):
    """Hypervisors as they reported themselves."""

    list_display = [
        "hypervisor_hostname",
        "host",
        "hypervisor_type",
        "virt_type",
        "vcpus",
        "memory_mib",
        "disk_gib",
        "running_guests",
        "failed_builds",
        "agent_version",
        "libvirt_version",
        "clock_skew_s",
        "metrics_at",
    ]
    list_filter = [
        "hypervisor_type", "virt_type", "arch", "agent_version", "protocol_version", "libvirt_version", "os_name",
    ]  # fmt: skip
    search_fields = ["hypervisor_hostname", "host", "id", "host_ip"]
