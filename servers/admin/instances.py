"""Instances and what hangs on them, to look at. Their states are written by services."""

from django.contrib import admin
from django.http import HttpRequest

from controlplane.infra.admin import ReadOnlyAdmin
from servers.domain.states import api_status
from servers.models import AttemptRecord, ConsoleLog, Instance, InstanceFault, InstanceTag, Port


class TagInline(admin.TabularInline[InstanceTag, Instance]):
    """Its tags."""

    model = InstanceTag
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """By the API."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """By the API."""
        return False


@admin.register(Instance)
class InstanceAdmin(ReadOnlyAdmin):
    """Virtual machines, the deleted ones too."""

    list_display = ["name", "status", "vm_state", "task_state", "power_state", "host", "project_id", "created_at"]
    list_filter = ["vm_state", "task_state", "power_state", "availability_zone", "host"]
    search_fields = ["id", "name", "host", "project_id", "request_id", "reservation_id"]
    date_hierarchy = "created_at"
    inlines = [TagInline]
    exclude = ["user_data"]

    @admin.display(description="Status")
    def status(self, instance: Instance) -> str:
        """As the API shows it."""
        return api_status(instance.vm_state, instance.task_state)


@admin.register(InstanceFault)
class InstanceFaultAdmin(ReadOnlyAdmin):
    """Why things failed."""

    list_display = ["instance_uuid", "message", "step", "host", "code", "created_at"]
    list_filter = ["code", "step", "host"]
    search_fields = ["instance_uuid", "message", "host"]
    date_hierarchy = "created_at"


@admin.register(AttemptRecord)
class AttemptRecordAdmin(ReadOnlyAdmin):
    """Hosts that were tried."""

    list_display = ["instance_uuid", "number", "host", "outcome", "started_at", "finished_at"]
    list_filter = ["outcome", "host"]
    search_fields = ["instance_uuid", "host", "reason"]


@admin.register(Port)
class PortAdmin(ReadOnlyAdmin):
    """Interfaces of instances."""

    list_display = ["mac", "instance_uuid", "network_name", "hypervisor_network", "created_at"]
    list_filter = ["network_name"]
    search_fields = ["mac", "instance_uuid"]


@admin.register(ConsoleLog)
class ConsoleLogAdmin(ReadOnlyAdmin):
    """The ends of serial logs."""

    list_display = ["instance_uuid", "updated_at"]
    search_fields = ["instance_uuid"]
