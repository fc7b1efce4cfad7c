"""Instances and what hangs on them, to look at. Their states are written by services."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, run_on_each
from servers.instances.services.delete import instance_delete
from servers.instances.services.power import instance_act
from servers.models import AttemptRecord, ConsoleLog, Instance, InstanceFault, InstanceTag, Port
from servers.states import api_status


class TagInline(ReadOnlyInline):
    """Its tags. They are set by the API."""

    model = InstanceTag


@admin.register(Instance)
class InstanceAdmin(ReadOnlyAdmin):
    """Virtual machines, the deleted ones too."""

    list_display = ["name", "status", "vm_state", "task_state", "power_state", "host", "project_id", "created_at"]
    list_filter = ["vm_state", "task_state", "power_state", "availability_zone", "host"]
    search_fields = ["id", "name", "host", "project_id", "request_id", "reservation_id"]
    date_hierarchy = "created_at"
    inlines = [TagInline]
    exclude = ["user_data"]

    actions = ["start", "stop", "reboot", "delete_instances"]

    @admin.display(description="Status")
    def status(self, instance: Instance) -> str:
        """As the API shows it."""
        return api_status(instance.vm_state, instance.task_state)

    @admin.action(description="Start the chosen instances", permissions=["operate"])
    def start(self, request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        """Through the service, which refuses what the state does not allow."""
        self._each(request, queryset, "instances:act", lambda caller, pk: _act(caller, pk, "start"))

    @destructive(
        description="Stop the chosen instances",
        permissions=["operate"],
        question="These instances are shut down; whoever uses them loses them until they are started again.",
    )
    def stop(self, request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        """See start."""
        self._each(request, queryset, "instances:act", lambda caller, pk: _act(caller, pk, "stop"))

    @destructive(
        description="Reboot the chosen instances",
        permissions=["operate"],
        question="These instances are rebooted; whatever runs in them is interrupted.",
    )
    def reboot(self, request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        """See start."""
        self._each(request, queryset, "instances:act", lambda caller, pk: _act(caller, pk, "reboot"))

    @destructive(
        description="Delete the chosen instances and their disks",
        permissions=["operate"],
        question="These instances and their disks are deleted for good.",
    )
    def delete_instances(self, request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        """Begins the deletion; the rows stay as history."""
        self._each(
            request, queryset, "instances:delete", lambda caller, pk: instance_delete(caller=caller, instance_id=pk)
        )

    def _each(
        self, request: HttpRequest, rows: QuerySet[Instance], action: str, do: Callable[[Caller, UUID], None]
    ) -> None:
        """Do it to each in the name of who is logged in, as far as the policy lets them."""

        def service(instance: Instance) -> None:
            caller = caller_of(request)
            require(caller, action)
            do(caller, instance.pk)

        run_on_each(self, request, rows, service, word="accepted")


def _act(caller: Caller, instance_id: UUID, action: str) -> None:
    instance_act(caller=caller, instance_id=instance_id, action=action)


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
    """When the ends of serial logs came. The text is read on the instance's page, by who may see the instance."""

    list_display = ["instance_uuid", "updated_at"]
    exclude = ["output"]
    search_fields = ["instance_uuid"]
