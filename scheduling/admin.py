"""The fleet in Django's admin: to look at and search; what may be changed goes through services."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from controlplane.infra.admin import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.kernel.errors import KilonovaError
from scheduling.models import (
    Aggregate,
    AggregateHost,
    Cell,
    ComputeNode,
    DecisionInstance,
    HostMapping,
    SchedulerPolicy,
    SchedulingDecision,
    Service,
)
from scheduling.selectors.decision_report import decision_report
from scheduling.selectors.liveness import with_is_up
from scheduling.selectors.policies import policy_of_body
from scheduling.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.services.cells import cell_set_disabled
from scheduling.services.policies import policy_activate, policy_create, policy_deactivate
from scheduling.services.service_states import service_disable, service_enable, service_force_down


@admin.register(Cell)
class CellAdmin(ReadOnlyAdmin):
    """Cells; new instances can be kept out of one."""

    list_display = ["name", "id", "database", "disabled", "created_at"]
    list_filter = ["disabled"]
    search_fields = ["name", "id"]
    actions = ["disable", "enable"]

    @admin.action(description="No new instances in the chosen cells", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        """Through the service."""
        run_on_each(self, request, queryset, lambda cell: cell_set_disabled(cell_id=cell.id, disabled=True))

    @admin.action(description="New instances in the chosen cells again", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Cell]) -> None:
        """Through the service."""
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

    list_display = ["host", "binary", "is_up", "disabled", "disabled_reason", "forced_down", "last_seen_up"]
    list_filter = ["disabled", "forced_down", "binary"]
    search_fields = ["host", "id", "disabled_reason"]
    actions = ["enable", "disable", "force_down", "force_down_end"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Service]:
        """With `is_up`."""
        return with_is_up(super().get_queryset(request))

    @admin.display(description="up", boolean=True)
    def is_up(self, service: Service) -> bool:
        """Up now."""
        return bool(getattr(service, "is_up", False))

    @admin.action(description="Enable: new instances may come", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service."""
        run_on_each(self, request, queryset, lambda row: service_enable(host=row.host))

    @admin.action(description="Disable: no new instances", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service; the reason names who did it."""
        reason = f"disabled in the admin by {request.user.get_username()}"
        run_on_each(self, request, queryset, lambda row: service_disable(host=row.host, reason=reason))

    @admin.action(description="Force down: the host is dead", permissions=["operate"])
    def force_down(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service."""
        run_on_each(self, request, queryset, lambda row: service_force_down(host=row.host, forced_down=True))

    @admin.action(description="No longer forced down", permissions=["operate"])
    def force_down_end(self, request: HttpRequest, queryset: QuerySet[Service]) -> None:
        """Through the service."""
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
    ]
    list_filter = ["hypervisor_type", "virt_type", "arch"]
    search_fields = ["hypervisor_hostname", "host", "id", "host_ip"]


class AggregateForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Name, metadata, and hosts as one list; saving calls services."""

    hosts = forms.CharField(required=False, widget=forms.Textarea, help_text="Host names, one a line.")

    class Meta:
        model = Aggregate
        fields = ["name", "metadata"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            names = self.instance.members.order_by("host").values_list("host", flat=True)
            self.fields["hosts"].initial = "\n".join(names)

    def clean_hosts(self) -> set[str]:
        """As a set of names."""
        return set(str(self.cleaned_data["hosts"]).split())


@admin.register(Aggregate)
class AggregateAdmin(ThroughServicesAdmin):
    """Aggregates; every change goes through the services, so that zones stay sound and Placement in step."""

    form = AggregateForm
    list_display = ["name", "availability_zone", "host_count", "created_at"]
    search_fields = ["name", "id", "members__host"]
    list_filter = ["created_at"]

    @admin.display(description="hosts")
    def host_count(self, aggregate: Aggregate) -> int:
        """How many hosts are in it."""
        return aggregate.members.count()

    def save_model(self, request: HttpRequest, obj: Aggregate, form: AggregateForm, change: bool) -> None:
        """Name, metadata and hosts: all of it, or, when one part is refused, nothing."""
        name, metadata = form.cleaned_data["name"], form.cleaned_data["metadata"] or {}
        if change:
            present = Aggregate.objects.get(pk=obj.pk)
            gone = dict.fromkeys(set(present.metadata) - set(metadata))
            aggregate_update(aggregate_id=obj.pk, name=name, metadata={**gone, **metadata})
        else:
            obj.pk = aggregate_create(name=name, metadata=metadata).pk
            obj._state.adding = False
        _hosts_set(obj, form.cleaned_data["hosts"])

    def service_delete(self, obj: Aggregate) -> None:
        """Through the service, which refuses while it has hosts."""
        aggregate_delete(aggregate_id=obj.pk)


def _hosts_set(aggregate: Aggregate, wanted: set[str]) -> None:
    present = set(AggregateHost.objects.filter(aggregate_id=aggregate.pk).values_list("host", flat=True))
    for host in sorted(present - wanted):
        aggregate_host_remove(aggregate_id=aggregate.pk, host=host)
    for host in sorted(wanted - present):
        aggregate_host_add(aggregate_id=aggregate.pk, host=host)


@admin.register(AggregateHost)
class AggregateHostAdmin(ReadOnlyAdmin):
    """Memberships; edit them at the aggregate."""

    list_display = ["aggregate", "host"]
    list_select_related = ["aggregate"]
    list_filter = ["aggregate"]
    search_fields = ["host", "aggregate__name"]


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A new version. The body is checked as the scheduler will read it, plug-ins included."""

    activate = forms.BooleanField(required=False, help_text="Use it from the next decision on.")

    class Meta:
        model = SchedulerPolicy
        fields = ["name", "body"]

    def clean_body(self) -> dict[str, Any]:
        """Raises with the setting that is wrong."""
        body: dict[str, Any] = self.cleaned_data["body"]
        try:
            policy_of_body(body, version="candidate")
        except (KilonovaError, AttributeError, TypeError) as error:
            raise forms.ValidationError(str(error)) from error
        return body


