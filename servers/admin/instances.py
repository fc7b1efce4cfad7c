"""Instances and what hangs on them, read-only. Their states are written by services."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.identity.api.callers import caller_of
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, run_on_each
from controlplane.infra.admin.filters import named, typed, typed_number
from controlplane.infra.admin.names import NONE
from controlplane.kernel.texts import gettext_noop
from servers.admin.bulk_jobs import bulk_admin_action
from servers.admin.network_pages import reachability_link
from servers.bulk.domain import BulkKind
from servers.instances.actions.table import ACTIONS
from servers.instances.selectors.interfaces import Interface, instance_addresses, instance_interfaces
from servers.instances.services.reset_state import STATES as RESET_STATES
from servers.instances.services.reset_state import instance_reset_state
from servers.models import (
    AttemptRecord,
    ConsoleLog,
    FirstBootData,
    GuestCounterChunk,
    GuestPassword,
    Instance,
    InstanceFault,
    InstanceTag,
    Screenshot,
    WaitingAction,
    WorkSecret,
)
from servers.states import VmState, api_status

RESETS = {
    VmState.ACTIVE: (
        gettext_noop("Reset the state of the chosen instances to active"),
        gettext_noop("These instances are active from now on, whatever their guests are; open work is not cancelled."),
    ),
    VmState.ERROR: (
        gettext_noop("Reset the state of the chosen instances to error"),
        gettext_noop("These instances are error from now on, whatever their guests are; open work is not cancelled."),
    ),
}
"""What each reset is called, and what it asks."""


def _reset_action(state: VmState) -> Callable[..., TemplateResponse | None]:
    def run(model_admin: "InstanceAdmin", request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        def service(instance: Instance) -> None:
            instance_reset_state(caller=caller_of(request), instance_id=instance.pk, state=state)

        run_on_each(model_admin, request, queryset, service)

    run.__name__ = f"reset_to_{state.value}"
    description, question = RESETS[state]
    return destructive(description=description, permissions=["operate"], question=question)(run)


class TagInline(ReadOnlyInline):
    """Its tags. They are set by the API."""

    model = InstanceTag


def _interface_words(one: Interface) -> tuple[SafeString, str, SafeString | str]:
    path = reverse("admin:servers_port_change", args=[one.port_id])
    addresses = ", ".join(each.address for each in one.addresses) or gettext("no address yet")
    link = format_html('<a href="{}">{}</a>', path, one.mac)
    return link, f"{one.network}: {addresses}", reachability_link(one.port_id) if one.network_id else ""


@admin.register(Instance)
class InstanceAdmin(ReadOnlyAdmin):
    """Virtual machines, the deleted ones too."""

    list_display = ["name", "status", "power_state", "host", "flavor_name", "project_id", "user_id", "created_at"]
    list_filter = [
        "vm_state", "task_state", "power_state", "created_at",
        named("project_id"), named("user_id"), typed("host"), typed("availability_zone", "zone"),
    ]  # fmt: skip
    search_fields = ["id", "name", "host", "availability_zone", "project_id", "request_id", "reservation_id"]
    inlines = [TagInline]
    exclude = ["user_data", "addresses"]
    readonly_fields = ["shown_addresses", "interfaces"]

    actions = [
        *(
            bulk_admin_action(
                BulkKind.INSTANCE, rule.name, name=rule.bulk.name, description=rule.bulk.description, order="name"
            )
            for rule in ACTIONS.values()
            if rule.bulk
        ),
        *(_reset_action(state) for state in RESET_STATES),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instance]:
        """Without the user data, which is shown to nobody here and may be large."""
        return super().get_queryset(request).defer("user_data")

    @admin.display(description=_("Flavor"))
    def flavor_name(self, instance: Instance) -> str:
        """The name of the flavor at the time when the instance was made of it."""
        return str(instance.flavor.get("name", ""))

    @admin.display(description=_("Status"))
    def status(self, instance: Instance) -> str:
        """As the API shows it."""
        return api_status(instance.vm_state, instance.task_state)

    @admin.display(description=_("Addresses"))
    def shown_addresses(self, instance: Instance) -> str:
        """As its page shows them."""
        networks = instance_addresses([instance]).get(instance.pk, {})
        return "; ".join(f"{name}: {', '.join(addresses)}" for name, addresses in networks.items()) or "none"

    @admin.display(description=_("Interfaces"))
    def interfaces(self, instance: Instance) -> SafeString | str:
        """Its ports, each a link to the port, and to the panel's question who can reach it."""
        found = instance_interfaces([instance]).get(instance.pk, ())
        return format_html_join("", "<div>{} {}<br>{}</div>", map(_interface_words, found)) or NONE


@admin.register(InstanceFault)
class InstanceFaultAdmin(ReadOnlyAdmin):
    list_display = ["instance_uuid", "message", "step", "host", "code", "created_at"]
    list_filter = ["created_at", typed_number("code"), typed("step"), typed("host")]
    search_fields = ["instance_uuid", "message", "host"]


@admin.register(AttemptRecord)
class AttemptRecordAdmin(ReadOnlyAdmin):
    """Hosts that were tried."""

    list_display = ["instance_uuid", "number", "host", "outcome", "started_at", "finished_at"]
    list_filter = ["outcome", typed("host")]
    search_fields = ["instance_uuid", "host", "reason"]


@admin.register(GuestCounterChunk)
class GuestCounterChunkAdmin(ReadOnlyAdmin):
    """Of which guests there are samples. What is in them is shown on the instance's page and in the API."""

    list_display = ["instance_uuid", "step_s", "starts_s", "last_s"]
    list_filter = [typed_number("step_s", "step")]
    exclude = ["samples"]
    search_fields = ["instance_uuid"]


@admin.register(FirstBootData)
class FirstBootDataAdmin(ReadOnlyAdmin):
    """Which instances have a password or files that wait for their first boot. Nobody reads these here."""

    list_display = ["instance_uuid", "created_at"]
    exclude = ["encrypted"]
    search_fields = ["instance_uuid"]


@admin.register(GuestPassword)
class GuestPasswordAdmin(ReadOnlyAdmin):
    """Which guests told a password of theirs. Nobody reads it here."""

    list_display = ["instance_uuid", "created_at"]
    exclude = ["encrypted"]
    search_fields = ["instance_uuid"]


@admin.register(WorkSecret)
class WorkSecretAdmin(ReadOnlyAdmin):
    """Which work carries a password that its host has not set yet. Nobody reads it here."""

    list_display = ["work_id", "instance_uuid"]
    exclude = ["sealed"]
    search_fields = ["work_id", "instance_uuid"]


@admin.register(WaitingAction)
class WaitingActionAdmin(ReadOnlyAdmin):
    """Changes of instances' devices that begin when those before them have ended."""

    list_display = ["instance_uuid", "action", "created_at"]
    search_fields = ["instance_uuid", "action", "request_id"]


@admin.register(Screenshot)
class ScreenshotAdmin(ReadOnlyAdmin):
    """When pictures of screens came. They are seen on a page of the instance, by who may see the instance."""

    list_display = ["instance_uuid", "taken_at", "error"]
    exclude = ["png"]
    search_fields = ["instance_uuid"]


@admin.register(ConsoleLog)
class ConsoleLogAdmin(ReadOnlyAdmin):
    """When the ends of serial logs came. The text is read on the instance's page, by who may see the instance."""

    list_display = ["instance_uuid", "updated_at"]
    exclude = ["output"]
    search_fields = ["instance_uuid"]
