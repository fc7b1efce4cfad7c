"""Instances and what hangs on them, read-only. Their states are written by services."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from controlplane.identity.api.callers import caller_of
from controlplane.identity.policy import require
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, run_on_each
from servers.instances.actions.rule import ActionRule, BulkAction
from servers.instances.actions.table import ACTIONS, FORCE_DELETE
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.reset_state import STATES as RESET_STATES
from servers.instances.services.reset_state import instance_reset_state
from servers.models import AttemptRecord, ConsoleLog, GuestCounterChunk, Instance, InstanceFault, InstanceTag, Port
from servers.states import VmState, api_status


def _bulk_action(rule: ActionRule, bulk: BulkAction) -> Callable[..., TemplateResponse | None]:
    """One of the table's actions, for chosen rows: through its service, which refuses what the state does not allow."""

    def run(model_admin: "InstanceAdmin", request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        def service(instance: Instance) -> None:
            caller = caller_of(request)
            require(caller, rule.policy)
            if rule.is_verb:
                instance_act(caller=caller, instance_id=instance.pk, action=rule.name)
            else:
                instance_delete(caller=caller, instance_id=instance.pk, is_forced=rule is FORCE_DELETE)

        run_on_each(model_admin, request, queryset, service, word="accepted")

    run.__name__ = bulk.name
    if bulk.question:
        return destructive(description=bulk.description, permissions=["operate"], question=bulk.question)(run)
    return admin.action(description=bulk.description, permissions=["operate"])(run)


def _reset_action(state: VmState) -> Callable[..., TemplateResponse | None]:
    def run(model_admin: "InstanceAdmin", request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        def service(instance: Instance) -> None:
            instance_reset_state(caller=caller_of(request), instance_id=instance.pk, state=state)

        run_on_each(model_admin, request, queryset, service)

    run.__name__ = f"reset_to_{state.value}"
    question = f"These instances are {state.value} from now on, whatever their guests are; open work is not cancelled."
    description = f"Reset the state of the chosen instances to {state.value}"
    return destructive(description=description, permissions=["operate"], question=question)(run)


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

    actions = [
        *(_bulk_action(rule, rule.bulk) for rule in ACTIONS.values() if rule.bulk),
        *(_reset_action(state) for state in RESET_STATES),
    ]

    @admin.display(description="Status")
    def status(self, instance: Instance) -> str:
        """As the API shows it."""
        return api_status(instance.vm_state, instance.task_state)


@admin.register(InstanceFault)
class InstanceFaultAdmin(ReadOnlyAdmin):
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
    list_display = ["mac", "instance_uuid", "network_name", "hypervisor_network", "created_at"]
    list_filter = ["network_name"]
    search_fields = ["mac", "instance_uuid"]


@admin.register(GuestCounterChunk)
class GuestCounterChunkAdmin(ReadOnlyAdmin):
    """Of which guests there are samples. What is in them is shown on the instance's page and in the API."""

    list_display = ["instance_uuid", "step_s", "starts_s", "last_s"]
    list_filter = ["step_s"]
    exclude = ["samples"]
    search_fields = ["instance_uuid"]


@admin.register(ConsoleLog)
class ConsoleLogAdmin(ReadOnlyAdmin):
    """When the ends of serial logs came. The text is read on the instance's page, by who may see the instance."""

    list_display = ["instance_uuid", "updated_at"]
    exclude = ["output"]
    search_fields = ["instance_uuid"]