@admin.register(SchedulerPolicy)
class SchedulerPolicyAdmin(ThroughServicesAdmin):
    """Versions of the policy: saving makes a new one, none is ever changed."""

    form = PolicyForm
    list_display = ["label", "active", "created_at"]
    list_filter = ["active", "name"]
    search_fields = ["name", "id"]
    actions = ["activate", "defaults"]

    def has_change_permission(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> bool:
        """A version stays what it was: decisions name it."""
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: SchedulerPolicy | None = None) -> bool:
        """As above."""
        return False

    def save_model(self, request: HttpRequest, obj: SchedulerPolicy, form: PolicyForm, change: bool) -> None:
        """Through the service."""
        made = policy_create(body=form.cleaned_data["body"], name=obj.name, activate=form.cleaned_data["activate"])
        obj.pk, obj.version = made.pk, made.version

    @admin.action(description="Use this version", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[SchedulerPolicy]) -> None:
        """The last of those chosen counts."""
        run_on_each(self, request, queryset[:1], lambda row: policy_activate(policy_id=row.pk))

    @admin.action(description="Back to the defaults (no version active)", permissions=["change"])
    def defaults(self, request: HttpRequest, queryset: QuerySet[SchedulerPolicy]) -> None:
        """Whatever is chosen."""
        policy_deactivate()
        self.message_user(request, "The defaults count from the next decision on.")


class DecisionInstanceInline(ReadOnlyInline):
    """Instances of the batch."""

    model = DecisionInstance


@admin.register(SchedulingDecision)
class SchedulingDecisionAdmin(ReadOnlyAdmin):
    """Decisions with their funnel."""

    list_display = ["created_at", "outcome", "verdict", "instance_count", "host_count", "policy_version", "duration_us"]
    list_filter = ["outcome", "policy_version", "created_at"]
    search_fields = ["id", "request_id", "subject", "project_id", "instances__instance_uuid", "instances__host"]
    exclude = ["trace"]
    readonly_fields = ["funnel", "reasons"]
    inlines = [DecisionInstanceInline]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[SchedulingDecision]:
        """The trace is loaded only where it is shown."""
        return super().get_queryset(request).defer("trace")

    @admin.display(description="Funnel")
    def funnel(self, decision: SchedulingDecision) -> SafeString:
        """Per instance and stage, how many hosts came in and stayed."""
        rounds = decision_report(decision=decision, redacted=False)["rounds"]
        rows = [
            (each["instance_uuid"], stage["name"], stage["hosts_in"], stage["hosts_out"], stage["micros"])
            for each in rounds
            for stage in each["stages"]
        ]
        return _table(("instance", "stage", "in", "left", "µs"), rows)

    @admin.display(description="Hosts that were refused")
    def reasons(self, decision: SchedulingDecision) -> SafeString:
        """The first refusal of each host."""
        hosts = decision_report(decision=decision, redacted=False)["hosts"]
        return _table(("host", "stage", "reason"), [(one["host"], one["stage"], one["sentence"]) for one in hosts])


def _table(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> SafeString:
    head = format_html_join("", "<th>{}</th>", ((name,) for name in names))
    body = format_html_join(
        "", "<tr>{}</tr>", ((format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),) for row in rows)
    )
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, body)


@admin.register(DecisionInstance)
class DecisionInstanceAdmin(ReadOnlyAdmin):
    """Which instance was given which host by which decision."""

    list_display = ["instance_uuid", "host", "decision_id", "position"]
    search_fields = ["instance_uuid", "host", "decision__id"]
