"""Cells, services and compute nodes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.infra.admin.filters import named, typed, typed_number
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.liveness import with_is_up
from scheduling.fleet.services.cells import cell_set_disabled
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from scheduling.models import Cell, ComputeNode, HostMapping, HostUsageSample, Service


@admin.register(Cell)
class CellAdmin(ReadOnlyAdmin):
    """Cells; new instances can be kept out of one."""

    list_display = ["name", "disabled", "created_at"]
    list_filter = ["disabled"]
    search_fields = ["name", "id"]
    actions = ["disable", "enable"]

    @admin.action(description=gettext_noop("No new instances in the chosen cells"), permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        run_on_each(self, request, queryset, lambda cell: cell_set_disabled(cell_id=cell.id, disabled=True))

    @admin.action(description=gettext_noop("New instances in the chosen cells again"), permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        run_on_each(self, request, queryset, lambda cell: cell_set_disabled(cell_id=cell.id, disabled=False))


@admin.register(HostMapping)
class HostMappingAdmin(ReadOnlyAdmin):
    """Which host is in which cell."""

    list_display = ["host", "cell", "created_at"]
    list_filter = [named("cell"), typed("host")]
    list_select_related = ["cell"]
    search_fields = ["host"]


@admin.register(Service)
class ServiceAdmin(ReadOnlyAdmin):
    """Services with their state by the database's clock."""

    list_display = ["host", "up", "disabled", "disabled_reason", "forced_down", "last_seen_up", "version"]
    list_filter = ["disabled", "forced_down", typed("host"), typed_number("version")]
    search_fields = ["host", "id", "disabled_reason"]
    actions = ["enable", "disable", "force_down", "force_down_end"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Service]:
        return with_is_up(super().get_queryset(request))

    @admin.display(description=_("state"))
    def up(self, service: Service) -> SafeString:
        """In words and colour: a silent host is what one looks for here."""
        is_up = bool(getattr(service, "is_up", False))
        kind, word = ("good", "up") if is_up else ("bad", "down")
        return format_html('<span class="state-{}">{}</span>', kind, word)

    @admin.action(description=gettext_noop("Enable: new instances may come"), permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_enable(host=row.host))

    @admin.action(description=gettext_noop("Disable: no new instances"), permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service; the reason names who did it."""
        reason = f"disabled in the admin by {request.user.get_username()}"
        run_on_each(self, request, queryset, lambda row: service_disable(host=row.host, reason=reason))

    @destructive(
        description=gettext_noop("Force down: the host is dead"),
        permissions=["operate"],
        question=gettext_noop(
            "These hosts count as dead. Say so only where no guest can still run: another may take their place."
        ),
    )
    def force_down(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_force_down(host=row.host, forced_down=True))

    @admin.action(description=gettext_noop("No longer forced down"), permissions=["operate"])
    def force_down_end(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        run_on_each(self, request, queryset, lambda row: service_force_down(host=row.host, forced_down=False))


@admin.register(ComputeNode)
class ComputeNodeAdmin(ReadOnlyAdmin):
    """Hypervisors as they reported themselves."""

    list_display = [
        "hypervisor_hostname",
        "hypervisor_type",
        "vcpus",
        "memory_mib",
        "disk_gib",
        "running_guests",
        "agent_version",
        "libvirt_version",
        "metrics_at",
    ]
    list_filter = [typed("host"), typed("agent_version"), typed("libvirt_version"), typed("os_name")]
    search_fields = ["hypervisor_hostname", "host", "id", "host_ip"]


@admin.register(HostUsageSample)
class HostUsageSampleAdmin(ReadOnlyAdmin):
    """How busy hosts were, by five minutes and by the hour."""

    list_display = ["host", "step_s", "at_s", "cpu_percent", "memory_percent", "disk_percent", "running_guests"]
    list_filter = [typed("host"), typed_number("step_s", "step")]
    search_fields = ["host"]
